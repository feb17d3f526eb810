"""Carries out the faults of a plan, each in a thread of its own."""

import contextlib
import hashlib
import random
import threading
import time

import confluent_kafka

from judge_server import Answer
from plan import GUEST, KINDS, RESTART_KINDS, UPHEAVALS
from rig import PATIENCE_S, Right
from upheavals import Upheavals, until

NAMED_AFTER_S = 5.0  # an outage that lasts longer has to be named
UNDONE_S = 600.0  # faults wait for each other
STATUS_PATIENCE_S = 60.0  # by then, however busy the machine is


class Faults(Upheavals):
    def __init__(self, rig, load):
        self.rig, self.plan, self.servers, self.load = rig, rig.plan, rig.servers, load
        self.problems = []
        self.windows = []  # (kind, who, begin, end), seconds of the schedule
        self.stops = []  # (daemon, exit status, seconds)
        # starts and stops may take longer than planned, into the next fault
        self._broker = threading.Lock()
        self._turns = {lane: threading.Lock() for lane in ("guest", "postgres", "targets", "input", "login", "right")}
        self._daemons = [threading.Lock() for _ in rig.instances]
        self._answer_as_planned()

    def run(self):
        """Returns when the last fault is over and undone."""
        threads = [threading.Thread(target=self._inflict, args=(fault,), daemon=True) for fault in self.plan.faults]
        for thread in threads:
            thread.start()
        time.sleep(self.plan.seconds)
        for thread in threads:
            thread.join(UNDONE_S)
            if thread.is_alive():
                self.problems.append("a fault could not be undone")
        self.servers.heal()

    def _inflict(self, fault):
        time.sleep(max(0.0, self.rig.began + fault.at_s - time.monotonic()))
        action = getattr(self, "_" + fault.kind.replace(", ", "_").replace(" ", "_"))
        begin = time.monotonic() - self.rig.began
        self.rig.note(f"begins: {fault.kind} {'' if fault.who is None else fault.who}")
        try:
            with self._turn(fault):
                action(fault)
        except Exception as error:  # the harness itself: a schedule with half of its faults proves nothing
            self.problems.append(f"harness: {fault.kind}: {type(error).__name__} {error}")
        self.rig.note(f"over:   {fault.kind} {'' if fault.who is None else fault.who}")
        self.windows.append((fault.kind, fault.who, begin, time.monotonic() - self.rig.began))

    def _turn(self, fault):
        lane = KINDS[fault.kind][1]
        if lane == "daemon":
            return self._daemons[fault.who]
        if fault.kind in UPHEAVALS or fault.kind in RESTART_KINDS:
            return self._all_turns()
        return self._turns.get(lane, contextlib.nullcontext())

    @contextlib.contextmanager
    def _all_turns(self):
        with contextlib.ExitStack() as stack:
            for turn in (self._turns["input"], self._turns["guest"], *self._daemons):
                stack.enter_context(turn)
            yield

    # ---- daemons ----

    def _kill(self, fault):
        instance = self.rig.instances[fault.who]
        instance.kill()
        time.sleep(fault.for_s)
        instance.start()

    _kill_away = _kill

    def stop(self, instance):
        status, seconds = instance.terminate()
        self.stops.append((instance.number, status, seconds))
        self.rig.note(f"daemon {instance.number} stopped with status {status} after {seconds:.1f} s")

    def _terminate(self, fault):
        instance = self.rig.instances[fault.who]
        self.stop(instance)
        time.sleep(fault.for_s)
        instance.start()

    _terminate_away = _terminate

    def _refused_stop(self, fault):
        """Nobody listens where the broker was, since some time or since just now."""
        link, instance = self.servers.links["kafka"][fault.who], self.rig.instances[fault.who]
        link.refuse()
        time.sleep(fault.for_s)
        self.stop(instance)
        link.accept()
        instance.start()

    def _freeze(self, fault):
        instance = self.rig.instances[fault.who]
        instance.freeze()
        time.sleep(fault.for_s)
        instance.thaw()

    _freeze_outlast = _freeze

    def _zombie(self, fault):
        """Frozen while the slowed broker makes it likely that a transaction is half done."""
        link = self.servers.links["kafka"][fault.who]
        link.slow(fault.delay_s)
        time.sleep(1.0 + fault.delay_s * 2)
        self._freeze(fault)
        link.slow(0)

    def _reload(self, fault):
        self.rig.instances[fault.who].hang_up()

    def _guest(self, fault):
        guest = self.rig.new_guest()
        guest.start()
        time.sleep(fault.for_s)
        self.stop(guest)

    def _guest_killed(self, fault):
        guest = self.rig.new_guest()
        guest.start()
        time.sleep(fault.for_s)
        guest.kill()

    # ---- connections ----

    def _link(self, fault):
        return self.servers.links[fault.kind.split()[0]][fault.who if fault.who is not None else 0]

    def _kafka_cut(self, fault):
        self._link(fault).cut()

    _database_cut = _target_cut = _kafka_cut

    def _kafka_cut_again_and_again(self, fault):
        deadline = time.monotonic() + fault.for_s
        while time.monotonic() < deadline:
            self._link(fault).cut()
            time.sleep(0.4)

    def _kafka_slow(self, fault):
        self._link(fault).slow(fault.delay_s)
        time.sleep(fault.for_s)
        self._link(fault).slow(0)

    _database_slow = _target_slow = _kafka_slow

    def _kafka_held(self, fault):
        self._link(fault).hold()
        time.sleep(fault.for_s)
        self._link(fault).release()

    _database_held = _target_held = _kafka_held

    def _kafka_forgotten(self, fault):
        self._link(fault).forget()

    # ---- login ----

    def cut_all(self):
        """No connection to the broker outlives it."""
        for link in self.servers.links["kafka"]:
            link.cut()

    def _hand_out(self, fault):
        """Every daemon's file gets the password within the time, one after the other. Yields who is next, since when it
        waits, and when it was started."""
        pick = random.Random(f"files {self.plan.seed} {fault.at_s}")
        locked_out = {instance: (time.monotonic(), instance.started_at) for instance in self.rig.everybody()}
        waits = sorted(pick.uniform(0.0, fault.for_s) for _ in locked_out)
        began = time.monotonic()
        for wait, instance in zip(waits, pick.sample(list(locked_out), len(locked_out))):
            time.sleep(max(0.0, began + wait - time.monotonic()))
            yield instance, *locked_out[instance]
            self.rig.login.hand_out(instance, in_place=pick.random() < 0.3)
            self.rig.note(f"daemon {instance.number} gets the password")

    def _rotated_password(self, fault):
        """Whoever connects before its file has the fresh one is not let in."""
        self.rig.login.think_up()
        self.rig.login.enforce()
        self.cut_all()
        for instance, since, started_at in self._hand_out(fault):
            if time.monotonic() - since > NAMED_AFTER_S and instance.daemon.running():
                self._check_status(instance, started_at)

    def _rotated_password_file_first(self, fault):
        """Whoever connects before the broker takes the fresh one is not let in."""
        self.rig.login.think_up()
        for _ in self._hand_out(fault):
            self.cut_all()
        self.rig.login.enforce()
        self.cut_all()

    # ---- broker ----

    def _broker_outage(self, end, fault):
        with self._broker:
            self._break_broker(end, fault)

    def _break_broker(self, end, fault):
        end()
        watched = [instance for instance in self.rig.instances if instance.is_ready() and not instance.frozen]
        starts = {instance: instance.started_at for instance in watched}
        time.sleep(fault.for_s)
        if fault.for_s > NAMED_AFTER_S:
            for instance in watched:
                self._check_status(instance, starts[instance])
        self.servers.kafka.resume()

    def _check_status(self, instance, started_at):
        """An instance that runs on has to name the outage, sooner or later."""
        deadline = time.monotonic() + STATUS_PATIENCE_S
        while instance.is_ready() and not instance.frozen and instance.started_at == started_at:
            status = instance.status()
            if "Kafka" in status or "Stopping" in status:
                return
            if time.monotonic() > deadline:
                self.problems.append(f"daemon {instance.number} says \"{status}\" while the broker is away")
                return
            time.sleep(0.2)

    def _broker_kill(self, fault):
        self._broker_outage(self.servers.kafka.kill, fault)

    _broker_kill_away = _broker_kill

    def _broker_halt(self, fault):
        self._broker_outage(self.servers.kafka.halt, fault)

    def _broker_full(self, fault):
        def fill():
            self.servers.fill_broker_disk()
            time.sleep(2.0)
            self.servers.kafka.kill()  # what is left of it

        self._broker_outage(fill, fault)

    def _new_partitions(self, _fault):
        """The input gets more of them, which are written to at once."""
        wanted = self.plan.input_partitions + 2
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                self.servers.kafka.add_partitions(self.rig.topics.input, wanted)
                self.plan.input_partitions = wanted
                return
            except (confluent_kafka.KafkaException, AssertionError):
                time.sleep(1)  # the broker is away
        raise RuntimeError("the input cannot be given partitions")

    def _new_partitions_stopped(self, fault, how="stopped"):
        """Nobody is there who would notice; who comes back within its session does so without a rebalance."""
        with self._everybody_down(how):
            time.sleep(fault.for_s)
            self._new_partitions(fault)

    def _new_partitions_killed(self, fault):
        self._new_partitions_stopped(fault, "killed")

    def _topic_away(self, fault):
        """The scored topic takes nothing: nobody may write to it. (More replicas than there are cannot be asked for: of a
        topic with one, brokers since 3.7 take min.insync.replicas = 2 for 1.)"""
        self.rig.topics.allow_reading_only(self.rig.topics.scored, True)
        time.sleep(fault.for_s)
        self.rig.topics.allow_reading_only(self.rig.topics.scored, False)

    def _topic_small(self, fault):
        """The scored topic takes next to nothing, compressed as it is: what is refused becomes a dead letter."""
        self.rig.topics.configure(self.rig.topics.scored, max_message_bytes=400)
        time.sleep(fault.for_s)
        self.rig.topics.configure(self.rig.topics.scored)

    def pages(self):
        """What /readyz of the daemons says."""
        for instance in self.rig.instances:
            with contextlib.suppress(OSError, ValueError):
                yield instance.daemon.get("/readyz", timeout=5)[1]

    def _no_right(self, fault):
        """Whoever needs it says so, and goes on by itself when it is granted."""
        right = Right(self.rig.topics, fault.kind, random.Random(f"right {self.plan.seed}").randrange(self.plan.daemons))
        self.rig.topics.leave_rights(True, *right.left)
        try:
            time.sleep(fault.for_s)
            if fault.for_s > NAMED_AFTER_S and (self.plan.delivery == "exactly_once" or "transactional" not in right.text):
                began = time.monotonic()
                until(lambda: right.is_named(self.pages()), f"nobody {right.text}", PATIENCE_S)
                self.rig.note(f"named after {fault.for_s + time.monotonic() - began:.1f} s: {right.text}")
        finally:
            self.rig.topics.leave_rights(False, *right.left)

    _no_right_on_input = _no_right_on_group = _no_right_on_advisory = _no_right
    _no_right_on_dead_letter = _no_right_on_transactional_id = _no_right

    # ---- the others ----

    def _server_of(self, fault):
        return self.servers.target if fault.kind.startswith("target") else self.servers.postgres

    def _postgres_kill(self, fault):
        self._server_of(fault).kill()
        time.sleep(fault.for_s)
        self._server_of(fault).resume()

    _target_kill = _postgres_kill

    def _postgres_halt(self, fault):
        self._server_of(fault).halt()
        time.sleep(fault.for_s)
        self._server_of(fault).resume()

    _target_halt = _postgres_halt

    def _postgres_hung(self, fault):
        """It takes connections and never says anything."""
        stopped = self.servers.freeze(self._server_of(fault))
        time.sleep(fault.for_s)
        self.servers.thaw(stopped)

    _target_hung = _postgres_hung

    def _answer_as_planned(self):
        delays = self.plan.judge_delays_s

        def answer(prompt):
            digest = hashlib.blake2b(prompt.encode(), digest_size=2).digest()
            return Answer(score=100 - digest[0] % 40, delay_s=delays[digest[1] % len(delays)],
                          verdict="incorrect" if digest[0] % 5 == 0 else "correct")

        self.servers.judge.answer = answer

    def _judge_errors(self, fault):
        self.servers.judge.answer = lambda prompt: Answer(status=500)
        time.sleep(fault.for_s)
        self._answer_as_planned()

    def _judge_hangs(self, fault):
        until = time.monotonic() + fault.for_s
        self.servers.judge.answer = lambda prompt: Answer(delay_s=max(0.0, until - time.monotonic()))
        time.sleep(fault.for_s)
        self._answer_as_planned()

    def _judge_away(self, fault):
        self.servers.judge.halt()
        time.sleep(fault.for_s)
        self.servers.judge.resume()

    def _judge_cut(self, fault):
        for link in self.servers.links["judge"]:
            link.cut()

    def happened(self, *kinds, who=None):
        """Whether one of these faults was part of the schedule (for that daemon)."""
        return any(kind in kinds and (who is None or daemon in (who, None, GUEST))
                   for kind, daemon, _, _ in self.windows)
