#!/usr/bin/env python3
"""Holds every include of the sources against the table of folders in daemon/README.md.

Fails for an include that the table does not allow, for a folder that it does not have, for an entry that nothing
uses, for a path that is not there, for arrows that make a circle, and for headers that include each other.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = ROOT / "daemon" / "README.md"


def room_of(path):
    folder = path.parent.relative_to(ROOT).as_posix()
    return folder.removeprefix("daemon/")


def read_table():
    allowed = {}
    for line in TABLE.read_text(encoding="utf-8").split("## Folders", 1)[1].split("## ", 1)[0].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`[a-z/]+`", cells[0]):
            allowed[cells[0].strip("`")] = set(re.findall(r"`([a-z/]+)`", cells[2]))
    return allowed


def sources():
    for top in ("common", "daemon"):
        yield from sorted(path for path in (ROOT / top).rglob("*") if path.suffix in (".c", ".h", ".def"))


def included(path):
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
        for base in (ROOT, ROOT / "daemon", path.parent):
            if (base / name).is_file():
                yield base / name
                break


def circles(arrows):
    """Strongly connected parts of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in arrows.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = set()
            while True:
                part.add(stack.pop())
                if node in part:
                    break
            if len(part) > 1:
                found.append(part)

    for node in arrows:
        if node not in index:
            visit(node)
    return found


def main():
    sys.setrecursionlimit(10000)
    allowed, problems, used, files = read_table(), [], {}, {}
    for path in sources():
        room = room_of(path)
        if room not in allowed:
            problems.append(f"{path.relative_to(ROOT)}: {room} is not in the table of daemon/README.md")
            continue
        for other in included(path):
            target = room_of(other)
            files.setdefault(path, set()).add(other)
            if target in (room, "common") or other.name == "dialect.h":
                continue
            used.setdefault(room, set()).add(target)
            if target not in allowed[room]:
                problems.append(f"{path.relative_to(ROOT)}: {room} may not include {other.relative_to(ROOT)}")
    for room, rooms in allowed.items():
        if not any((ROOT / top / room).is_dir() for top in ("", "daemon")):
            problems.append(f"daemon/README.md: there is no folder {room}")
        for target in sorted(rooms - used.get(room, set())):
            problems.append(f"daemon/README.md: {room} does not include {target}: take it out of the table")
    for part in circles(used):
        problems.append("circle of folders: " + ", ".join(sorted(part)))
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.[a-z]+)?)`", TABLE.read_text(encoding="utf-8")):
        if not any(any(base.glob(name.rstrip("/") + suffix)) for base in (ROOT, ROOT / "daemon") for suffix in ("", ".*")):
            problems.append(f"daemon/README.md: there is no {name}")
    headers = {path: {other for other in others if other.suffix == ".h"} for path, others in files.items() if path.suffix == ".h"}
    for part in circles(headers):
        problems.append("headers that include each other: " + ", ".join(sorted(path.name for path in part)))
    print("\n".join(sorted(set(problems))) or f"{len(files)} files in {len(allowed)} folders: no include is out of place")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
