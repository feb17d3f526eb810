"""The JSON forms of the messages, held against their JSON Schemas by an independent validator."""

import json

import wire

from jsonschema import Draft7Validator


def validator(name):
    schema = json.loads((wire.SCHEMAS / f"{name}.schema.json").read_text())
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def faults(checker, value):
    """What is wrong with the value, one text each."""
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in checker.iter_errors(value)]
