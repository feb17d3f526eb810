"""Pairs of Avro schemas, a writer's and a reader's, and data of the writer's.

A schema is a graph of JSON values in which a named type is one object wherever it is used; `text` writes it down, with the
definition where it comes first. Readers are schemas of ours or of the shapes that tables of ours have (resolve_tool.c);
writers are readers that were changed in some places, or have nothing to do with them but the names of fields.

What is left out: other namespaces (Apache compares full names in unions and unqualified ones elsewhere; the specification
says unqualified), a field of the reader's that has the alias of another, strings that are not UTF-8, and logical types, by
whose units we convert times (plan.h).
"""

import copy
import json
import random
import struct

PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
FIELDS = [f"f{number}" for number in range(10)]
SYMBOLS = ["A", "B", "C", "D", "E", "F"]


# ---- graphs ----

def linked(schema, namespace="", names=None):
    """The graph of a schema as it was read from a file."""
    names = {} if names is None else names
    full = lambda name: name if "." in name or not namespace else f"{namespace}.{name}"  # noqa: E731
    if isinstance(schema, str):
        return schema if schema in PRIMITIVES else names[full(schema)]
    if isinstance(schema, list):
        return [linked(branch, namespace, names) for branch in schema]
    schema = {key: value for key, value in schema.items() if key not in ("doc", "logicalType")}
    if "name" in schema:
        namespace = schema.pop("namespace", namespace)
        schema["name"] = full(schema["name"])
        namespace = schema["name"].rpartition(".")[0]
        schema["aliases"] = [full(name) for name in schema.get("aliases", [])]
        names[schema["name"]] = schema
    if schema["type"] == "record":
        schema["fields"] = [{**{key: value for key, value in field.items() if key != "doc"},
                             "type": linked(field["type"], namespace, names)} for field in schema["fields"]]
    for part in ("items", "values"):
        if part in schema:
            schema[part] = linked(schema[part], namespace, names)
    if schema["type"] in PRIMITIVES:
        return schema["type"]
    return schema


def written(schema, defined=None):
    """The JSON of a graph, with the definition of a type where it comes first."""
    defined = set() if defined is None else defined
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        return [written(branch, defined) for branch in schema]
    if schema.get("name") in defined:
        return schema["name"]
    if "name" in schema:
        defined.add(schema["name"])
    schema = dict(schema)
    if "fields" in schema:
        schema["fields"] = [{**field, "type": written(field["type"], defined)} for field in schema["fields"]]
    for part in ("items", "values"):
        if part in schema:
            schema[part] = written(schema[part], defined)
    return schema


def text(schema):
    return json.dumps(written(schema), separators=(",", ":"))


def kind(schema):
    return "union" if isinstance(schema, list) else schema if isinstance(schema, str) else schema["type"]


def records(schema, found=None):
    """All records of a graph, each once."""
    found = [] if found is None else found
    if isinstance(schema, list):
        for branch in schema:
            records(branch, found)
    elif isinstance(schema, dict):
        if schema["type"] == "record":
            if any(schema is other for other in found):
                return found
            found.append(schema)
            for field in schema["fields"]:
                records(field["type"], found)
        records(schema.get("items", "null"), found)
        records(schema.get("values", "null"), found)
    return found


class Endless(Exception):
    """A type of which every value has another within."""


class Generator:
    """Everything follows from the seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._count = 0

    def _chance(self, share):
        return self._random.random() < share

    def _name(self, letter):
        self._count += 1
        return f"t.{letter}{self._count}"

    # ---- readers ----

    def reader(self, depth=3):
        fields = []
        for name in self._random.sample(FIELDS, self._random.randrange(1, 7)):
            field = {"name": name, "type": self._readable(depth - 1)}
            if self._chance(0.5):
                field["type"] = ["null", field["type"]]
            fallback = self._fallback(field["type"])
            if fallback is not NotImplemented and (kind(field["type"]) == "union" or self._chance(0.6)):
                field["default"] = fallback
            if self._chance(0.3):
                field["aliases"] = [f"{name}_former", f"{name}_once"][:self._random.randrange(1, 3)]
            fields.append(field)
        record = {"type": "record", "name": self._name("R"), "fields": fields}
        if self._chance(0.3):
            record["aliases"] = [record["name"] + "_former"]
        return record

    def _readable(self, depth):
        choices = ["boolean", "long", "double", "string", "string", "enum"] + (["record", "array", "map"] if depth > 0 else [])
        choice = self._random.choice(choices)
        if choice == "record":
            return self.reader(depth)
        if choice in ("array", "map"):
            item = self._readable(depth - 1)
            return {"type": choice, "items" if choice == "array" else "values": ["null", item] if self._chance(0.3) else item}
        if choice == "enum":
            enum = {"type": "enum", "name": self._name("E"), "symbols": self._random.sample(SYMBOLS, self._random.randrange(1, 5))}
            if self._chance(0.5):
                enum["default"] = self._random.choice(enum["symbols"])
            if self._chance(0.3):
                enum["aliases"] = [enum["name"] + "_former"]
            return enum
        return choice

    def _fallback(self, schema):
        if kind(schema) == "enum":
            return self._random.choice(schema["symbols"])
        return {"union": None, "array": [], "map": {}, "boolean": self._chance(0.5), "long": self._random.randrange(-9, 9),
                "double": 0.0, "string": ""}.get(kind(schema), NotImplemented)

    # ---- writers ----

    def writer(self, reader, changes):
        """The reader after so many changes."""
        writer = copy.deepcopy(reader)
        for _ in range(changes):
            self._change(writer)
        return writer

    def foreign(self, depth=3):
        """A writer that has the names of fields at most."""
        return {"type": "record", "name": self._name("W"), "fields": [
            {"name": name, "type": self._any(depth - 1)} for name in self._random.sample(FIELDS, self._random.randrange(0, 10))]}

    def _any(self, depth):
        choice = self._random.choice(PRIMITIVES + ["enum", "fixed"] + (["record", "array", "map", "union", "recursive"] if depth > 0 else []))
        if choice == "record":
            return self.foreign(depth)
        if choice == "recursive":
            record = {"type": "record", "name": self._name("T"), "fields": [{"name": "value", "type": self._any(0)}]}
            record["fields"].append({"name": "next", "type": ["null", record]})
            return record
        if choice == "array":
            return {"type": "array", "items": self._any(depth - 1)}
        if choice == "map":
            return {"type": "map", "values": self._any(depth - 1)}
        if choice == "enum":
            return {"type": "enum", "name": self._name("N"), "symbols": self._random.sample(SYMBOLS, self._random.randrange(1, 5))}
        if choice == "fixed":
            return {"type": "fixed", "name": self._name("F"), "size": self._random.choice([0, 1, 5])}
        if choice == "union":
            return self._union([self._any(0) for _ in range(self._random.randrange(1, 4))])
        return choice

    def _union(self, branches):
        """Of those branches, one of each kind that may only be there once."""
        seen, union = set(), []
        for branch in branches:
            name = branch["name"] if isinstance(branch, dict) and "name" in branch else kind(branch)
            if name not in seen and kind(branch) != "union":
                seen.add(name)
                union.append(branch)
        self._random.shuffle(union)
        return union

    def _change(self, writer):
        record = self._random.choice(records(writer))
        fields = record["fields"]
        field = self._random.choice(fields) if fields else None
        change = self._random.choice(["order", "drop", "add", "add", "rename", "type", "type", "type", "type", "names"])
        if change == "order":
            self._random.shuffle(fields)
        elif change == "drop" and fields:
            droppable = [field for field in fields if "default" in field] if self._chance(0.8) else fields
            if droppable:
                fields.remove(self._random.choice(droppable))
        elif change == "add":
            self._count += 1
            fields.insert(self._random.randrange(len(fields) + 1), {"name": f"new{self._count}", "type": self._any(2)})
        elif change == "rename" and field:
            self._rename(fields, field)
        elif change == "names":
            self._rename_type(writer)
        elif field:
            field.pop("default", None)
            field["type"] = self._changed(field["type"])

    def _rename(self, fields, field):
        names = list(field.get("aliases", [])) + (["renamed"] if self._chance(0.2) else [])
        if names:
            name = self._random.choice(names)
            if all(other["name"] != name for other in fields):
                field["name"] = name

    def _rename_type(self, writer):
        record = self._random.choice(records(writer))
        if record.get("aliases"):
            record["name"] = self._random.choice(record["aliases"])
        elif self._chance(0.5):
            record["name"] += "_other"

    def _changed(self, schema):
        """Another type in its place, mostly one that can be read as it."""
        if kind(schema) == "union":
            inner = [branch for branch in schema if branch != "null"]
            choice = self._random.randrange(5)
            if choice == 0 and inner:
                return self._random.choice(inner)
            if choice == 1:
                return self._union(schema)
            if choice == 2:
                return self._union(schema + [self._any(1)])
            changed = [branch if branch == "null" else self._changed(branch) for branch in schema]
            return self._union([branch if kind(new) == "union" else new for branch, new in zip(schema, changed)])
        if self._chance(0.25):
            return self._union([schema, "null"] if self._chance(0.5) else [schema, self._any(1)])
        if self._chance(0.1):
            return self._any(1)
        if kind(schema) in ("array", "map"):
            part = "items" if kind(schema) == "array" else "values"
            return {**schema, part: self._changed(schema[part])}
        if kind(schema) == "enum":
            return self._changed_enum(schema)
        return self._random.choice({"long": ["int"], "double": ["int", "long", "float"], "string": ["bytes"], "float": ["int", "long"],
                                    "bytes": ["string"]}.get(kind(schema), [schema]))

    def _changed_enum(self, schema):
        """In place: it may be used elsewhere, too."""
        choice = self._random.randrange(4)
        if choice == 0 and schema.get("aliases"):
            schema["name"] = self._random.choice(schema["aliases"])
        elif choice == 1 and self._chance(0.3):
            schema["name"] += "_other"
        elif choice == 2:
            self._random.shuffle(schema["symbols"])
        else:
            schema["symbols"] = schema["symbols"] + ["NEW" + str(len(schema["symbols"]))]
            self._random.shuffle(schema["symbols"])
        schema.pop("default", None)
        return schema

    # ---- data ----

    def data(self, schema, depth=0):
        """The bytes of some value of the schema."""
        name = kind(schema)
        if depth > 40:
            raise Endless
        if name == "union":
            places = [place for place, branch in enumerate(schema) if depth < 8 or branch == "null"]
            place = self._random.choice(places or range(len(schema)))
            return number(place) + self.data(schema[place], depth + 1)
        if name == "record":
            return b"".join(self.data(field["type"], depth + 1) for field in schema["fields"])
        if name in ("array", "map"):
            return self._items(schema, name, depth)
        if name == "enum":
            return number(self._random.randrange(len(schema["symbols"])))
        if name == "fixed":
            return self._random.randbytes(schema["size"])
        return {"null": lambda: b"", "boolean": lambda: bytes([self._chance(0.5)]),
                "int": lambda: number(self._random.choice([0, -1, 64, 2**31 - 1, -2**31, self._random.randrange(10**6)])),
                "long": lambda: number(self._random.choice([0, -1, 2**53 + 1, 2**63 - 1, -2**63, self._random.randrange(10**12)])),
                "float": lambda: struct.pack("<f", self._random.choice([0.0, -1.5, 0.1, 1e30, self._random.gauss(0, 1)])),
                "double": lambda: struct.pack("<d", self._random.choice([0.0, 0.1, -1e300, 5e-324, float("nan"), self._random.gauss(0, 1e6)])),
                "bytes": self._text, "string": self._text}[name]()

    def _text(self, letters="aZ09 _'\"\\/\n\t\x00\x1fäß€😀"):
        data = "".join(self._random.choices(letters, k=self._random.choice([0, 1, 7, 40]))).encode()
        return number(len(data)) + data

    def _items(self, schema, name, depth):
        """One block or two, some of which say how long they are."""
        blocks = b""
        for _ in range(self._random.choice([0, 1, 1, 2]) if depth < 8 else 0):
            count = self._random.randrange(1, 3)
            content = b"".join((self._text("abcä") if name == "map" else b"") + self.data(schema["items" if name == "array" else "values"], depth + 1)
                               for _ in range(count))
            blocks += number(-count) + number(len(content)) + content if self._chance(0.3) else number(count) + content
        return blocks + number(0)


def number(value):
    """A long of Avro's."""
    left, data = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7f:
        data.append(left & 0x7f | 0x80)
        left >>= 7
    return bytes(data + bytes([left]))


def pair(seed, ours):
    """One pair and its data: the reader's name (of `ours`, texts by name) or None, its text, the writer's text, bytes."""
    generator = Generator(seed)
    chooser = random.Random(seed)
    name = chooser.choice([None, None, *ours])
    reader = linked(json.loads(ours[name])) if name else generator.reader()
    while True:
        writer = generator.writer(reader, chooser.choice([0, 1, 2, 3, 6])) if name or chooser.random() < 0.8 else generator.foreign()
        try:
            return name, ours[name] if name else text(reader), text(writer), generator.data(writer)
        except Endless:
            continue
