"""What is wrong with the data of a schedule. Pure: the evidence in, problems out."""

import collections
import hashlib
import json

import feedback
import recount

MOST = 5  # examples of one kind
LEVELS = ((0.9, "HIGH_CONFIDENCE"), (0.7, "MEDIUM_CONFIDENCE"), (0.5, "LOW_CONFIDENCE"), (0.0, "VERY_LOW_CONFIDENCE"))
ACTIONS = ("WITHHOLD", "VERIFY", "USE_WITH_CAUTION", "USE")
ALLOWED = {None: "WITHHOLD", "VERY_LOW_CONFIDENCE": "WITHHOLD", "LOW_CONFIDENCE": "VERIFY",
           "MEDIUM_CONFIDENCE": "USE_WITH_CAUTION", "HIGH_CONFIDENCE": "USE"}
GRAVITY = ("UNSAFE_QUERY", "LOW_CONFIDENCE", "LOW_RELEVANCE", "WRONG_ANSWER", "GROUND_TRUTH_FAILED", "TARGET_UNAVAILABLE",
           "REVIEW_REQUIRED", "PERFORMANCE_REGRESSION")
AWAY = {"target_unavailable", "target_unknown"}
NO_REVIEW = {"medium_confidence", "confidence_below_advisory", "retrieval_moderate", "high_confidence"}
LOW_CONFIDENCE_BELOW, LOW_RELEVANCE_BELOW, PASSED_FROM = 0.7, 50, 0.7
SLOWER_TIMES, SLOWER_MS = 5.0, 250.0
JUDGED_FROM = 61  # the fewest points that the test's judge gives


def few(found):
    """The commonest texts with their numbers."""
    return [f"{count} times: {text[:400]}" for text, count in collections.Counter(found).most_common(MOST)]


# ---- one record ----


def level_of(confidence, advisory):
    """Without an advisory technical stands alone, which makes MEDIUM at most."""
    if confidence is None:
        return None
    level = next(level for bound, level in LEVELS if confidence >= bound)
    return "MEDIUM_CONFIDENCE" if advisory is None and level == "HIGH_CONFIDENCE" else level


def result_is_right(data, expected):
    result = data["result_validation"]
    if expected.result is None or expected.verdict != "SAFE":
        return result is None
    if result and result["status"] == "COMPARED":
        return result["score"] == expected.result
    flagged = any(error["metric"].startswith("result") for error in data["errors"])
    return bool(result) and result["status"] == "UNAVAILABLE" and flagged


def relevance_is_right(data):
    """A judge that fails gives no verdict, and the record says why."""
    judge, relevance = data["judge"], data["judge"]["relevance"]
    judged = judge["decision"] != "UNJUDGED"
    if relevance is None or relevance["status"] != "ok":
        flagged = relevance is None or any(error["metric"] == "relevance" for error in data["errors"])
        return not judged and bool(judge["unjudged_reason"]) and flagged
    return judge["decision"] == ("ACCEPT" if relevance["score"] < 80 else "ACCEPT_HIGH") and \
        JUDGED_FROM <= relevance["score"] <= 100 and judge["unjudged_reason"] is None


def verdicts_of(data):
    """The correctness and the relevance, each from 0 to 1, that count."""
    correctness, relevance = data["judge"]["correctness"], data["judge"]["relevance"]
    return (correctness["score"] if correctness and correctness["status"] in ("ok", "identical") else None,
            relevance["score"] / 100 if relevance and relevance["status"] == "ok" else None)


def label_of(data):
    """(source, value, weight), or None."""
    result, (correctness, relevance) = data["result_validation"], verdicts_of(data)
    weight = 1 / data["judge"]["sampling_probability"]
    if result and result["status"] == "COMPARED":
        return "RESULT", result["score"], 1.0
    if correctness is not None:
        return "CORRECTNESS", correctness, 1.0 if data["judge"]["correctness"]["status"] == "identical" else weight
    return None if relevance is None else ("RELEVANCE", relevance, weight)


def label_is_right(data):
    label, wanted = data["label"], label_of(data)
    if label is None or wanted is None:
        return label is None and wanted is None
    return (label["source"], label["value"], label["correct"]) == (*wanted[:2], wanted[1] >= 0.5) and \
        abs(label["weight"] - wanted[2]) < 1e-9


def known_wrong(data):
    result, (correctness, _) = data["result_validation"], verdicts_of(data)
    compared = result is not None and result["status"] == "COMPARED" and result["conclusive"]
    return data["safety"]["verdict"] == "UNSAFE" or data["judge"]["decision"] == "REJECT" or \
        bool(data["confidence"]["technical"] and not data["confidence"]["technical"]["valid"]) or \
        bool(result and result["status"] in ("EXECUTION_FAILED", "TIMEOUT", "INVALID")) or \
        compared and result["score"] < 0.5 and result["match_confidence"] != "LOW_CONFIDENCE" or \
        correctness is not None and correctness < 0.5 and not (compared and result["score"] >= 0.5)


def conclusion_is_right(data):
    """What the level allows at the most; nothing of what is wrong; and all that follows from it."""
    action, allowed = data["disposition"]["action"], ALLOWED[data["confidence"]["level"]]
    return ACTIONS.index(action) <= ACTIONS.index(allowed) and (action == "WITHHOLD" or not known_wrong(data)) and \
        data["review_required"] == (action in ("VERIFY", "WITHHOLD")) and data["recommendations"][0]["code"] == action and \
        bool(data["disposition"]["reasons"][0]["text"])


def evaluation_is_right(data):
    """The sum that the record itself gives the terms of."""
    evaluation, (correctness, relevance) = data["evaluation"], verdicts_of(data)
    result = data["result_validation"]
    terms = {"structural": data["structure"]["structural"], "semantic": data["structure"]["semantic"],
             "judge": relevance if correctness is None else correctness,
             "result": result["score"] if result and result["status"] == "COMPARED" else 0.0}
    if evaluation is None:  # the structure alone is none
        return terms["semantic"] is terms["judge"] is None and not (result and result["status"] == "COMPARED")
    weights = evaluation["weights"]
    if any(terms[name] is None for name in weights):
        return False
    score = sum(weight * terms[name] for name, weight in weights.items()) / sum(weights.values())
    # where a result was asked for and could not be had, only a judge stands in for it
    measured = "result" in weights or "judge" in weights or result is None or result["status"] == "UNSAFE"
    passed = evaluation["score"] >= PASSED_FROM and not known_wrong(data) and measured
    return abs(evaluation["score"] - score) < 1e-9 and evaluation["passed"] == passed


def misjudged(data, expected, sample_rate):
    """What the record says that is wrong; what it lacks because something was away it must say. Empty: nothing."""
    verdict, technical = data["safety"]["verdict"], data["confidence"]["technical"]
    overall = expected.overall
    if verdict == "UNKNOWN":  # without a catalog
        if technical is not None or data["result_validation"] is not None:
            return "a verdict of what is unknown"
        overall = expected.advisory
    elif verdict != expected.verdict:
        return f"{verdict} instead of {expected.verdict}"
    elif technical is None or technical["score"] != expected.technical:
        return f"technical {technical} instead of {expected.technical}"
    elif not result_is_right(data, expected):
        return f"result {data['result_validation']} instead of {expected.result}, errors {data['errors']}"
    if (data["confidence"]["overall"], data["confidence"]["level"]) != (overall, level_of(overall, expected.advisory)):
        return f"confidence {data['confidence']['overall']} {data['confidence']['level']} instead of {overall}"
    if abs(data["judge"]["sampling_probability"] - (1 if verdict == "UNSAFE" else sample_rate)) > 1e-9 or \
            not relevance_is_right(data):
        return f"judge {data['judge']}, errors {data['errors']}"
    if not label_is_right(data):
        return f"label {data['label']} instead of {label_of(data)}"
    if not evaluation_is_right(data):
        return f"evaluation {data['evaluation']}"
    return "" if conclusion_is_right(data) else f"disposition {data['disposition']}"


def advisories_of(data):
    """The kinds that the record raises."""
    kinds, overall, relevance = set(), data["confidence"]["overall"], data["judge"]["relevance"]
    if overall is not None and overall < LOW_CONFIDENCE_BELOW:
        kinds.add("LOW_CONFIDENCE")
    if data["safety"]["verdict"] == "UNSAFE":
        kinds.add("UNSAFE_QUERY")
    if data["judge"]["decision"] != "UNJUDGED" and relevance["score"] < LOW_RELEVANCE_BELOW:
        kinds.add("LOW_RELEVANCE")
    if known_wrong(data) and data["safety"]["verdict"] != "UNSAFE":
        kinds.add("WRONG_ANSWER")
    result = data["result_validation"]
    if result and result["status"] == "GROUND_TRUTH_FAILED":
        kinds.add("GROUND_TRUTH_FAILED")
    codes = {reason["code"] for reason in data["disposition"]["reasons"]} - NO_REVIEW
    if codes & AWAY:
        codes -= AWAY | {"no_confidence", "safety_unknown"}  # told by the advisory of the outage
    if codes and not kinds:
        kinds.add("REVIEW_REQUIRED")
    if result and result["status"] == "COMPARED":
        generated_ms, truth_ms = result["generated"]["time_ms"], result["truth"]["time_ms"]
        if generated_ms > SLOWER_TIMES * truth_ms and generated_ms > SLOWER_MS:
            kinds.add("PERFORMANCE_REGRESSION")
    return kinds


# ---- all of them ----


def lost_or_doubled(evidence):
    times, problems = evidence.origins(), []
    if evidence.late:
        partitions = sorted({partition for partition, _ in evidence.late})
        problems.append(f"{len(evidence.late)} inputs never came out (partitions {partitions}, first {evidence.late[:MOST]})")
    lost = sorted(place for place in evidence.inputs
                  if place not in times and place not in evidence.late and place not in evidence.gone)
    if lost:
        problems.append(f"{len(lost)} inputs are lost: {lost[:MOST]}")
    foreign = [origin for origin in times if origin not in evidence.inputs]
    if foreign:
        problems.append(f"{len(foreign)} outputs of inputs that never were: {foreign[:MOST]}")
    doubled = [origin for origin, count in times.items() if count > 1]
    if doubled and evidence.exactly_once:
        problems.append(f"{sum(times.values()) - len(times)} outputs too many: {doubled[:MOST]}")
    return problems


def wrong_identity(evidence, record):
    sent, expected, data = evidence.inputs[record.origin], evidence.expected.get(record.origin), record.data
    if sent.key != record.key or str(data["event_id"]).encode() != record.key:
        return f"the record of {record.origin} is about another event"
    if expected is None:
        return f"{record.origin} has a record, and nobody can read it"
    if data["provenance"]["topic"] != evidence.input_topic:
        return f"the record of {record.origin} names the topic {data['provenance']['topic']}"
    differing = [name for name, value in expected.identity.items() if data[name] != value]
    return f"the record of {record.origin} has another {', '.join(differing)}" if differing else ""


def wrong_records(evidence):
    strange, wrong = [], []
    for record in evidence.records:
        if record.origin not in evidence.inputs:
            continue
        if text := wrong_identity(evidence, record):
            strange.append(text)
        elif text := misjudged(record.data, evidence.expected[record.origin], evidence.sample_rate):
            wrong.append(text)
    return strange[:MOST] + [f"wrong records, {text}" for text in few(wrong)]


def differing_records(evidence):
    """Events that differ in their event_id alone: all that is said of the SQL and before it has run is the same."""
    said = collections.defaultdict(collections.Counter)
    for record in evidence.records:
        if expected := evidence.expected.get(record.origin):
            parts = {name: record.data[name] for name in ("confidence", "safety", "structure")}
            said[expected.template, record.data["safety"]["verdict"]][json.dumps(parts)] += 1
    return [f"records of the same event differ: {texts.most_common()[:2]}" for texts in said.values() if len(texts) > 1][:MOST]


def is_untouched(letter, sent):
    """The bytes, key and headers that were sent, or what is left of those that the topic cannot take."""
    value, digest = sent.value or b"", letter.header("sha256")
    if digest is None:
        return (letter.value or b"") == value and letter.key == sent.key and set(sent.headers) <= set(letter.headers)
    return bool(letter.value) and value.startswith(letter.value) and letter.header("length") == str(len(value)) and \
        digest == hashlib.sha256(value).hexdigest()


def wrong_letters(evidence):
    problems = []
    for letter in evidence.letters:
        origin = evidence.place_of(letter)
        sent = evidence.inputs.get(origin)
        if sent is None or letter.header("topic") != evidence.input_topic:
            problems.append(f"a dead letter of nothing that was sent: {letter.headers}")
        elif not is_untouched(letter, sent):
            problems.append(f"the dead letter {letter.headers} is not what was sent")
        elif origin in evidence.expected and not evidence.records_may_be_refused:
            problems.append(f"a good event is a dead letter: {letter.headers}")
        elif (letter.header("reason") == "output_refused") != (origin in evidence.expected):
            problems.append(f"the dead letter {letter.headers} has another reason")
    return problems[:MOST]


def value_of(kind, record):
    """What has crossed the bound of an advisory whose gravest kind that is."""
    if kind == "LOW_CONFIDENCE":
        return record["confidence"]["overall"]
    if kind == "LOW_RELEVANCE":
        return record["judge"]["relevance"]["score"]
    return record["result_validation"]["generated"]["time_ms"] if kind == "PERFORMANCE_REGRESSION" else None


def wrong_advisory(evidence, advisory, records):
    """What does not fit the record that the advisory is about (one of them, at least once)."""
    data, message = advisory.data, advisory.message
    kinds, sent = data["kinds"], evidence.inputs.get(advisory.origin)
    name = f"{evidence.input_topic}-{data['partition']}-{data['offset']}"
    if sent is None or message.key != sent.key or str(data["event_id"]).encode() != sent.key or data["advisory_id"] != name:
        return f"an advisory about nothing that was sent: {data}"
    if kinds != sorted(set(kinds), key=GRAVITY.index) or not kinds:
        return f"kinds of the advisory {data}"
    if [message.header(name) for name in ("kind", "kinds", "level", "action", "application")] != \
            [kinds[0], ",".join(kinds), data["level"], data["action"], data["application"]]:
        return f"headers {message.headers} of the advisory {data}"
    anyhow = {"TARGET_UNAVAILABLE"}  # once for many events
    if any(reason["code"] == "slower_than_before" for reason in data["reasons"]):
        anyhow.add("PERFORMANCE_REGRESSION")  # by what an instance remembers
    if not evidence.exactly_once:
        anyhow.add("PERFORMANCE_REGRESSION")  # of a run whose record has not come out
    if not any(data["level"] == record["confidence"]["level"] and set(kinds) - anyhow == advisories_of(record) - anyhow and
               data["action"] == record["disposition"]["action"] and
               data["value"] == value_of(kinds[0], record) for record in records):
        alone = evidence.records_may_be_refused or advisory.origin in evidence.gone
        refused = not records and not evidence.exactly_once and alone
        return "" if refused else f"{'an' if records else 'no record for an'} advisory that no record raises: {data}"
    return ""


def wrong_advisories(evidence):
    records, problems = collections.defaultdict(list), []
    for record in evidence.records:
        records[record.origin].append(record.data)
    about_events = [advisory for advisory in evidence.advisories if advisory.data["kind"] != "CALIBRATION_DRIFT"]
    problems += few(text for advisory in about_events
                    if (text := wrong_advisory(evidence, advisory, records.get(advisory.origin, ()))))
    told = collections.Counter(advisory.origin for advisory in about_events)
    doubled = [name for name, count in told.items() if count > 1]
    if doubled and evidence.exactly_once:
        problems.append(f"{len(doubled)} advisories doubled: {doubled[:MOST]}")
    # at least once, what was on its way when its topic went came out in part, and nobody can read it again
    halves = set() if evidence.exactly_once else evidence.gone
    missing = [origin for origin, copies in records.items()
               if origin not in halves and all(map(advisories_of, copies)) and origin not in told]
    if missing:
        problems.append(f"{len(missing)} advisories missing: {missing[:MOST]}")
    return problems


def wrong_drift(evidence):
    """Told at least once each, and nothing but episodes."""
    told = {advisory.data["episode_id"] for advisory in evidence.advisories if advisory.data["kind"] == "CALIBRATION_DRIFT"}
    problems = [f"an advisory of drift without an episode: {episode}" for episode in told - set(evidence.episodes)]
    problems += [f"the advisory of episode {episode} is missing" for episode, published in evidence.episodes.items()
                 if published and episode not in told]
    return problems[:MOST]


def expected_cells(evidence):
    """What the calibration has to hold, and about how many records something was said in time."""
    records = [record.data for record in evidence.records]
    late = feedback.late_truth(records, evidence.verdicts)
    return recount.cells(records + late), len(late)


def described(cells):
    """Cases and cells, by where the truth came from."""
    cases = collections.Counter()
    for key, sums in cells.items():
        if key[0] == recount.WIDTHS_S[-1]:  # every case is in one bucket of each width
            cases[key[5]] += sums[0]
    return f"{dict(sorted(cases.items()))} cases in {len(cells)} cells"


def wrong_calibration(evidence):
    expected, _ = expected_cells(evidence)
    if evidence.cells == expected:
        return ["the calibration is right, but came late"] if evidence.counted_late else []
    return [f"calibration holds {described(evidence.cells or {})}, a recount gives {described(expected)}"]


def behind(evidence):
    """Partitions whose committed offset is not their end."""
    ends = {}
    for partition, offset in evidence.inputs:
        if partition >= 0:  # not of a former topic
            ends[partition] = max(ends.get(partition, 0), offset + 1)
    return {partition: (evidence.committed.get(partition), end) for partition, end in sorted(ends.items())
            if evidence.committed.get(partition) != end}


def wrong_log(evidence):
    """It has each record once, in the order of the topic."""
    if evidence.log is None or evidence.log == evidence.leaves:
        return []
    partitions = [partition for partition in sorted(evidence.leaves.keys() | evidence.log.keys())
                  if evidence.leaves.get(partition) != evidence.log.get(partition)]
    return [f"the log of partition {partition} has {len(evidence.log.get(partition, []))} leaves, which are not those of its "
            f"{len(evidence.leaves.get(partition, []))} records" for partition in partitions[:MOST]]


def uncommitted(evidence):
    """The group's offsets reach the end: nothing is open and no map is left."""
    found = behind(evidence)
    return [f"offsets are not committed to the end, partition: (offset, end) {found}"] if found else []


def open_transactions(evidence):
    """A read_committed reader sees as far as any other."""
    return [f"a transaction is left open in {topic}: {ends}" for topic, ends in evidence.ends.items() if ends[0] != ends[1]]


CHECKS = (lost_or_doubled, wrong_records, differing_records, wrong_letters, wrong_advisories, wrong_drift, wrong_calibration,
          wrong_log, uncommitted, open_transactions)


def problems_of(evidence):
    return [problem for check in CHECKS for problem in check(evidence)]
