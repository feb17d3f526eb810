#!/usr/bin/env python3
"""The table of coverage: which lines of each folder the tests of a build ran, and the floor of each.

    line_coverage.py BUILD [--floors]     BUILD was made with ASSAYD_COVERAGE and its tests have run

Fails where a folder is below its floor (tests/coverage.txt), has none, or a floor has no folder. --floors: writes the
floors anew, two points below what is measured. Only a run of all tests is judged: without ASSAYD_WHOLE_RUN, which
tests/run sets, the exit status is 77. The table is in BUILD/coverage.txt as well.
"""

import json
import math
import os
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[3]
FLOORS = ROOT / "tests" / "coverage.txt"
BELOW = 2
HEAD = """# Percent of the lines of each folder that the tests under AddressSanitizer have to run at least: two points below what
# was measured. asan.house.coverage holds it; tests/harness/house/line_coverage.py build/asan --floors writes it.
"""


def notes(build):
    """Every source of the program that was compiled, with its notes (.gcno)."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = pathlib.Path(entry["file"])
        if source.is_relative_to(ROOT / "daemon") or source.is_relative_to(ROOT / "common"):
            words = shlex.split(entry["command"])
            note = pathlib.Path(entry["directory"], words[words.index("-o") + 1]).with_suffix(".gcno")
            if note.exists():
                yield source, note


def counted(files):
    """{source: {line: whether it ran}} of some notes; what never ran has no counts, and gcov says so of itself."""
    answer = subprocess.run(["gcov", "--json-format", "--stdout", *(str(note) for note in files)], check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines = {}
    for document in answer.stdout.splitlines():
        data = json.loads(document)
        for file in data["files"]:
            path = pathlib.Path(data["current_working_directory"], file["file"]).resolve()
            of_file = lines.setdefault(path, {})
            for line in file["lines"]:
                of_file[line["line_number"]] = of_file.get(line["line_number"], False) or line["count"] > 0
    return lines


def measured(build):
    """{folder: (lines, lines that ran)}"""
    found = dict(notes(build))
    files = list(found.values())
    parts = [files[i::16] for i in range(16) if files[i::16]]
    folders = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(counted, parts):
            for source, of_file in lines.items():
                if source in found: # a header's lines are counted where they are used, and nowhere well
                    folder = source.parent.relative_to(ROOT).as_posix()
                    total, ran = folders.get(folder, (0, 0))
                    folders[folder] = (total + len(of_file), ran + sum(of_file.values()))
    return folders


def read_floors():
    if not FLOORS.exists():
        return {}
    rows = [line.split() for line in FLOORS.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {folder: int(floor) for folder, floor in rows}


def write_floors(folders):
    rows = [f"{folder:34} {max(0, math.floor(100 * ran / total) - BELOW):3}\n" for folder, (total, ran) in sorted(folders.items())]
    FLOORS.write_text(HEAD + "".join(rows), encoding="utf-8")


def table(folders, floors):
    """Lines of text, and what is wrong."""
    lines, wrong = [f"{'folder':34} {'lines':>6} {'run':>6} {'percent':>8} {'floor':>6}"], []
    for folder, (total, ran) in sorted(folders.items()):
        percent, floor = 100 * ran / total, floors.get(folder)
        lines.append(f"{folder:34} {total:6} {ran:6} {percent:8.1f} {'none' if floor is None else floor:>6}")
        if floor is None:
            wrong.append(f"{folder} has no floor in tests/coverage.txt")
        elif percent < floor:
            wrong.append(f"{folder}: {percent:.1f} % of the lines ran, the floor is {floor} %")
    total, ran = (sum(values) for values in zip(*folders.values()))
    lines.append(f"{'all':34} {total:6} {ran:6} {100 * ran / total:8.1f}")
    wrong += [f"tests/coverage.txt: there is no folder {folder}" for folder in sorted(set(floors) - set(folders))]
    return lines, wrong


def main():
    build, write = pathlib.Path(sys.argv[1]).resolve(), "--floors" in sys.argv[2:]
    if not write and not os.environ.get("ASSAYD_WHOLE_RUN"):
        print("skipped: coverage is judged when all tests have run, by tests/run")
        return 77
    folders = measured(build)
    if not folders:
        print(f"{build} counts no lines (ASSAYD_COVERAGE)")
        return 1
    if write:
        write_floors(folders)
    lines, wrong = table(folders, read_floors())
    (build / "coverage.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines + wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
