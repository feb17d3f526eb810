"""A MongoDB target, and the server that stands for one here."""

import pathlib
import subprocess
import sys

import pymongo
import pytest

import servers

OWNER = """
import sys
sys.path.insert(0, {folder!r})
import servers
server = servers.MongoDB()
print(server.dir, server.pid, server.port, flush=True)
sys.stdin.read()
"""


def test_the_server_reads_and_writes(mongodb):
    client = mongodb.connect()
    client.trial.people.insert_many([{"_id": 1, "name": "Ann"}, {"_id": 2, "name": "Bo"}])
    assert client.trial.people.find_one({"name": "Bo"}) == {"_id": 2, "name": "Bo"}
    for last in ({"$out": "copied"}, {"$merge": {"into": "merged"}}):
        client.trial.people.aggregate([{"$match": {"_id": 1}}, last])
    assert client.trial.copied.count_documents({}) == client.trial.merged.count_documents({}) == 1
    client.drop_database("trial")
    client.close()


def test_the_server_goes_with_its_owner(mongodb):
    """Whose end nobody announces."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER.format(folder=str(servers.HERE))], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    with owner:
        folder, pid, port = owner.stdout.readline().split()
        assert pathlib.Path(folder).exists() and pathlib.Path(f"/proc/{pid}/exe").exists()
        owner.kill()
        owner.wait()
    subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], timeout=60, check=True)
    with pytest.raises(pymongo.errors.ServerSelectionTimeoutError):
        pymongo.MongoClient("127.0.0.1", int(port), serverSelectionTimeoutMS=300).trial.people.find_one()
