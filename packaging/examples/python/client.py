#!/usr/bin/python3
"""assayd for a program in Python: sends it an event, and reads what it found.

    client.py produce generated-queries QUESTION SQL [TARGET]    prints the event_id
    client.py read scored-queries                                a line each: event_id, level, disposition, score ("none": it has none); until Ctrl-C
    client.py read confidence-advisories level=VERY_LOW_CONFIDENCE    only those with that header; no other one is decoded

KAFKA_BOOTSTRAP is the broker (localhost:9092). With SCHEMA_REGISTRY_URL events are Avro in Confluent's framing, else JSON; records
and advisories are read in either, as kafka.wire_format = "confluent" or "json" has them. Each topic has a group, which goes on where
it was. JSON needs python3-confluent-kafka of Debian; a registry needs a virtual environment, whose Python runs it:

    python3 -m venv v && v/bin/pip install "confluent-kafka[avro,schemaregistry]==2.16.1" && v/bin/python client.py …
"""

import json
import os
import sys
import time
import uuid

from confluent_kafka import Consumer, KafkaException, Producer

BROKER = os.environ.get("KAFKA_BOOTSTRAP", "localhost:9092")
REGISTRY = os.environ.get("SCHEMA_REGISTRY_URL")
if REGISTRY:
    from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    # Subjects are TOPIC-value. Without it the client asks for associations of the topic first, which not every registry has.
    STRATEGY = {"subject.name.strategy": topic_subject_name_strategy}

# What this program knows of an event. generated_query.avsc, beside assayd's other schemas, has all that one can say.
SCHEMA = """{"type": "record", "name": "GeneratedQuery", "namespace": "io.assayd", "fields": [
    {"name": "event_id", "type": "string"},
    {"name": "occurred_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "application", "type": "string"},
    {"name": "question", "type": "string"},
    {"name": "sql", "type": "string"},
    {"name": "target", "type": ["null", "string"], "default": null}]}"""


def registry():
    return SchemaRegistryClient({"url": REGISTRY, "timeout": 30})


def by_registry(work, *arguments):
    """Its result; what its client raises, of many kinds, ends the program with one line."""
    try:
        return work(*arguments)
    except Exception as error:
        sys.exit(f"the schema registry {REGISTRY}: {error}; start it, or correct SCHEMA_REGISTRY_URL")


def check(client, topic):
    try:
        found = client.list_topics(topic, timeout=5).topics[topic]
    except KafkaException as error:
        sys.exit(f"no broker answers at {BROKER}: {error.args[0].str()}; start it, or correct KAFKA_BOOTSTRAP")
    if found.error:
        sys.exit(f"{BROKER} has no topic {topic} ({found.error.str()}); create it, or correct its name")


def produce(topic, question, sql, target=None):
    event = {"event_id": str(uuid.uuid4()), "occurred_at": int(time.time() * 1000), "application": "example-python",
             "question": question, "sql": sql, "target": target}
    producer = Producer({"bootstrap.servers": BROKER, "enable.idempotence": True, "log_level": 0})
    check(producer, topic)
    value = json.dumps(event).encode()
    if REGISTRY:
        serializer = by_registry(AvroSerializer, registry(), SCHEMA, None, STRATEGY)
        value = by_registry(serializer, event, SerializationContext(topic, MessageField.VALUE))
    refused = []
    producer.produce(topic, value, event["event_id"], on_delivery=lambda error, _: refused.append(error) if error else None)
    if producer.flush(30) or refused:
        sys.exit(f"{BROKER} did not take it: {refused[0].str() if refused else 'no answer'}; see its log, and what it allows this client")
    print(event["event_id"])


def line(value):
    if "advisory_id" in value:
        facts = (value["event_id"], value["level"], value["action"], value["value"])
    else:
        facts = (value["event_id"], value["confidence"]["level"], value["disposition"]["action"], value["confidence"]["overall"])
    return " ".join("none" if fact is None else f"{fact:.2f}" if isinstance(fact, (int, float)) else str(fact) for fact in facts)


def read(topic, wanted=None):
    decode = AvroDeserializer(registry(), conf=STRATEGY) if REGISTRY else None
    # committed messages alone, which is librdkafka's default: assayd publishes in transactions
    consumer = Consumer({"bootstrap.servers": BROKER, "group.id": f"example-python-{topic}", "auto.offset.reset": "earliest", "log_level": 0})
    check(consumer, topic)
    consumer.subscribe([topic])
    try:
        while True:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                sys.exit(f"{topic} of {BROKER}: {message.error().str()}; see the broker's log, and what it allows this client")
            if wanted and tuple(wanted.encode().split(b"=", 1)) not in [(name.encode(), data) for name, data in message.headers() or ()]:
                continue
            data = message.value()
            if data.startswith(b"{"):
                print(line(json.loads(data)), flush=True)
            elif data.startswith(b"\0") and decode:
                print(line(by_registry(decode, data, SerializationContext(topic, MessageField.VALUE))), flush=True)
            else:
                sys.exit('neither JSON nor Avro of a registry that SCHEMA_REGISTRY_URL names: set kafka.wire_format = "json" or "confluent"')
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()


if __name__ == "__main__":
    commands = {"produce": (produce, (3, 4)), "read": (read, (1, 2))}
    if len(sys.argv) < 2 or sys.argv[1] not in commands or len(sys.argv) - 2 not in commands[sys.argv[1]][1]:
        sys.exit(__doc__)
    commands[sys.argv[1]][0](*sys.argv[2:])
