"""What happens to the input topic as a whole: events that are deleted before they were read, another topic of its name."""

import contextlib
import random
import re
import time

import confluent_kafka

import evidence
from group_offsets import GroupOffsets

FEWEST_UNREAD = 4  # of a partition of which some are deleted
PATIENCE_S = 120.0
RESET = re.compile(r"run: kafka-consumer-groups\.sh --bootstrap-server \S+ --group (\S+) --topic (\S+):(\d+) "
                   r"--reset-offsets --to-earliest --execute, start them")
DELETED = re.compile(r"the events from offset (\d+) to (\d+) were deleted before they were read")


def until(condition, what, patience_s=PATIENCE_S):
    """What the condition gives once it gives something."""
    deadline = time.monotonic() + patience_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not within {patience_s:g} s")
        time.sleep(0.2)
    return found


class Upheavals:
    """The part of the faults that needs all daemons and the load at once."""

    # ---- everybody ----

    @contextlib.contextmanager
    def _everybody_down(self, how):
        """All daemons are stopped, killed or asleep, and there is no guest; for longer than their session if they are
        started again."""
        end = {"stopped": self.stop, "killed": lambda instance: instance.kill(), "asleep": lambda instance: instance.freeze()}
        for instance in self.rig.instances:
            end[how](instance)
        try:
            yield
        finally:
            for instance in self.rig.instances:
                if how == "asleep":
                    instance.thaw()
                else:
                    instance.start()

    def _group(self):
        return contextlib.closing(GroupOffsets(self.servers.kafka.bootstrap, self.rig.topics.name, self.rig.topics.input))

    def _committed(self):
        """{partition: (offset, metadata)}; the offset is negative where there is none."""
        with self._group() as group:
            return group.fetch(self.plan.input_partitions)

    def _marks(self, partition):
        """The first offset of the partition and its end."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.servers.kafka.bootstrap, "group.id": "marks", "log_level": 2})
        try:
            return consumer.get_watermark_offsets(confluent_kafka.TopicPartition(self.rig.topics.input, partition), timeout=30)
        finally:
            consumer.close()

    def _ends(self):
        return {partition: self._marks(partition)[1] for partition in range(self.plan.input_partitions)}

    def _messages(self):
        """What the input holds and what was deleted of it."""
        found = evidence.read(self.servers.kafka, self.rig.topics.input, "read_uncommitted")
        return {**self.load.kept, **{message.place: message for message in found}}

    # ---- deleted records ----

    def _deleted_records(self, fault, how="stopped"):
        with self._broker:
            until(lambda: any(offset >= 0 for offset, _ in self._committed().values()), "nothing is committed")
            with self._everybody_down(how):
                partition, first, before = self._delete_unread(fault)
            began = time.monotonic()
            line = until(lambda: self._told_of(partition), f"nobody says that partition {partition} is stopped")
            self.rig.note(f"told after {time.monotonic() - began:.1f} s: {line}")
            self.check_told(line, how, partition, first, before)
            with self._everybody_down("stopped"):
                time.sleep(self.plan.session_s + 1.0)
                self._mend(line, partition)

    def _deleted_records_killed(self, fault):
        self._deleted_records(fault, "killed")

    def _deleted_records_asleep(self, fault):
        self._deleted_records(fault, "asleep")

    def _delete_unread(self, fault):
        """Deletes what nobody has read of a partition, up to some that were sent while everybody was down, so that
        none behind them is finished; (partition, the first that is lost, the first that is left)."""
        pick = random.Random(f"deleted {self.plan.seed} {fault.at_s}")
        ends = self._ends()
        time.sleep(fault.for_s)
        committed = self._committed()

        def unread():
            later = self._ends()
            return {partition: (ends[partition], end) for partition, end in later.items()
                    if partition in ends and committed[partition][0] >= 0 and end >= ends[partition] + FEWEST_UNREAD}

        choice = until(unread, "no partition has a commit and unread events")
        partition = pick.choice(sorted(choice))
        least, end = choice[partition]
        before, first = pick.randint((least + end) // 2, end), committed[partition][0]
        messages = self._messages()
        self.load.kept.update((place, message) for place, message in messages.items()
                              if place[0] == partition and place[1] < before)
        self.load.gone.update((partition, offset) for offset in range(first, before))
        self.servers.kafka.delete_records(self.rig.topics.input, partition, before)
        self.rig.note(f"partition {partition}: offsets {first} to {before - 1} are deleted unread")
        return partition, first, before

    def _told_of(self, partition):
        """What /readyz of the instance that has it says of the partition; the metrics and the status say so, too."""
        for instance in self.rig.instances:
            with contextlib.suppress(OSError, ValueError):
                code, text = instance.daemon.get("/readyz", timeout=5)
                line = next((line for line in text.splitlines()
                             if f"partition {partition} of {self.rig.topics.input} is stopped" in line), "")
                metrics = instance.daemon.get("/metrics", timeout=5)[1]
                if code == 503 and line and re.search(r'^assayd_partitions\{state="stopped"\} [1-9]', metrics, re.M) and \
                        f"partition {partition} of" in instance.status():
                    return line
        return None

    def check_told(self, line, how, partition, first, before):
        told, reset = DELETED.search(line), RESET.search(line)
        wanted = (self.rig.topics.name, self.rig.topics.input, str(partition))
        if not reset or reset.groups() != wanted:
            self.problems.append(f"no command that mends partition {partition}: {line}")
        # who slept may have read more of them, or may not have committed
        if not told or int(told[2]) != before - 1 or (int(told[1]) < first if how == "asleep" else int(told[1]) != first):
            self.problems.append(f"offsets {first} to {before - 1} are deleted, told is: {line}")

    def _mend(self, line, partition):
        """Does what the command in that line does: no tool of Kafka's own is here."""
        with self._group() as group:
            group.commit({partition: (self._marks(partition)[0], "")})
        self.rig.note(f"mended: {line[-80:]}")

    # ---- a topic that is made again ----

    def _recreated_topic(self, fault, how="running"):
        """Of the former topic all comes out that was committed as finished, the rest once at most."""
        down = how != "running"
        with self._broker, self._everybody_down(how) if down else contextlib.nullcontext():
            time.sleep(fault.for_s)
            with self.load.paused():
                messages, committed = self._messages(), self._committed()
                self.load.gone = {place for place in self.load.gone if place[0] < 0} | {
                    evidence.former_place(len(self.load.former), place) for place in messages
                    if place in self.load.gone or place[1] >= max(0, committed[place[0]][0])}
                self.servers.kafka.recreate_topic(self.rig.topics.input, self.plan.input_partitions)
                self.load.begin_topic(messages)
            self.rig.note(f"the input of {len(messages)} events is made again, {len(self.load.gone)} were not finished")
            if how == "stopped":
                with self._group() as group:  # a broker that is slow to clean up keeps them
                    group.commit({number: entry for number, entry in committed.items() if entry[0] >= 0})
            if down:
                time.sleep(fault.for_s)  # there is more in it than was read of the former one, or not

    def _recreated_topic_stopped(self, fault):
        self._recreated_topic(fault, "stopped")

    def _recreated_topic_killed(self, fault):
        self._recreated_topic(fault, "killed")

    def _recreated_topic_asleep(self, fault):
        self._recreated_topic(fault, "asleep")
