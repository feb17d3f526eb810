#!/usr/bin/python3
"""A small text-to-SQL assistant whose answers assayd looks at before a person sees them.

    ask.py --broker HOST:PORT --model-url http://HOST:PORT/v1 [--model NAME] QUESTION

It asks a model (any OpenAI-compatible server; OPENAI_API_KEY if that wants one), publishes what it wrote, and waits for the
scored record. Exit status 0: the answer may be used; 1: it may not, or something failed, which standard error says then. assayd
writes JSON here (wire_format = "json"). Needs confluent-kafka (Debian: python3-confluent-kafka).
"""

import argparse
import json
import os
import sys
import time
import urllib.request
import uuid

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

PROMPT = """Answer with one PostgreSQL query and nothing else. Tables: regions(region_id, name), customers(customer_id, name, email,
region_id, created_on), products(product_id, name, category, price), orders(order_id, customer_id, ordered_at, status),
order_items(order_id, line, product_id, quantity, unit_price)."""


def generate(url, model, question):
    body = {"model": model, "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), {
        "Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def at_the_end(broker, topic):
    """A consumer that sees what is published from now on."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": f"ask-{uuid.uuid4()}", "isolation.level": "read_committed", "log_level": 0})
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions or sys.exit(f"{broker} has no topic {topic}; create it (README)")
    ends = [TopicPartition(topic, number, consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)[1]) for number in partitions]
    consumer.assign(ends)
    return consumer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--broker", required=True)
    parser.add_argument("--model-url", required=True)
    parser.add_argument("--model", default="scripted")
    parser.add_argument("question")
    ask = parser.parse_args()
    try:
        scored = at_the_end(ask.broker, "scored-queries")
        sql = generate(ask.model_url, ask.model, ask.question)
    except KafkaException as error:
        sys.exit(f"no broker answers at {ask.broker}: {error.args[0].str()}; start it, or correct --broker")
    except OSError as error:
        sys.exit(f"no model answers at {ask.model_url}: {error}; start it, or correct --model-url")
    event = {"event_id": str(uuid.uuid4()), "occurred_at": int(time.time() * 1000), "application": "ask.py", "model": ask.model,
             "question": ask.question, "sql": sql, "target": "shop"}
    producer, refused = Producer({"bootstrap.servers": ask.broker, "log_level": 0}), []
    producer.produce("generated-queries", json.dumps(event), event["event_id"], on_delivery=lambda error, _: refused.append(error) if error else None)
    if producer.flush(30) or refused:
        sys.exit(f"{ask.broker} did not take the event into generated-queries: {refused[0].str() if refused else 'no answer'}; is the topic there?")
    deadline = time.time() + 60
    while time.time() < deadline:
        message = scored.poll(1)
        if message and not message.error() and message.key() == event["event_id"].encode():
            disposition = json.loads(message.value())["disposition"]
            print(sql, disposition["action"], *(f"  {reason['text']}" for reason in disposition["reasons"]), sep="\n")
            return 0 if disposition["action"].startswith("USE") else 1
    sys.exit("no record came within 60 s: does assayd run?")


if __name__ == "__main__":
    sys.exit(main())
