"""Avro single-object encoding and JSON as the Avro specification has them, on Apache's own avro library.

Nothing here comes from the daemon but the schema files: an encoder is not to be checked by its own decoder.
"""

import io
import json
import pathlib
import struct

import avro.io
import avro.schema

import quick_avro

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "schemas"
MARKER = b"\xc3\x01"
COMPARED = 25  # messages of a type that Apache's library reads as well
PRIMITIVES = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}


def canonical_form(schema, namespace=""):
    """Parsing Canonical Form of a schema given as parsed JSON."""

    def fullname(name):
        return name if "." in name or not namespace else f"{namespace}.{name}"

    if isinstance(schema, str):
        return json.dumps(schema if schema in PRIMITIVES else fullname(schema))
    if isinstance(schema, list):
        return "[" + ",".join(canonical_form(branch, namespace) for branch in schema) + "]"
    kind = schema["type"]
    if isinstance(kind, (dict, list)) or kind in PRIMITIVES:
        return canonical_form(kind, namespace)
    if kind == "array":
        return '{"type":"array","items":%s}' % canonical_form(schema["items"], namespace)
    if kind == "map":
        return '{"type":"map","values":%s}' % canonical_form(schema["values"], namespace)
    namespace = schema.get("namespace", namespace)
    name = fullname(schema["name"])
    namespace = name.rpartition(".")[0]
    if kind == "enum":
        return '{"name":%s,"type":"enum","symbols":%s}' % (
            json.dumps(name), json.dumps(schema["symbols"], separators=(",", ":")))
    if kind == "record":
        fields = ('{"name":%s,"type":%s}' % (json.dumps(field["name"]), canonical_form(field["type"], namespace))
                  for field in schema["fields"])
        return '{"name":%s,"type":"record","fields":[%s]}' % (json.dumps(name), ",".join(fields))
    raise ValueError(f"no canonical form for {kind}")


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0xC15D213AA4D7A795 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc_64_avro(text):
    """CRC-64-AVRO of a text, as an integer."""
    crc = 0xC15D213AA4D7A795
    for byte in text.encode():
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc


# The value that the specification's reference implementation gives.
assert crc_64_avro('"null"') == 0x63DD24E7CC258F8A


def with_defaults(schema, datum):
    """The datum with every absent field of a record set to its default."""
    if isinstance(schema, avro.schema.RecordSchema):
        filled = {}
        for field in schema.fields:
            if field.name in datum:
                filled[field.name] = with_defaults(field.type, datum[field.name])
            elif field.has_default:
                filled[field.name] = field.default
            else:
                raise KeyError(f"{schema.name}.{field.name} has no default")
        unknown = set(datum) - set(filled)
        if unknown:
            raise KeyError(f"{schema.name} has no field {sorted(unknown)}")
        return filled
    if isinstance(schema, avro.schema.UnionSchema) and datum is not None:
        return with_defaults(next(branch for branch in schema.schemas if branch.type != "null"), datum)
    if isinstance(schema, avro.schema.ArraySchema):
        return [with_defaults(schema.items, item) for item in datum]
    return datum


class Codec:
    """One record type."""

    def __init__(self, schema_text):
        self.schema = avro.schema.parse(schema_text)
        self.fingerprint = crc_64_avro(canonical_form(json.loads(schema_text)))
        self.header = MARKER + struct.pack("<Q", self.fingerprint)
        self._writer = avro.io.DatumWriter(self.schema)
        self._reader = avro.io.DatumReader(self.schema)
        self._read = quick_avro.reader_of(json.loads(schema_text), times=True)
        self._compared = 0

    def body(self, datum):
        out = io.BytesIO()
        self._writer.write(with_defaults(self.schema, datum), avro.io.BinaryEncoder(out))
        return out.getvalue()

    def encode(self, datum):
        return self.header + self.body(datum)

    def decode(self, data):
        """Reads a message and insists that it is nothing but one record of this schema. Apache's library takes ten times as long:
        it reads the first ones as well, and has to see the same."""
        assert data[:10] == self.header, f"not a {self.schema.name}: {data[:10].hex()}"
        datum, end = self._read(data, 10)
        assert end == len(data), f"{len(data) - end} bytes behind the record"
        if self._compared < COMPARED:
            self._compared += 1
            assert datum == self._reader.read(avro.io.BinaryDecoder(io.BytesIO(data[10:])))
        return datum


def load(name):
    return Codec((SCHEMAS / f"{name}.avsc").read_text())


GENERATED_QUERY = load("generated_query")
SCORED_QUERY = load("scored_query")
ADVISORY = load("advisory")
