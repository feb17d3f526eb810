"""Carries out the faults of a plan, each in a thread of its own."""

import contextlib
import hashlib
import threading
import time

from judge_server import Answer
from plan import GUEST, KINDS

STATUS_PATIENCE_S = 5.0  # an outage has to be named by then


class Faults:
    def __init__(self, rig):
        self.rig, self.plan, self.servers = rig, rig.plan, rig.servers
        self.problems = []
        self.windows = []  # (kind, who, begin, end), seconds of the schedule
        self.stops = []  # (daemon, exit status, seconds)
        # starts and stops may take longer than planned, into the next fault
        self._broker = threading.Lock()
        self._turns = {lane: threading.Lock() for lane in ("guest", "postgres", "targets")}
        self._daemons = [threading.Lock() for _ in rig.instances]
        self._answer_as_planned()

    def run(self):
        """Returns when the last fault is over and undone."""
        threads = [threading.Thread(target=self._inflict, args=(fault,), daemon=True) for fault in self.plan.faults]
        for thread in threads:
            thread.start()
        time.sleep(self.plan.seconds)
        for thread in threads:
            thread.join(120)
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
        return self._turns.get(lane, contextlib.nullcontext())

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

    # ---- broker ----

    def _broker_outage(self, end, fault):
        with self._broker:
            self._break_broker(end, fault)

    def _break_broker(self, end, fault):
        end()
        watched = [instance for instance in self.rig.instances if instance.is_ready() and not instance.frozen]
        starts = {instance: instance.started_at for instance in watched}
        time.sleep(fault.for_s)
        if fault.for_s > STATUS_PATIENCE_S:
            for instance in watched:
                if instance.is_ready() and not instance.frozen and instance.started_at == starts[instance]:
                    self._check_status(instance)
        self.servers.kafka.resume()

    def _check_status(self, instance):
        status = instance.status()
        if "Kafka" not in status and "Stopping" not in status:
            self.problems.append(f"daemon {instance.number} says \"{status}\" while the broker is away")

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

    def _topic_away(self, fault):
        """The scored topic takes nothing: nobody may write to it. (More replicas than there are cannot be asked for: of a
        topic with one, brokers since 3.7 take min.insync.replicas = 2 for 1.)"""
        self.rig.topics.allow_reading_only(self.rig.topics.scored, True)
        time.sleep(fault.for_s)
        self.rig.topics.allow_reading_only(self.rig.topics.scored, False)

    def _topic_small(self, fault):
        """The scored topic takes next to nothing: what is refused becomes a dead letter."""
        self.rig.topics.configure(self.rig.topics.scored, max_message_bytes=1500)
        time.sleep(fault.for_s)
        self.rig.topics.configure(self.rig.topics.scored)

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
