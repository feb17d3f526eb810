#!/usr/bin/env python3
"""Holds the names of the sources against the rules of CONTRIBUTING.md ("Names").

1. What a header offers to other files (functions, variables, typedefs) begins with one of the header's prefixes, in the
   singular or the plural: its file name, the name of a file beside it that its own name begins with (`rebuild` for
   `rebuild_log.h`), a folder of its path, or what PREFIXES says of it.
2. A header that makes and frees one type of its own calls it by one of those prefixes, too.
3. No struct, union or enum tag is defined in two files of common/ and daemon/.
4. No identifier has a word in it that RETIRED replaces.

EXCEPTIONS and SHARED_TAGS name what does not follow yet. An entry that nothing needs any more is a fault, so that the
lists only become shorter. `names.py FOLDER` reads the sources of another checkout.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parents[3]

# Prefixes of a header, or of all headers of a folder, beside its file name and its folders: (prefixes, why).
PREFIXES = {
    "common/conf_table.h": (("conf",), "configuration files: conf_table, conf_scan, conf_hint"),
    "common/str.h": (("opt",), "texts, and values that may be absent"),
    "daemon/avro/schema_tree.h": (("schema",), "the Avro library has an avro/schema.h, so that the file cannot be called so"),
    "daemon/calibration/statistics/drift_sequence.h": (("drift",), "all of the test for drift"),
    "daemon/sql/postgresql/canonical/internal.h": (("canon",), "struct canon is what all of its functions work on"),
    "daemon/sql/postgresql/resolve/resolve.h": (("resolution", "range"), "what resolving returns, and ranges of its columns"),
    "daemon/sql/postgresql/resolve/type_coercion.h": (("type",), "questions about types"),
}

# Headers that rules 1 and 2 do not ask for yet.
EXCEPTIONS = {
    "daemon/sql/catalog/content.h",
    "daemon/sql/catalog/internal.h",
    "daemon/sql/findings/unparsed.h",
    "daemon/sql/postgresql/canonical/internal.h",
    "daemon/sql/postgresql/parse/node_children.h",
    "daemon/sql/postgresql/resolve/equal.h",
    "daemon/sql/postgresql/resolve/internal.h",
    "daemon/sql/postgresql/resolve/namespace.h",
    "daemon/sql/postgresql/resolve/type_coercion.h",
    "daemon/sql/postgresql/resolve/type_literal.h",
    "daemon/sql/postgresql/resolve/type_overload.h",
    "daemon/sql/postgresql/safety/functions.h",
    "daemon/sql/postgresql/safety/growth_internal.h",
    "daemon/sql/query/canonical_internal.h",
}

# Tags that are still defined in several files, at least one of them in daemon/sql.
SHARED_TAGS = set("""
    candidate column_search grouping growth keys level lookup name_place named outputs parts place places reader reading
    recursion resolver scope search source source_search visible walk wire
""".split())

# Words that identifiers do not have in them, and what they say instead.
RETIRED = {
    "announcer": "publisher", "backlog": "lag", "errand": "background_task", "flood_gate": "rate_limiter", "intake": "ingest",
    "late_truth": "feedback", "MOST": "MAX", "recount": "rebuild or verify", "renewal": "recovery", "told": "reported or logged",
}


def blank(match):
    """As many lines as before, and nothing on them."""
    return "\n" * match[0].count("\n") or " "


def code_of(path):
    """The text without comments, preprocessor, contents of literals and attributes; lines stay where they are."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                  lambda match: "0" if match[0][0] in "\"'" else blank(match),
                  path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.MULTILINE)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", blank, text)
    return re.sub(r"^[A-Z][A-Z0-9_]*\((?:[^()]|\([^()]*\))*\);?", blank, text, flags=re.MULTILINE)


def declarations(text):
    """(line, text without what stands in braces) of every declaration of the outermost level."""
    depth, line, start, kept = 0, 1, None, []
    for char in text:
        line += char == "\n"
        if char == "}":
            depth -= 1
            if depth == 0 and re.search(r"\)\s*$", "".join(kept)):
                yield start, "".join(kept).strip()
                start, kept = None, []
        elif char == "{":
            depth += 1
        elif depth == 0 and char == ";":
            yield start, "".join(kept).strip()
            start, kept = None, []
        elif depth == 0:
            if start is None and not char.isspace():
                start = line
            kept.append(char)


def declared(text):
    """(line, name, is it a function) of what a header declares at its outermost level; constants in capitals are left out."""
    for line, declaration in declarations(text):
        function = re.search(r"(\w+)\s*\(\s*(?!\s*\*)", declaration)
        pointer = re.match(r"[\w\s*]*\(\s*\*\s*(\w+)", declaration)
        variable = re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*(?:=.*)?$", declaration, re.DOTALL)
        if declaration.startswith("typedef"):
            name = pointer or function or variable
        else:
            name = function or (variable if re.search(r"\bextern\b", declaration) else None)
        if name and not name[1].isupper():
            yield line, name[1], name is function and not declaration.startswith("typedef")


def tags_of(text):
    for match in re.finditer(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", text):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def prefixes_of(path):
    """Longest first; each stands for its singular and its plural."""
    folders = path.parent.parts[1:] if path.parts[0] == "daemon" else ()
    stem = path.stem.removesuffix("_internal")
    words = stem.split("_")
    whole = ("_".join(words[:count]) for count in range(1, len(words)))
    family = {word for word in whole if any((ROOT / path.parent / (word + suffix)).is_file() for suffix in (".h", ".c"))}
    found = ({stem, *folders} | family) - {"internal"}
    for place in (path, *path.parents):
        found |= set(PREFIXES.get(place.as_posix(), ((), ""))[0])
    return sorted(found, key=lambda word: (-len(word), word))


def begins(name, prefixes):
    return any(re.match(rf"{prefix.removesuffix('s')}s?(_|$)", name) for prefix in prefixes)


def main():
    problems, used = [], set()
    tags = collections.defaultdict(list)
    retired = re.compile("|".join(rf"(?<![a-zA-Z0-9]){word}(?![a-zA-Z0-9])" for word in RETIRED) or "$^")
    files = sorted(path.relative_to(ROOT) for top in ("common", "daemon") for path in (ROOT / top).rglob("*.[ch]"))
    for path in files:
        text = code_of(ROOT / path)
        for line, tag in tags_of(text):
            tags[tag].append((path, line))
        for match in retired.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{line}: the word {match[0]} in a name: write {RETIRED[match[0]]}")
        if path.suffix != ".h":
            continue
        prefixes = prefixes_of(path)
        ways = ", ".join(prefix + "_" for prefix in prefixes)
        functions, misnamed = set(), []
        for line, name, is_function in declared(text):
            if is_function:
                functions.add(name)
            if begins(name, prefixes):
                for place in (path, *path.parents):
                    if begins(name, PREFIXES.get(place.as_posix(), ((), ""))[0]):
                        used.add(place.as_posix())
            else:
                misnamed.append(f"{path}:{line}: {name} begins with no prefix of this header ({ways}): rename it, or move it to the"
                                " header that it is named after")
        owned = {name.removesuffix("_free") for name in functions if name.endswith("_free")}
        if len(owned) == 1 and re.search(rf"\bstruct {min(owned)}\s*[;{{]", text) and not begins(min(owned), prefixes):
            misnamed.append(f"{path}: struct {min(owned)} is the type of this header and has none of its prefixes ({ways}): rename the"
                            " type or the file")
        if misnamed:
            used.add("exception " + path.as_posix())
        if path.as_posix() not in EXCEPTIONS:
            problems += misnamed
    for tag, places in sorted(tags.items()):
        names = sorted({path.as_posix() for path, _ in places})
        if len(names) > 1:
            used.add("tag " + tag)
            for path, line in places:
                others = ", ".join(name for name in names if name != path.as_posix())
                if tag not in SHARED_TAGS and others:
                    problems.append(f"{path}:{line}: the tag {tag} is defined in {others}, too: put the name of the file or folder"
                                    " before one of them")
    for place in PREFIXES:
        if place not in used:
            problems.append(f"tests/harness/house/names.py: nothing needs the prefixes of {place} any more: take them out")
    for path in EXCEPTIONS:
        if "exception " + path not in used:
            problems.append(f"tests/harness/house/names.py: {path} needs no exception any more: take it out")
    for tag in SHARED_TAGS:
        if "tag " + tag not in used:
            problems.append(f"tests/harness/house/names.py: the tag {tag} is defined once by now: take it out of SHARED_TAGS")
    print("\n".join(problems) or f"{len(files)} files: every name is in its place")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
