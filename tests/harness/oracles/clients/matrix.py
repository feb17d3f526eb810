"""confluent-kafka and fastavro as a client of assayd's topics: a JSON object a line in, one a line out (see ../other_clients.py)."""

import io
import json
import os
import sys

import fastavro
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import (SchemaRegistryClient, header_schema_id_serializer, prefix_schema_id_serializer,
                                             topic_subject_name_strategy)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

MARKER = b"\xc3\x01"
FORMS = {"prefix": prefix_schema_id_serializer, "guid": header_schema_id_serializer}
STRATEGY = {"subject.name.strategy": topic_subject_name_strategy}  # see ../../fixtures/registry_client.py
BROKER, REGISTRY = os.environ["KAFKA_BOOTSTRAP"], SchemaRegistryClient({"url": os.environ["SCHEMA_REGISTRY_URL"], "timeout": 60})


def plain(value):
    """Times as milliseconds."""
    return round(value.timestamp() * 1000)


def parsed(text):
    return fastavro.parse_schema(json.loads(text))


def fingerprint(text):
    """Of single-object encoding: CRC-64-AVRO of the canonical form, whose hexadecimal digits are little-endian already."""
    return bytes.fromhex(fastavro.schema.fingerprint(fastavro.schema.to_parsing_canonical_form(json.loads(text)), "CRC-64-AVRO"))


def encoders(task):
    """What makes a value of an event, and headers."""
    if task["framing"] == "json":
        return lambda event, headers: json.dumps(event).encode()
    if task["framing"] == "single":
        schema, header = parsed(task["schema"]), MARKER + fingerprint(task["schema"])

        def single(event, _headers):
            out = io.BytesIO(header)
            out.seek(len(header))
            fastavro.schemaless_writer(out, schema, event)
            return out.getvalue()

        return single
    serializer = AvroSerializer(REGISTRY, task["schema"], conf={"schema.id.serializer": FORMS[task["framing"]], **STRATEGY})
    return lambda event, headers: serializer(event, SerializationContext(task["topic"], MessageField.VALUE, headers))


def write(task):
    encode, refused = encoders(task), []
    producer = Producer({"bootstrap.servers": BROKER, "enable.idempotence": True})
    for event in task["events"]:
        headers = []
        value = encode(event, headers)
        producer.produce(task["topic"], value, headers=headers, on_delivery=lambda error, _: refused.append(error) if error else None)
    if producer.flush(60) or refused:
        raise RuntimeError(f"the broker did not take it: {refused}")
    return {}


def messages_of(topic, count):
    consumer = Consumer({"bootstrap.servers": BROKER, "group.id": "matrix", "enable.auto.commit": False})
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
    found = []
    while len(found) < count:
        message = consumer.poll(60)
        if message is None or message.error():
            raise RuntimeError(f"{len(found)} messages of {count}: {message and message.error()}")
        found.append(message)
    consumer.close()
    return found


def decoder(task, reader):
    if task["framing"] == "json":
        return json.loads
    if task["framing"] == "single":
        writers = {fingerprint(text): parsed(text) for text in task["writers"]}
        schema = parsed(reader)

        def single(data):
            assert data[:2] == MARKER, data[:2]
            return fastavro.schemaless_reader(io.BytesIO(data[10:]), writers[data[2:10]], schema)

        return single
    deserializer = AvroDeserializer(REGISTRY, reader, conf=STRATEGY)
    return lambda data: deserializer(data, SerializationContext(task["topic"], MessageField.VALUE))


def read(task):
    found, values = messages_of(task["topic"], task["count"]), {}
    for name, reader in task["readers"].items():
        try:
            decode = decoder(task, reader)
            values[name] = [decode(message.value()) for message in found]
        except Exception as refusal:  # a cell that fails is told, and the others go on
            values[name] = f"{type(refusal).__name__}: {refusal}"
    return {"headers": [{header: data.decode() for header, data in message.headers() or ()} for message in found], "values": values}


for line in sys.stdin:
    try:
        asked = json.loads(line)
        answer = {"write": write, "read": read}[asked["do"]](asked)
    except Exception as failure:
        answer = {"error": f"{type(failure).__name__}: {failure}"}
    print(json.dumps(answer, default=plain), flush=True)
