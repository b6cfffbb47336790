"""Submitted agents: the queue, its versions, and what confines them."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.arena import boxed, hosted
from dovetail_experiments.arena.description import SubmissionLimits
from dovetail_experiments.arena.hosted import SubmittedAgents
from dovetail_experiments.arena.sandbox import Sandbox
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_experiments.arena.submissions import packed
from dovetail_experiments.stages.processes import Processes

from .programs import Programs, port, until

LIMITS = SubmissionLimits()
AGENT = """
from dovetail import Agent

class Base(Agent):
    def step(self, decision):
        return decision.legal[0]

class Middle(Base):
    def step(self, decision):
        return min(decision.legal, key=lambda column: abs(column - 3))
"""
FILES = {"mine.py": AGENT.encode()}
ARENA = """
name = "test"
bind = "tcp://127.0.0.1:{port}"

[submissions]
memory = 700

[[ladders]]
name = "four"
game = "connect_four"
configuration = {{ rows = 4, columns = 4, connect = 3 }}

[[ladders.baselines]]
name = "random"
type = "random"
"""


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ArenaStore]:
    with ArenaStore(tmp_path / "arena" / FILE, create=True) as made:
        made.invite("alice")
        yield made


def hostile() -> dict[str, bytes]:
    """Archives that zipfile opens, and then fails to read in a way of its own."""
    good = zipped({"agent.py": AGENT.encode() * 9})
    listed = good.index(b"PK\x01\x02")

    def changed(*bytes_at: tuple[int, int]) -> bytes:
        made = bytearray(good)
        for at, value in bytes_at:
            made[at] = value
        return bytes(made)

    found = {
        "encrypted": changed((6, 1), (listed + 8, 1)),
        "of a later version": changed((listed + 6, 99)),
        "of an unknown method": changed((8, 97), (listed + 10, 97)),
        "damaged": changed(*((38 + at, 0xFF) for at in range(4))),
        "cut": good[:listed] + good[listed:][:30],
    }
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", method) as archive:
            archive.writestr("agent.py", AGENT)
        found[f"of method {method}"] = made.getvalue()
    return found


# -- the queue ------------------------------------------------------------------------------------


@pytest.mark.fast
def test_an_upload_is_a_python_file_or_a_folder_of_limited_size() -> None:
    assert packed(FILES, LIMITS) == ("py", AGENT.encode())
    kind, data = packed({"bot/agent.py": b"", "bot/weights.bin": b"1"}, LIMITS)
    assert (kind, zipfile.ZipFile(io.BytesIO(data)).namelist()) == (
        "zip",
        ["bot/agent.py", "bot/weights.bin"],
    )
    repacked = zipfile.ZipFile(io.BytesIO(packed({"bot.zip": data}, LIMITS)[1]))
    assert {each: repacked.read(each) for each in repacked.namelist()} == {
        "bot/agent.py": b"",
        "bot/weights.bin": b"1",
    }
    bomb = zipped({"agent.py": b"", "zeros": bytes(9 << 20)})
    assert len(bomb) < 1 << 20
    for files, text in (
        ({"a.zip": b"PK"}, "a.zip is not a ZIP archive"),
        ({"a.txt": b""}, "a folder or a ZIP archive with agent.py"),
        ({}, "with agent.py"),
        ({"a/b/agent.py": b"", "c": b""}, "with agent.py"),
        ({"a.py": bytes(9 << 20)}, "at most 8 MiB"),
        ({"a.zip": bomb}, "at most 8 MiB, unpacked too"),
        ({"agent.py": b"", **{str(n): b"" for n in range(500)}}, "at most 500 files"),
    ):
        with pytest.raises(DovetailError, match=text):
            packed(cast(Any, files), LIMITS)


@pytest.mark.fast
def test_versions_are_kept_and_the_newest_that_plays_replaces_the_others(store: ArenaStore) -> None:
    one, two = (store.submit("alice", "td@four", FILES, LIMITS) for _ in range(2))
    found = store.submissions("alice")
    assert [(each.version, each.offered, each.named) for each in found] == [
        (1, "td.v1@four", "td.v1"),
        (2, "td.v2@four", "td.v2"),
    ]
    assert (store.submitted / found[0].file).read_bytes() == AGENT.encode()
    player = store.enter("four", "alice", "td.v1")
    store.decided(one, "playing")
    store.decided(two, "playing")
    assert [each.state for each in store.submissions()] == ["replaced", "playing"]
    assert (store.players()[player].state, store.players()[player].why) == (
        "paused",
        "replaced by version 2",
    )
    store.decided(one, "playing")  # too late
    with pytest.raises(DovetailError, match="no such submission"):
        store.recall(two, "bob")
    store.recall(two, "alice")
    assert [each.state for each in store.submissions()] == ["replaced", "withdrawn"]
    for name in ("", "a b", "../x"):
        with pytest.raises(DovetailError, match="is not a name"):
            store.submit("alice", name, FILES, LIMITS)
    for name in "abcd":
        store.submit("alice", name, FILES, LIMITS)
    with pytest.raises(DovetailError, match="you have 4 agents here"):
        store.submit("alice", "e", FILES, LIMITS)
    for _ in range(6):
        store.submit("alice", "a", FILES, LIMITS)
    with pytest.raises(DovetailError, match="10 versions are already waiting"):
        store.submit("alice", "a", FILES, LIMITS)


SUBMITTER = """
import sys
from pathlib import Path
from dovetail_experiments.arena.description import SubmissionLimits
from dovetail_experiments.arena.store import ArenaStore

limits = SubmissionLimits(agents=1000, waiting=1000)
with ArenaStore(Path(sys.argv[1])) as store:
    for number in range(int(sys.argv[2]), 200):
        files = {"a.py": b"number = %d" % number}
        print(number, store.submit("alice", f"a{number}", files, limits), flush=True)
"""


@pytest.mark.long
@pytest.mark.processes
def test_200_submissions_in_a_queue_survive_kill_9(store: ArenaStore) -> None:
    rng, told = random.Random(5), dict[int, int]()
    for kill in (True, True, True, False):
        begin = max(told, default=-1) + 1
        words = [sys.executable, "-c", SUBMITTER, str(store.path), str(begin)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        lines = rng.randrange(20, 50) if kill else 200
        for line in process.stdout:
            number, given = map(int, line.split())
            told[number] = given
            if len(told) - begin >= lines:
                process.send_signal(signal.SIGKILL)
                lines = 200
        process.wait()
        process.stdout.close()
    queue = {each.id: each for each in store.submissions(states=["waiting"])}
    assert sorted(told) == list(range(200))
    for number, given in told.items():  # what was confirmed is there, whole
        assert queue[given].program == f"a{number}"
        assert (store.submitted / queue[given].file).read_bytes() == b"number = %d" % number
    # A kill may fall between the row and the line that confirms it: then it is there, twice asked.
    assert 200 <= len(queue) <= 203


def tended(run: SubmittedAgents) -> bool:
    run.tend()
    return True


class Freely:
    """Confines nothing: an agent that only waits."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def command(self, code: Path, socket: Path, key: Path | None, words: list[str]) -> list[str]:
        self.begun.append(words[-1])
        wait = "import time; time.sleep(600)"
        return [sys.executable, "-c", "raise SystemExit('no')" if "bad" in words[-1] else wait]

    def environment(self, token: str | None) -> dict[str, str]:
        return {"DOVETAIL_TOKEN": token or ""}


@pytest.mark.processes
def test_the_queue_is_run_in_order_and_up_to_its_limit(
    store: ArenaStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("LOOK", 0.0), ("AGAIN", 0.0), ("BATCH", 2)):
        monkeypatch.setattr(hosted, name, value)
    limits = SubmissionLimits(at_once=3, agents=10)
    for name in ("bad", "a", "b", "c", "d"):
        store.submit("alice", name, FILES, limits)
    freely = Freely()

    def states() -> dict[str, str]:
        return {each.program: each.state for each in store.submissions()}

    with Processes(address="tcp://127.0.0.1:1", logs=tmp_path / "logs") as processes:
        run = SubmittedAgents(
            store, limits, freely, processes, tmp_path / "code", tmp_path / "socket"
        )
        run.tend()
        assert freely.begun == ["bad.v1", "a.v1"]
        run.tend()
        assert freely.begun[-1] == "b.v1"
        assert list(run.known.values()) == ["alice:submitted"]
        until(lambda: tended(run) and states()["bad"] == "failed")
        assert freely.begun.count("bad.v1") == hosted.TRIES
        assert "no" in store.submissions()[0].why
        run.tend()
        assert states()["c"] == "starting"
        assert states()["d"] == "waiting"
        # One that is there plays; a new version of it ends it once it is there itself.
        player = store.enter("four", "alice", "a.v1")
        store.present({player: ""}, {})
        run.tend()
        assert states()["a"] == "playing"
        store.submit("alice", "a", FILES, limits)
        store.recall(3, "alice")  # b makes room
        until(lambda: tended(run) and "d.v1" in freely.begun)
        store.recall(4, "alice")
        until(lambda: tended(run) and "a.v2" in freely.begun)
        newer = store.enter("four", "alice", "a.v2")
        store.present({player: "", newer: ""}, {player: ""})
        until(lambda: tended(run) and len(processes.pids()) == 2)
        assert [e.state for e in store.submissions() if e.program == "a"] == ["replaced", "playing"]
        store.mark("alice", "banned", "")
        run.tend()
        assert processes.pids() == {}
    # The next arena begins with what played.
    store.mark("alice", "active", "")
    begun = len(freely.begun)
    with Processes(address="tcp://127.0.0.1:1", logs=tmp_path / "logs") as processes:
        run = SubmittedAgents(
            store, limits, freely, processes, tmp_path / "code", tmp_path / "socket"
        )
        run.tend()
        assert freely.begun[begun:] == ["a.v2", "d.v1"]


@pytest.mark.processes
@pytest.mark.parametrize("kind", hostile())
def test_a_hostile_archive_harms_its_entrant_alone(
    store: ArenaStore, tmp_path: Path, kind: str
) -> None:
    data = hostile()[kind]
    with pytest.raises(DovetailError, match=r"a\.zip is ") as told:
        store.submit("alice", "a", {"a.zip": data}, LIMITS)
    assert "\n" not in str(told.value)
    # Nor does one that an earlier version of Dovetail took.
    number = store.submit("alice", "a", FILES | {"agent.py": b""}, LIMITS)
    (store.submitted / f"{number}.zip").write_bytes(data)
    with Processes(address="tcp://127.0.0.1:1", logs=tmp_path / "logs") as processes:
        run = SubmittedAgents(
            store, LIMITS, Freely(), processes, tmp_path / "code", tmp_path / "socket"
        )
        run.tend()
    assert store.submissions()[0].state == "failed"


@pytest.mark.fast
@pytest.mark.parametrize("source", ["-" * 100_000 + "1", "+".join("1" * 50_000), "def"], ids=len)
def test_source_that_python_cannot_compile_fails_in_its_sandbox(
    store: ArenaStore, source: str, tmp_path: Path
) -> None:
    store.submit("alice", "a", {"mine.py": source.encode()}, LIMITS)
    (tmp_path / "agent.py").write_text(source)
    with pytest.raises(DovetailError, match="agent") as told:
        boxed.agent_of(tmp_path / "agent.py")
    assert "\n" not in str(told.value)


@pytest.mark.fast
def test_a_file_has_one_agent(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(AGENT)
    assert boxed.agent_of(file).__name__ == "Middle"
    file = tmp_path / "other.py"
    file.write_text("from dovetail import Agent")
    with pytest.raises(DovetailError, match="it has none"):
        boxed.agent_of(file)


# -- the sandbox ----------------------------------------------------------------------------------

PROBE = """
import os, socket

def tried(what):
    try:
        return repr(what())
    except BaseException as error:
        return type(error).__name__

def reach():
    socket.create_connection(("127.0.0.1", {port}), 5)

def fill(where):
    for number in range(40):
        with open(f"{{where}}/{{number}}", "wb") as file:
            file.write(bytes(2 << 20))

def everywhere():
    # the folders that take more than the limit
    found = []
    for where, folders, _ in os.walk("/"):
        if where == "/proc" or where.count("/") > 2:
            folders.clear()
        else:
            try:
                fill(where)
                found.append(where)
            except OSError:
                pass
    return found

print("user", os.getuid())
print("secret", tried(lambda: open({secret!r}).read()))
print("network", tried(reach))
print("processes", len([each for each in os.listdir("/proc") if each.isdigit()]) < 4)
print("code", tried(lambda: open("/agent/x", "w")))
print("memory", tried(lambda: len(bytearray(800 << 20))))
print("disk", tried(lambda: fill("/tmp")))
print("other files", tried(everywhere))
print("namespaces", os.system("unshare -Ur true 2>/dev/null") != 0)
print("variables", "DOVETAIL_BROKER" in os.environ, "SECRET" in os.environ)
import dovetail_agents
"""


@pytest.fixture
def sandbox() -> Sandbox:
    try:
        return Sandbox(SubmissionLimits(memory=700, disk=32))
    except DovetailError as error:
        pytest.skip(str(error))


@pytest.mark.processes
def test_a_sandbox_holds_what_the_guide_says(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "1")
    secret, code, place = tmp_path / "token", tmp_path / "code", tmp_path / "socket"
    secret.write_text("secret")
    place.touch()
    code.mkdir()
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        number = listening.getsockname()[1]
        (code / "probe.py").write_text(PROBE.format(port=number, secret=str(secret)))
        command = sandbox.command(code, place, None, ["/agent/probe.py"])
        done = subprocess.run(
            command, env=sandbox.environment("t"), capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "user 65534",
        "secret FileNotFoundError",
        "network ConnectionRefusedError",
        "processes True",
        "code OSError",
        "memory MemoryError",
        "disk OSError",
        "other files []",
        "namespaces True",
        "variables True False",
    ]
    assert not any(word == "t" for word in command)


def test_an_arena_where_agents_can_read_it_does_not_start(sandbox: Sandbox, tmp_path: Path) -> None:
    """A container's /usr/src/app, or a folder in the virtual environment."""
    limits = SubmissionLimits(memory=700, disk=32)
    (tmp_path / "link").symlink_to("/usr/src")
    for each in (Path("/usr/src/app/arena"), tmp_path / "link" / "app", Path(sys.prefix, "arena")):
        with pytest.raises(
            DovetailError, match=r"can read .*keep the arena's file and folder else"
        ):
            Sandbox(limits, each)
    assert Sandbox(limits, tmp_path).shown == sandbox.shown


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.timeout(200)
def test_a_submitted_agent_plays(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "arena.toml").write_text(ARENA.format(port=port()))
    programs = Programs(tmp_path)
    try:
        programs.invited("alice")
        with ArenaStore(tmp_path / "arena" / FILE) as store:
            store.submit("alice", "mid", FILES, SubmissionLimits())
            programs.start("arena", "arena.toml")

            def units() -> int:
                return len(store.played(1, "four"))

            until(lambda: units() >= 2)
            names = {each.name for each in store.players().values()}
            assert names == {"random", "alice/mid.v1"}
            # The arena looks at its programs less often than short games end.
            until(lambda: [each.state for each in store.submissions()] == ["playing"])
    finally:
        programs.end()
