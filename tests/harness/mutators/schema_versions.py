"""Other versions of our schemas, as writers and readers have them that have not moved on or are ahead: each takes the parsed JSON of a
schema and changes it."""


def without_uuid(schema):
    """A copy without the logical type: Apache's writer in Python fails on the null of a nullable uuid; the type on the wire is a string all
    the same."""
    if isinstance(schema, list):
        return [without_uuid(part) for part in schema]
    if isinstance(schema, dict):
        return {key: without_uuid(part) for key, part in schema.items() if (key, part) != ("logicalType", "uuid")}
    return schema


def older(schema):
    """A GeneratedQuery before most of the fields were thought of."""
    keep = ("event_id", "occurred_at", "application", "question", "sql", "retrieval")
    schema["fields"] = [field for field in schema["fields"] if field["name"] in keep]
    chunk = schema["fields"][-1]["type"][1]["fields"][0]["type"]["items"]
    chunk["fields"] = [field for field in chunk["fields"] if field["name"] in ("chunk_id", "bm25_score")]


NEW_FIELDS = [
    {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    {"name": "trace", "type": ["null", {"type": "record", "name": "Trace", "fields": [
        {"name": "parent", "type": ["null", "Trace"]}, {"name": "id", "type": "bytes"}]}], "default": None},
    {"name": "costs", "type": {"type": "map", "values": "float"}, "default": {}}]


def newer(schema):
    """A GeneratedQuery with fields of every shape that this version does not know, in another order, and with a further symbol."""
    schema["fields"].reverse()
    schema["fields"][2:2] = NEW_FIELDS
    for field in schema["fields"]:
        if field["name"] == "dialect":
            field["type"][1]["symbols"].insert(0, "ORACLE")


def extended(schema):
    """Any record with those fields before the others."""
    schema["fields"][:0] = NEW_FIELDS


def renamed(schema):
    """A GeneratedQuery with the other names that our fields have: those of Java and TypeScript."""
    _rename(schema, lambda field: field.pop("aliases", [field["name"]])[0])


def camel_case(name):
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def aliased(schema):
    """Any record with the names of its fields in camel case, and what they were as aliases: a reader's."""

    def rename(field):
        name = camel_case(field["name"])
        field["aliases"] = [field["name"]] if name != field["name"] else []
        return name

    _rename(schema, rename)


def _rename(schema, name_of):
    if isinstance(schema, list):
        for branch in schema:
            _rename(branch, name_of)
    elif isinstance(schema, dict):
        for part in ("type", "items", "values"):
            _rename(schema.get(part), name_of)
        for field in schema.get("fields", []):
            _rename(field["type"], name_of)
            field["name"] = name_of(field)
