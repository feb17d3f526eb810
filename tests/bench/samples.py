"""Events for benchmarks that differ from each other about as much as real ones, and what they take on a broker's disk."""

import json
import pathlib
import random
import subprocess
import sys
import uuid

PARTITIONS = 4
EVENTS = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "sample" / "events.py"


def varied(count):
    """Sample events whose ids and figures are their own, so that batches repeat no more than real ones would."""
    lines = subprocess.run([sys.executable, EVENTS], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    samples = [json.loads(line) for line in lines if "event_id" in line]
    samples = [sample for sample in samples if isinstance(sample.get("sql"), str)]
    chance = random.Random(1)
    for number in range(count):
        sample = dict(samples[chance.randrange(len(samples))])
        sample["event_id"] = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        sample["occurred_at"] = 1_750_000_000_000 + number * 37 + chance.randrange(37)
        sample["question"] = f"{sample.get('question', 'Orders?')} ({chance.randrange(10**6)})"
        sample["sql"] += f" -- {chance.randrange(10**9)}"
        if sample.get("retrieval"):
            sample["retrieval"] = {**sample["retrieval"], "chunks": [
                {**chunk, "chunk_id": f"{chance.getrandbits(48):012x}", "dense_score": round(chance.random(), 6),
                 "bm25_score": round(chance.random() * 20, 4)} for chunk in sample["retrieval"]["chunks"]]}
        yield {"value": json.dumps(sample).encode(), "key": sample["event_id"].encode(), "partition": number % PARTITIONS}


def on_disk(kafka, topic):
    """Bytes of the topic's segments."""
    return sum(file.stat().st_size for partition in range(PARTITIONS)
               for file in pathlib.Path(kafka.dir, "data", f"{topic}-{partition}").glob("*.log"))
