#!/usr/bin/env python3
"""Whether schemas/asyncapi.yaml says what the program does: headers by kafka/header.def, topics by config/settings.def,
symbols and schemas by schemas/*.avsc. Whether it is AsyncAPI at all, its own parser says (oracles/asyncapi)."""

import json
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    print("python3-yaml is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
MESSAGES = {"QUERY": "query", "SCORED": "scored", "ADVISORY": "advisory", "DRIFT": "drift", "DEAD_LETTER": "deadLetter",
            "RECEIPT": "receipt"}
TOPICS = {"input": "queries", "scored": "scored", "advisory": "advisories", "dead_letter": "deadLetters",
          "feedback": "feedback"}
complaints = []


def expect(what, found, wanted):
    if found != wanted:
        complaints.append(f"{what}: {found} in schemas/asyncapi.yaml, {wanted} in the program")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def resolve(document, node):
    """What a local reference stands for."""
    while isinstance(node, dict) and node.get("$ref", "").startswith("#/"):
        reference, node = node["$ref"], document
        for part in reference[2:].split("/"):
            node = node[part]
    return node


def headers_of_program():
    """Message → names of its headers."""
    headers = {message: set() for message in MESSAGES.values()}
    for name, messages in re.findall(r'^HEADER\(\w+, "([^"]+)", ([A-Z_ |]+)\)', read("daemon/kafka/header.def"), re.M):
        for message in messages.split(" | "):
            headers[MESSAGES[message]].add(name)
    return headers


def headers_of(document, name):
    message = resolve(document, document["components"]["messages"][name])
    return resolve(document, message.get("headers", {})).get("properties", {})


def check_headers(document):
    for name, wanted in headers_of_program().items():
        for form in (name, f"{name}Json"):
            if form in document["components"]["messages"]:
                expect(f"headers of {form}", sorted(headers_of(document, form)), sorted(wanted))
    for path in sorted((ROOT / "daemon").rglob("*.c")):
        for line in re.findall(r'.*(?:output_header\)\{\s*"|V_HEADER\(\s*"|header_add\(\w+, ").*', path.read_text(encoding="utf-8")):
            complaints.append(f"{path.relative_to(ROOT)}: a header whose name is not in kafka/header.def: {line.strip()}")


def check_topics(document):
    defaults = dict(re.findall(r'^STRING\(kafka, (\w+)_topic, 1, 249, "([^"]+)"', read("daemon/config/settings.def"), re.M))
    expect("topics", {kind: document["channels"][channel]["address"] for kind, channel in TOPICS.items()}, defaults)


def symbols_of(schema, name):
    """Those of the enumeration of that name, wherever it stands."""
    if isinstance(schema, dict):
        if schema.get("type") == "enum" and schema.get("name") == name:
            return schema["symbols"]
        schema = list(schema.values())
    found = (symbols_of(part, name) for part in schema) if isinstance(schema, list) else ()
    return next(filter(None, found), None)


def check_symbols(document):
    advisory, schemas = json.loads(read("schemas/advisory.avsc")), document["components"]["schemas"]
    later = re.search(r"later\[\] = \{(.*?)\}", read("daemon/avro/advisory.c"), re.S).group(1)
    kinds = symbols_of(advisory, "AdvisoryKind") + re.findall(r'"(\w+)"', later)
    expect("kinds", sorted(schemas["kind"]["enum"]), sorted(kinds))
    expect("levels", sorted(schemas["level"]["enum"]), sorted(symbols_of(advisory, "ConfidenceLevel")))
    action = next(field for field in advisory["fields"] if field["name"] == "action")
    expect("actions", sorted(schemas["action"]["enum"]), sorted(action["type"][1]["symbols"]))


def check_schemas(document):
    named = set(re.findall(r"\./(\w+\.avsc)", json.dumps(document)))
    expect("schemas", sorted(named), sorted(path.name for path in (ROOT / "schemas").glob("*.avsc")))


def main():
    document = yaml.safe_load(read("schemas/asyncapi.yaml"))
    version = re.search(r"^project\(assayd VERSION ([0-9.]+)", read("CMakeLists.txt"), re.M).group(1)
    expect("version", document["info"]["version"], version)
    check_headers(document)
    check_topics(document)
    check_symbols(document)
    check_schemas(document)
    print("\n".join(complaints))
    return 1 if complaints else 0


sys.exit(main())
