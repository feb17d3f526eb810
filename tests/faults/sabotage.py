"""Can the checker fail? What went well is spoilt, one defect at a time, and each has to be found.

Most defects are put into the evidence of a schedule that has passed; what the evidence is read from is spoilt, too: a
topic gets another message, a transaction stays open, a row of the calibration is changed.
"""

import contextlib
import copy
import dataclasses
import decimal
import signal
import time
import uuid

import confluent_kafka

import evidence as reading
import feedback
import verdict
from plan import RIGHT_KINDS
from rig import EXIT_OK, Right
from upheavals import until

SHORT_S = 1.0
READY_S = 180.0
ANOTHER = "00000000-0000-4000-8000-000000000000"


@dataclasses.dataclass
class Defect:
    name: str
    check: object  # the function that has to find it
    spoil: object  # changes the evidence


def _one(items, wanted=lambda item: True):
    return next(number for number, item in enumerate(items) if wanted(item))


def _longest(log):
    return max(log, key=lambda partition: len(log[partition]))


def _log(change):
    """The leaves of a partition."""
    def spoil(evidence):
        partition = _longest(evidence.log)
        evidence.log[partition] = change(evidence.log[partition])
    return spoil


def _record(wanted=lambda data: True, **changes):
    """A defect in one record: paths with dots, and values or functions of the old value."""

    def spoil(evidence):
        number = _one(evidence.records, lambda record: wanted(record.data))
        evidence.records[number] = copy.deepcopy(evidence.records[number])
        for path, value in changes.items():
            *way, last = path.split("__")
            at = evidence.records[number].data
            for name in way:
                at = at[name]
            at[last] = value(at[last]) if callable(value) else value

    return spoil


def _letter(wanted=lambda letter: True, **changes):
    def spoil(evidence):
        number = _one(evidence.letters, wanted)
        letter = evidence.letters[number]
        evidence.letters[number] = dataclasses.replace(
            letter, **{name: value(getattr(letter, name)) for name, value in changes.items()})

    return spoil


def _advisory(wanted=lambda data: True, message=None, **changes):
    def spoil(evidence):
        number = _one(evidence.advisories, lambda advisory: wanted(advisory.data))
        evidence.advisories[number] = spoilt = copy.deepcopy(evidence.advisories[number])
        spoilt.data.update(changes)
        if message:
            spoilt.message = dataclasses.replace(spoilt.message, **{name: value(getattr(spoilt.message, name))
                                                                    for name, value in message.items()})

    return spoil


def _without(field, wanted=lambda item: True):
    def spoil(evidence):
        del getattr(evidence, field)[_one(getattr(evidence, field), wanted)]

    return spoil


def _twice(field, wanted=lambda item: True):
    def spoil(evidence):
        items = getattr(evidence, field)
        items.append(items[_one(items, wanted)])

    return spoil


def _header(name, value):
    return lambda headers: tuple((other, value if other == name else old) for other, old in headers)


def _swap_records(evidence):
    """Two events change places: everybody has a record, and it is about somebody else."""
    first, second = copy.deepcopy(evidence.records[0]), copy.deepcopy(evidence.records[1])
    for here, there in ((first, evidence.records[1]), (second, evidence.records[0])):
        here.origin = there.origin
    evidence.records[:2] = first, second


def _letter_for_record(evidence):
    """A good event is refused, all proper."""
    number = _one(evidence.records)
    record = evidence.records.pop(number)
    sent = evidence.inputs[record.origin]
    evidence.letters.append(dataclasses.replace(sent, headers=sent.headers + (
        ("reason", b"output_refused"), ("topic", evidence.input_topic.encode()),
        ("partition", b"%d" % sent.partition), ("offset", b"%d" % sent.offset))))


def _last_remark_changed(evidence):
    told = {str(record.data["event_id"]) for record in evidence.records}
    for record in feedback.late_truth([record.data for record in evidence.records], evidence.verdicts):
        event_id = str(record["event_id"])
        remarks = evidence.verdicts[event_id]
        if event_id in told and len({correct for *_, correct in remarks}) > 1 and record["confidence"]["overall"] is not None:
            evidence.verdicts[event_id] = [(*place, not record["label"]["correct"]) for *place, _ in remarks]
            return
    raise LookupError("nobody was corrected")


def _cell(change):
    def spoil(evidence):
        key = next(iter(evidence.cells))
        evidence.cells[key] = change(evidence.cells[key])

    return spoil


def _without_cell(evidence):
    del evidence.cells[next(iter(evidence.cells))]


def _offset(change):
    def spoil(evidence):
        partition = next(iter(evidence.committed))
        evidence.committed[partition] = change(evidence.committed[partition])

    return spoil


def _open_end(evidence):
    topic, (committed, everything) = next(iter(evidence.ends.items()))
    evidence.ends[topic] = (committed, [everything[0] + 1] + everything[1:])


def _judged(data):
    return data["judge"]["relevance"] is not None and data["judge"]["relevance"]["status"] == "ok"


def _compared(data):
    return data["result_validation"] is not None and data["result_validation"]["status"] == "COMPARED"


def _flip(value):
    return not value


def _diagnosed(data):
    return data["confidence"]["technical"] is not None and data["confidence"]["technical"]["diagnostics"]


LOST, RECORDS, DIFFERING = verdict.lost_or_doubled, verdict.wrong_records, verdict.differing_records
LETTERS, ADVISORIES = verdict.wrong_letters, verdict.wrong_advisories
DEFECTS = (
    Defect("record lost", LOST, _without("records")),
    Defect("record doubled", LOST, _twice("records")),
    Defect("record of nothing", LOST, lambda evidence: evidence.inputs.pop(evidence.records[0].origin)),
    Defect("dead letter lost", LOST, _without("letters")),
    Defect("dead letter doubled", LOST, _twice("letters")),
    Defect("record and dead letter", LOST, lambda evidence: (
        evidence.records.append(evidence.records[0]), _letter_for_record(evidence))),
    Defect("late input", LOST, lambda evidence: evidence.late.append(next(iter(evidence.inputs)))),
    Defect("records swapped", RECORDS, _swap_records),
    Defect("event_id", RECORDS, _record(event_id=ANOTHER)),
    Defect("model", RECORDS, _record(model="model-z")),
    Defect("application", RECORDS, _record(application="other")),
    Defect("target", RECORDS, _record(lambda data: data["target"], target=None)),
    Defect("occurred_at", RECORDS, _record(occurred_at=lambda old: old + 1)),
    Defect("topic", RECORDS, _record(provenance__topic="another")),
    Defect("unsafe called safe", RECORDS, _record(lambda data: data["safety"]["verdict"] == "UNSAFE", safety__verdict="SAFE")),
    Defect("safe called unknown", RECORDS, _record(safety__verdict="UNKNOWN")),
    Defect("technical", RECORDS, _record(lambda data: data["confidence"]["technical"], confidence__technical__score=95.0)),
    Defect("overall", RECORDS, _record(confidence__overall=0.55)),
    Defect("level", RECORDS, _record(confidence__level="LOW_CONFIDENCE")),
    Defect("result", RECORDS, _record(_compared, result_validation__score=0.95)),
    Defect("result away, unsaid", RECORDS, _record(_compared, result_validation__status="UNAVAILABLE")),
    Defect("result missing", RECORDS, _record(_compared, result_validation=None)),
    Defect("label turned", RECORDS, _record(lambda data: data["label"], label__correct=_flip)),
    Defect("label missing", RECORDS, _record(lambda data: data["label"], label=None)),
    Defect("label's weight", RECORDS, _record(lambda data: data["label"], label__weight=lambda old: old * 2)),
    Defect("label's source", RECORDS, _record(lambda data: data["label"], label__source="CORRECTNESS")),
    Defect("sampling probability", RECORDS, _record(judge__sampling_probability=0.123)),
    Defect("verdict of a failing judge", RECORDS, _record(_judged, judge__relevance__status="judge_timeout")),
    Defect("verdict missing, unsaid", RECORDS, _record(_judged, judge__relevance=None, judge__decision="UNJUDGED")),
    Defect("relevance", RECORDS, _record(_judged, judge__relevance__score=0)),
    Defect("evaluation", RECORDS, _record(lambda data: data["evaluation"], evaluation__score=0.123)),
    Defect("passed", RECORDS, _record(lambda data: data["evaluation"], evaluation__passed=_flip)),
    Defect("disposition", RECORDS, _record(lambda data: data["disposition"]["action"] == "WITHHOLD", disposition__action="USE")),
    Defect("review", RECORDS, _record(review_required=_flip)),
    Defect("retrieval", DIFFERING, _record(lambda data: data["confidence"]["retrieval"], confidence__retrieval__score_gap=0.3)),
    Defect("diagnostics", DIFFERING, _record(_diagnosed, confidence__technical__diagnostics=[])),
    Defect("violations", DIFFERING, _record(lambda data: data["safety"]["violations"], safety__violations=[])),
    Defect("tables", DIFFERING, _record(structure__tables=["another"])),
    Defect("dead letter's bytes", LETTERS, _letter(value=lambda old: (old or b"") + b"!")),
    Defect("dead letter's key", LETTERS, _letter(key=lambda old: b"another")),
    Defect("dead letter's reason", LETTERS, _letter(headers=_header("reason", b"output_refused"))),
    Defect("dead letter's topic", LETTERS, _letter(headers=_header("topic", b"another"))),
    Defect("dead letter's digest", LETTERS, _letter(headers=lambda old: old + (("length", b"1"), ("sha256", b"00")))),
    Defect("good event as dead letter", LETTERS, _letter_for_record),
    Defect("advisory lost", ADVISORIES, _without("advisories")),
    Defect("advisory doubled", ADVISORIES, _twice("advisories")),
    Defect("advisory of nothing", ADVISORIES, _advisory(lambda data: data["event_id"], event_id=ANOTHER)),
    Defect("advisory's kind", ADVISORIES, _advisory(lambda data: data["kinds"][0] == "UNSAFE_QUERY", kinds=["LOW_RELEVANCE"])),
    Defect("advisory's level", ADVISORIES, _advisory(level="HIGH_CONFIDENCE")),
    Defect("advisory's value", ADVISORIES, _advisory(lambda data: data["kind"] != "CALIBRATION_DRIFT", value=0.123)),
    Defect("advisory's action", ADVISORIES, _advisory(lambda data: data["action"] == "WITHHOLD", action="USE")),
    Defect("advisory's key", ADVISORIES, _advisory(message={"key": lambda old: ANOTHER.encode()})),
    Defect("advisory's headers", ADVISORIES, _advisory(message={"headers": _header("kind", b"LOW_RELEVANCE")})),
    Defect("advisory that nothing raises", ADVISORIES, _record(
        lambda data: data["safety"]["verdict"] == "UNSAFE", confidence__overall=1.0, safety__verdict="SAFE")),
    Defect("drift untold", verdict.wrong_drift, lambda evidence: evidence.episodes.update({ANOTHER: True})),
    Defect("drift of no episode", verdict.wrong_drift, _advisory(kind="CALIBRATION_DRIFT", episode_id=ANOTHER)),
    Defect("a case too many", verdict.wrong_calibration, _cell(lambda sums: (sums[0] + 1, *sums[1:]))),
    Defect("calibration, last digit", verdict.wrong_calibration, _cell(
        lambda sums: (*sums[:5], sums[5] + decimal.Decimal("1e-20")))),
    Defect("cell missing", verdict.wrong_calibration, _without_cell),
    Defect("calibration late", verdict.wrong_calibration, lambda evidence: setattr(evidence, "counted_late", True)),
    Defect("feedback, first one counted", verdict.wrong_calibration, _last_remark_changed),
    Defect("feedback unheard", verdict.wrong_calibration, lambda evidence: evidence.verdicts.clear()),
    Defect("leaf lost", verdict.wrong_log, _log(lambda leaves: leaves[:-1])),
    Defect("leaf changed", verdict.wrong_log, _log(lambda leaves: [bytes(32), *leaves[1:]])),
    Defect("leaf twice", verdict.wrong_log, _log(lambda leaves: [leaves[0], *leaves])),
    Defect("leaves swapped", verdict.wrong_log, _log(lambda leaves: leaves[::-1])),
    Defect("log missing", verdict.wrong_log, lambda evidence: evidence.log.pop(_longest(evidence.log))),
    Defect("offset behind", verdict.uncommitted, _offset(lambda old: old - 1)),
    Defect("offset beyond", verdict.uncommitted, _offset(lambda old: old + 1)),
    Defect("open end", verdict.open_transactions, _open_end),
)


def _spoilt(evidence):
    """As deep as defects go; the records themselves are copied by those that change them."""
    fields = {field.name: getattr(evidence, field.name) for field in dataclasses.fields(evidence)}
    return dataclasses.replace(evidence, **{name: copy.copy(value) for name, value in fields.items()})


def _unfound(evidence):
    for defect in DEFECTS:
        spoilt = _spoilt(evidence)
        try:
            defect.spoil(spoilt)
        except (StopIteration, LookupError):
            yield f"{defect.name}: nothing to spoil"
            continue
        if not defect.check(spoilt):
            yield defect.name


# ---- at the sources ----


@contextlib.contextmanager
def _open_transaction(checker):
    topics = checker.rig.topics
    producer = confluent_kafka.Producer({"bootstrap.servers": checker.rig.servers.kafka.bootstrap,
                                         "transactional.id": f"{topics.name}-sabotage", "log_level": 2})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topics.advisory, b"{}", partition=0)
    producer.flush(30)
    yield
    producer.abort_transaction(30)


@contextlib.contextmanager
def _changed_row(checker):
    """A trifle more, in one bucket."""
    key = "width_s, bucket_start, application, model, prompt_version, label_source, level, bin"
    change = (f"UPDATE calibration_buckets SET weight_correct = weight_correct {{}} 1e-20 WHERE ({key}) = "
              f"(SELECT {key} FROM calibration_buckets ORDER BY {key} LIMIT 1)")
    checker.rig.servers.postgres.execute(change.format("+"), checker.rig.database)
    yield
    checker.rig.servers.postgres.execute(change.format("-"), checker.rig.database)


def _copy(checker, topic, message):
    checker.rig.servers.kafka.produce(topic, [{"value": message.value, "key": message.key, "partition": message.partition,
                                               "headers": list(message.headers)}])


def _complaints(checker, limit_s):
    """Of daemons that are not ready."""
    checker.problems = []
    checker.await_ready(limit_s)
    return checker.problems


def _lock_out(checker):
    """The broker takes the daemons' password no more."""
    checker.rig.login.think_up()
    checker.rig.login.enforce()
    checker.faults.cut_all()


def _let_in(checker):
    for instance in checker.rig.instances:
        checker.rig.login.write(instance)


def _unfound_while(checker, name, begin, end):
    """None of the daemons can go on from its beginning to its end."""
    begin()
    until(lambda: all(checker.readiness(instance) != "ready" for instance in checker.rig.instances), name)
    if len(_complaints(checker, SHORT_S)) != len(checker.rig.instances):
        yield name
    end()
    if _complaints(checker, READY_S):
        yield f"{name}, that is over, and the checker complains"


def _unfound_of_running_daemons(checker):
    rig, kept = checker.rig, checker.problems
    rights = {kind: Right(rig.topics, kind, 0) for kind in RIGHT_KINDS}
    group = rights["no right on group"]
    for instance in rig.instances:
        instance.start()
    yield from _unfound_while(checker, "daemons that are locked out", lambda: _lock_out(checker), lambda: _let_in(checker))
    yield from _unfound_while(checker, "daemons without a right", lambda: rig.topics.leave_rights(True, *group.left),
                              lambda: (until(lambda: group.is_named(checker.faults.pages()), f"nobody {group.text}"),
                                       rig.topics.leave_rights(False, *group.left)))
    yield from (f"{kind}, named is {other}" for kind, right in rights.items() for other in rights
                if right.is_named([f"this client {rights[other].text}; grant it"]) != (kind == other))
    for instance in rig.instances:
        instance.terminate()
    checker.problems = kept


def _unfound_at_the_sources(checker):
    """Spoils the topics for good: nothing else can be checked afterwards."""
    topics, found = checker.rig.topics, checker.evidence
    yield from _unfound_of_running_daemons(checker)
    with _open_transaction(checker):
        checker.read_outputs()
        if not verdict.open_transactions(found):
            yield "a transaction that is open"
    with _changed_row(checker):
        checker.read_outputs()
        if not verdict.wrong_calibration(found):
            yield "a row of the calibration that was changed"
        if not checker.verify_calibration():
            yield "a row of the calibration that was changed, by calibration --verify"
    checker.read_outputs()
    if verdict.problems_of(found) or checker.verify_calibration():
        yield "all is well again, and the checker complains"
    _copy(checker, topics.scored, reading.read(checker.rig.servers.kafka, topics.scored)[0])
    _copy(checker, topics.dead_letter, found.letters[0])
    _copy(checker, topics.advisory, found.advisories[0].message)
    checker.read_outputs()
    times = found.origins()
    if sum(times.values()) - len(times) != 2 or not verdict.lost_or_doubled(found) or not verdict.wrong_advisories(found):
        yield "a record, a dead letter and an advisory twice in their topics"
    _copy(checker, topics.input, dataclasses.replace(next(iter(found.inputs.values())), key=str(uuid.uuid4()).encode()))
    checker.read_inputs()
    checker.catch_up(SHORT_S)
    checker.await_commits(SHORT_S)
    if not found.late or not verdict.lost_or_doubled(found) or not verdict.uncommitted(found):
        yield "an input that nobody takes"


# ---- the daemons ----


def _unfound_of_daemons(checker):
    instance, problems = checker.rig.instances[0], checker.problems
    spoilers = {
        "a line of level error": lambda: instance.log_lines.append((0.0, "assayd: error: something is wrong")),
        "a line that is not the daemon's": lambda: instance.log_lines.append((0.0, "free(): invalid pointer")),
        "a crash": lambda: instance.exits.append((0.0, -signal.SIGSEGV)),
        "an end that nobody asked for": lambda: instance.exits.append((0.0, 0)),
        "a stop that crashed": lambda: checker.faults.stops.append((instance.number, -signal.SIGABRT, 1.0)),
        "a stop that did not end": lambda: checker.faults.stops.append((instance.number, "stuck", 60.0)),
        "a stop that took its time": lambda: checker.faults.stops.append((instance.number, EXIT_OK, checker.stop_limit_s + 0.1)),
        "a busy processor": lambda: setattr(instance, "_busiest_s", 10),
        "a password that was not read": lambda: checker.rig.login.changes.append((instance, time.monotonic())),
        "a password in the journal": lambda: instance.log_lines.append((0.0, f"assayd: info: {checker.rig.login.passwords[0]}")),
    }
    for name, spoil in spoilers.items():
        checker.problems = []
        kept = list(instance.log_lines), list(instance.exits), list(checker.faults.stops), instance._busiest_s
        changes = list(checker.rig.login.changes)
        spoil()
        checker.check_daemons()
        if not checker.problems:
            yield name
        instance.log_lines, instance.exits, checker.faults.stops, instance._busiest_s = kept
        checker.rig.login.changes = changes
    checker.problems = problems


# ---- the input topic ----


TOLD = ("partition 1 of {1} is stopped: the events from offset {2} to 9 were deleted before they were read; run: "
        "kafka-consumer-groups.sh --bootstrap-server h:1 --group {0} --topic {1}:1 --reset-offsets --to-earliest --execute, start them")


def _unfound_of_the_input(checker):
    """A new partition that nobody reads; deleted records of which the wrong thing is said."""
    faults, topics, kept = checker.faults, checker.rig.topics, (checker.problems, checker.unread_s, checker.faults.problems)
    checker.problems, inputs = [], checker.evidence.inputs
    sent = dataclasses.replace(next(iter(inputs.values())), timestamp_ms=0)
    checker.evidence.inputs = {**inputs, (checker.plan.input_partitions, 0): sent}
    checker.check_new_partitions()
    if not checker.problems:
        yield "a new partition that nobody reads"
    checker.evidence.inputs = inputs
    texts = {"": (topics.name, topics.input, 5), "another range": (topics.name, topics.input, 6),
             "another group": ("another", topics.input, 5)}
    for name, places in texts.items():
        faults.problems = []
        faults.check_told(TOLD.format(*places), "stopped", 1, 5, 10)
        if bool(faults.problems) != bool(name):
            yield f"deleted records, told is {name or 'what is true, and the checker complains'}"
    faults.problems = []
    faults.check_told(TOLD.format(*texts[""]).partition("; run")[0], "stopped", 1, 5, 10)
    if not faults.problems:
        yield "deleted records, told is no command"
    checker.problems, checker.unread_s, faults.problems = kept


def unfound(checker):
    """The defects that the checker of a schedule that has passed does not find."""
    return [*_unfound(checker.evidence), *_unfound_of_daemons(checker), *_unfound_of_the_input(checker),
            *_unfound_at_the_sources(checker)]
