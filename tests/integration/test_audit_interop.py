"""The tamper-evident log against two independent Go libraries: what one writes the others verify, and all write the same."""

import base64
import filecmp
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest

from test_audit_log import Log, command, leaf_hash, send

OTHERS = pathlib.Path(__file__).resolve().parents[1] / "harness" / "oracles" / "transparency"
ORIGIN = "log.example/assayd/scored-queries/3"
SEED = bytes(range(32)).hex()
SIZE = 70_000  # three levels of tiles
GAP, BEGINS_AGAIN = 1, 2
MARKS = {0, 5, 12, 8973}  # proofs of some of these are tampered with below
GO_VERSION = (1, 25)  # what the libraries want


def run(program, *arguments, data=None, environment=None, cwd=None):
    return subprocess.run([program, *map(str, arguments)], input=data, capture_output=True, text=True, check=False,
                          timeout=600, env=environment, cwd=cwd)


@pytest.fixture(scope="session")
def others(tmp_path_factory):
    """The Go program; skipped by name where Go is not here or its modules cannot be fetched, since Debian 12 has neither."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go:
        pytest.skip("no Go is installed")
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-trimpath", "GOWORK": "off"}
    version = run(go, "env", "GOVERSION", environment=environment).stdout.strip()
    numbers = re.match(r"go(\d+)\.(\d+)", version)
    if not numbers or tuple(map(int, numbers.groups())) < GO_VERSION:
        pytest.skip(f"Go is too old: {version or 'of unknown version'}")
    fetched = run(go, "mod", "download", environment=environment, cwd=OTHERS)
    if fetched.returncode != 0:
        pytest.skip(f"Go's modules cannot be fetched: {fetched.stderr.strip().splitlines()[-1:]}")
    program = tmp_path_factory.mktemp("go") / "transparency"
    # Without optimizing: its standard library is compiled, too, where the cache is empty.
    built = run(go, "build", "-gcflags=all=-N -l", "-o", program, ".", environment=environment, cwd=OTHERS)
    assert built.returncode == 0, built.stderr
    return program


@pytest.fixture(scope="session")
def ours():
    """audit_tool is built beside the other tools of the harness."""
    return pathlib.Path(os.environ["ASSAYD_TRIAL_BROKER"]).with_name("audit_tool")


def records():
    """Offsets with gaps, as transactions leave them; null and empty keys and values, and marks of both kinds, among them."""
    chance, offset, lines = random.Random(17), 0, []
    for number in range(SIZE):
        if number in MARKS or number > 1000 and chance.random() < 0.01:
            kind, start = chance.choice((GAP, BEGINS_AGAIN)), offset
            offset = offset + chance.randrange(1, 2**40) if kind == GAP else chance.randrange(100)
            reason = "" if kind == GAP else chance.choice(("", "the topic was made anew", "Thema neu: ä")).encode().hex()
            lines.append(f"mark {kind} {start} {offset} {reason}\n")
            continue
        offset += chance.choice((1, 1, 1, 2, 40))
        key = chance.choice(("-", "", chance.randbytes(chance.randrange(1, 20)).hex()))
        value = chance.choice(("-", "", chance.randbytes(chance.randrange(1, 60)).hex()))
        lines.append(f"{offset} {key} {value}\n")
    return "".join(lines)


@pytest.fixture(scope="session")
def logs(ours, others, tmp_path_factory):
    """Folders of the same log, written by each."""
    data, folders = records(), {}
    for program in (ours, others):
        folders[program] = tmp_path_factory.mktemp(program.name)
        done = run(program, "write", folders[program], ORIGIN, SEED, SIZE, data=data)
        assert done.returncode == 0, done.stderr
    return folders


def names(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_all_write_the_same_bytes(ours, others, logs):
    """Keys, leaves, checkpoints with their signatures, proofs and tiles."""
    files = names(logs[ours])
    assert files == names(logs[others])
    assert len([file for file in files if file.parts[0] == "tile"]) == 274 + 2 + 1
    equal, different, failed = filecmp.cmpfiles(logs[ours], logs[others], files, shallow=False)
    assert not different and not failed and len(equal) == len(files)


def test_each_verifies_what_the_other_wrote(ours, others, logs):
    inclusions = sum(range(34)) + len(range(0, SIZE, 997))
    consistencies = sum(range(1, 35)) + 35
    for program, writer in ((others, ours), (ours, others)):
        done = run(program, "verify", logs[writer], ORIGIN)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"35 checkpoints, {inclusions + consistencies} proofs\n"


def root_of(folder, size):
    return (folder / f"checkpoint.{size}").read_text().splitlines()[2]


@pytest.mark.parametrize("name", ["inclusion.8973.70000", "consistency.13.70000", "inclusion.5.13", "consistency.6.13"])
def test_all_refuse_what_was_tampered_with(ours, others, logs, name, tmp_path):
    """One bit of each line: hashes of the proof, root, size, signature; another leaf, origin and key."""
    chance = random.Random(name)
    kind, position, _ = name.split(".")
    text = (logs[ours] / name).read_bytes()
    vkey = (logs[ours] / "vkey").read_text()
    if kind == "inclusion":
        leaf = bytes.fromhex((logs[ours] / "leaves").read_text().splitlines()[int(position)])
        start = base64.b64encode(hashlib.sha256(b"\0" + leaf).digest()).decode()
    else:
        start = root_of(logs[ours], position)
    file = tmp_path / "proof"

    def opened(data, origin=ORIGIN, key=vkey, first=start):
        file.write_bytes(data)
        return [run(program, "open", file, origin, key, first).returncode == 0 for program in (ours, others)]

    assert opened(text) == [True, True]
    places, at = [], 0
    for line in text.splitlines(keepends=True):
        if len(line) > 1:  # not the last digit of base 64, of which Go ignores bits
            places.append(at + chance.randrange(max(1, len(line) - 4)))
        at += len(line)
    for place in places:
        changed = bytearray(text)
        changed[place] ^= 1
        assert opened(bytes(changed)) == [False, False], (place, bytes(changed))
    assert opened(text, first=root_of(logs[ours], 7)) == [False, False]
    assert opened(text, origin=ORIGIN + "1") == [False, False]
    (tmp_path / "other").mkdir()
    other_key = run(ours, "write", tmp_path / "other", ORIGIN, SEED[2:] + "00", 0, data="")
    assert other_key.returncode == 0, other_key.stderr
    assert opened(text, key=(tmp_path / "other" / "vkey").read_text()) == [False, False]


def test_others_verify_what_the_daemon_proves(others, rig, tmp_path):
    """Checkpoints that it has signed and published, and proofs of records that lead to them."""
    log = Log(rig, tmp_path)
    log.start(partitions=2)
    send(log, 700)
    log.await_logged(700)
    log.await_signed()
    rig.daemon.terminate()
    published = log.file.read_text()
    messages = rig.kafka.read(rig.topics.scored, None, settle=2)
    for message in messages[::100]:
        done = command("prove", message.key().decode(), "--output", str(tmp_path), config=rig.daemon.config_file)
        assert done.returncode == 0, done
        file = tmp_path / f"{rig.topics.scored}-{message.partition()}-{message.offset()}.tlog-proof"
        assert file.read_text().split("\n\n", 1)[1] in published
        origin = f"example.com/assayd/{rig.topics.scored}/{message.partition()}"
        leaf = leaf_hash(message.offset(), message.key(), message.value())
        opened = run(others, "open", file, origin, log.key, base64.b64encode(leaf).decode())
        assert opened.returncode == 0, opened.stderr
        other = leaf_hash(message.offset() + 1, message.key(), message.value())
        assert run(others, "open", file, origin, log.key, base64.b64encode(other).decode()).returncode != 0
