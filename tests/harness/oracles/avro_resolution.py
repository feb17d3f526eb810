"""The resolution of Avro schemas, ours against Apache's in Java: pairs of avro_pairs.py, each through both."""

import json
import pathlib
import subprocess

import avro_pairs
import wire
from servers import Unavailable

RESOLVE = pathlib.Path(__file__).resolve().parent / "avro_java" / "resolve.sh"
OURS = {name: json.dumps(json.loads((wire.SCHEMAS / f"{file}.avsc").read_text()), separators=(",", ":"))
        for name, file in [("query", "generated_query"), ("scored", "scored_query"), ("advisory", "advisory"),
                           ("feedback", "query_feedback")]}
NO_SYMBOL = "No match for "  # what Apache says of a symbol that the reader's enumeration has nothing for


def answers(command, lines):
    """The answer to each line: whether it was read, and the value or why not."""
    done = subprocess.run([command], input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=False,
                          timeout=1800)
    if done.returncode == 77:
        raise Unavailable(done.stderr.strip())
    found = done.stdout.splitlines()
    assert done.returncode == 0 and len(found) == len(lines), f"{command}: {done.returncode}, {len(found)} answers: {done.stderr[-2000:]}"
    return [answer.partition(" ")[::2] for answer in found]


def compare(tool, seeds):
    """Counts of what both said, by kind, and the pairs on which they differ."""
    counts, different = {}, []
    pairs = [avro_pairs.pair(seed, OURS) for seed in seeds]
    apache = answers(RESOLVE, [f"{reader}\t{writer}\t{data.hex()}" for _, reader, writer, data in pairs])
    own = answers(tool, [f"{name or reader}\t{writer}\t{data.hex()}" for name, reader, writer, data in pairs])
    for seed, one, theirs, ours in zip(seeds, pairs, apache, own):
        if theirs[0] == ours[0] == "ok":
            outcome = "same" if json.loads(theirs[1]) == json.loads(ours[1]) else "different"
        elif theirs[0] == ours[0]:
            outcome = "refused"
        else:  # a field that has a default keeps it when a symbol comes that we do not have: the one exception (plan.h)
            outcome = "unknown symbol" if NO_SYMBOL in theirs[1] else "different"
        counts[outcome] = counts.get(outcome, 0) + 1
        if outcome == "different":
            different.append((seed, *one[:3], one[3].hex(), theirs, ours))
    return counts, different
