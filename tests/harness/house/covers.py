#!/usr/bin/env python3
"""Whether every source is covered by a test, by the tables unit/tests.cmake and integration/suites.cmake.

Fails for a source that no test names, for a name without a source, for a test that lies in another folder than the first
source that it names lies in or below, and for a test file that a folder has twice.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLES = ("unit/tests.cmake", "integration/suites.cmake")
WORDS = {"THREADS", "PLAIN", "LONG", "WAITS", "SANITIZED", "TIMEOUT", "COVERS", "WITH", "SOURCES", "LINK_OPTIONS"}


def sources():
    for path in sorted((ROOT / "common").glob("*.c")) + sorted((ROOT / "daemon").rglob("*.c")):
        yield path.relative_to(ROOT).as_posix().removeprefix("daemon/").removesuffix(".c")


def entries(table):
    """(test, [what it covers]) for every entry of a table."""
    text = re.sub(r"#.*", "", (ROOT / "tests" / table).read_text(encoding="utf-8"))
    for body in re.findall(r"^(?:unit_test|suite)\(([^)]*)\)", text, re.MULTILINE):
        words, covers, listing = body.split(), [], False
        for word in words[1:]:
            if word in WORDS:
                listing = word == "COVERS"
            elif listing:
                covers.append(word)
        yield words[0], covers


def named(name, every):
    """The sources of a name: FOLDER/* is all that lies in the folder itself."""
    if name.endswith("/*"):
        return [source for source in every if source.rpartition("/")[0] == name[:-2]]
    return [name] if name in every else []


def main():
    every, covered, problems = list(sources()), set(), []
    programs = collections.Counter()
    for table in TABLES:
        for test, names in entries(table):
            for name in names:
                found = named(name, every)
                covered.update(found)
                if not found:
                    problems.append(f"tests/{table}: {test} covers {name}, and there is none")
            if table.startswith("unit"):
                folder, _, file = test.rpartition("/")
                programs[f"unit.{test.partition('/')[0]}.{file}"] += 1
                if not any(name.startswith(folder + "/") for name in names):
                    problems.append(f"tests/{table}: {test} covers nothing in or below {folder}: it belongs elsewhere")
    for source in sorted(set(every) - covered):
        problems.append(f"{source}.c: no test covers it: name it in tests/{TABLES[0]} or tests/{TABLES[1]}")
    for program, count in programs.items():
        if count > 1:
            problems.append(f"{program}: {count} tests of that name")
    print("\n".join(problems) or f"{len(every)} sources are covered by {sum(programs.values())} unit tests and the suites")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
