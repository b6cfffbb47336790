"""Experiments played from end to end: in processes of their own, at a broker, in one process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from dovetail import Experiment
from dovetail.broker.shell.serve import serve
from dovetail.client.inprocess import InProcess
from dovetail.peer import link
from dovetail.peer.agents.random_agent import Random as RandomAgent
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode
from dovetail_agents.general.td import TD
from dovetail_experiments.engines.hosts import HostLost
from dovetail_experiments.files.file import ProcessesPart, read, text
from dovetail_experiments.records import database
from dovetail_experiments.records.records import Records, read_state
from dovetail_experiments.records.store import Store
from dovetail_experiments.reports import plot, report
from dovetail_experiments.reports.reporting import AGAIN
from dovetail_experiments.stages import places, processes, trials
from dovetail_experiments.stages.playing import Playing
from dovetail_experiments.stages.processes import EndCause, Processes, ProgramEnd
from dovetail_experiments.stages.runner import (
    ExecutionResult,
    RunnerOptions,
    execute,
    to_resume,
    told,
)
from dovetail_games.connect_four import ConnectFour

pytestmark = pytest.mark.processes


def account(execution: ExecutionResult) -> list[Any]:
    """Everything that must be the same wherever an experiment is played."""
    return [
        (
            played.stage.number,
            sorted(
                (each.index, each.seed, each.turns, each.outcome, [s.total for s in each.seats])
                for each in played.episodes
            ),
        )
        for played in execution.played
    ] + [execution.states]


@pytest.fixture
def broker(forked: None) -> Iterator[str]:
    """A broker with an environment and agents, as somebody else might keep it."""
    with Processes() as processes:
        at = ["--connect", processes.address]
        processes.start("environment", ["env", "connect_four", *at])
        processes.start("agents", ["agent", "td", "random", *at])
        yield processes.address


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_the_same_results_everywhere(
    small: Path, tmp_path: Path, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PATIENCE", 30.0)
    own = execute(small, out=tmp_path / "own")
    here = execute(small, out=tmp_path / "here", options=RunnerOptions(in_process=True))
    there = execute(small, out=tmp_path / "there", options=RunnerOptions(connect=broker))
    hosted = execute(
        small,
        out=tmp_path / "hosted",
        overrides={
            "environment.hosted": True,
            "agents.dice.hosted": True,
            "agents.two.hosted": True,
        },
    )
    assert account(own) == account(here) == account(there) == account(hosted)
    assert set(own.states) == {"one", "two"}
    assert sum(played.endings.games for played in own.played) == 50 + 4 * 20
    other = execute(
        small, out=tmp_path / "other", options=RunnerOptions(in_process=True), overrides={"seed": 6}
    )
    assert account(other) != account(own)


SLOW = 120.0
"""Seconds within which programs come up on a busy machine."""
FLEETING = """
import os
from dovetail import Agent

class Fleeting(Agent):
    starts = 0

    def start(self, turn):
        self.starts += 1
        if self.starts == 3:
            os._exit(1)
        return self.step(turn)

    def step(self, turn):
        return turn.legal[0]
"""


@pytest.mark.usefixtures("undrawn", "forked")
def test_a_substitute_plays_for_an_agent_that_dies(tmp_path: Path) -> None:
    """Without one the experiment ends, and says where: its last words were those with which it
    began."""
    (tmp_path / "fleeting.py").write_text(FLEETING)
    path = tmp_path / "one.toml"
    path.write_text(
        """
name = "one"
environment = { name = "connect_four" }
agents = { fleeting = { type = "fleeting" }, dice = { type = "random" } }
phases = [
    { name = "play", seats = ["fleeting", "dice"], substitute = "dice", episodes = 5, mode = "evaluate" },
]
"""
    )
    alone = tmp_path / "alone.toml"
    alone.write_text(
        path.read_text().replace('"fleeting" }', f'"{tmp_path / "fleeting.py"}:Fleeting" }}')
    )
    without = {"phases.0.substitute": None}
    with pytest.raises(DovetailError) as caught:
        execute(alone, out=tmp_path / "alone", overrides=without)
    log = tmp_path / "alone" / "one" / "logs" / "agent-fleeting.log"
    assert "ready at" in log.read_text()
    assert re.fullmatch(
        rf"play 0-5, after [012] of 5 games: the process of agent-fleeting ended with code 1; its log is {log}",
        str(caught.value),
    )
    with Processes() as processes:
        at = ["--connect", processes.address]
        with Experiment.connect(processes.address, wait=SLOW) as experiment:
            processes.start("environment", ["env", "connect_four", *at])
            processes.start("agents", ["agent", "random", *at])
            processes.start("fleeting", ["agent", f"{tmp_path / 'fleeting.py'}:Fleeting", *at])
            experiment.expect(["connect_four"], ["random", "fleeting"], timeout=SLOW)
        execution = execute(
            path, out=tmp_path / "out", options=RunnerOptions(connect=processes.address)
        )
    [played] = execution.played
    assert [each.index for each in played.episodes] == [0, 1]
    with closing(sqlite3.connect(tmp_path / "out" / "one" / "results.sqlite")) as results:
        query = "SELECT type, scored, reason FROM seats JOIN episodes ON seats.episode = id WHERE agent = ?"
        found = results.execute(query, ["fleeting"]).fetchall()
    assert found == [("fleeting", 1, "terminated")] * 2 + [("random", 0, "terminated")] * 3


def test_it_leaves_a_summary_curves_results_and_a_journal(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(small, out=tmp_path / "out", options=RunnerOptions(in_process=True))
    folder = tmp_path / "out" / "small"
    assert {each.name for each in folder.iterdir()} == {
        *("curves.png", "curves.svg", "curves.pdf"),
        "experiment.json",
        "games-1.journal",
        "report.html",
        "results.json",
        "results.sqlite",
        "summary.txt",
    }
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    summary = (folder / "summary.txt").read_text()
    assert re.search(r"play +0-20 +one +player 1 +\d+-\d+-\d+ +\d+\.\d% ", summary)
    assert re.search(r"two +50 +dice +player 1 ", summary)
    printed = capsys.readouterr().out
    assert "play 20-40: 20 games in " in printed
    assert "one (seat 0) wins " in printed  # for scripts that read it
    assert "Learning curves: win rate" in printed


@pytest.mark.usefixtures("undrawn")
def test_a_damaged_store_is_not_resumed_and_named_in_one_line(small: Path, tmp_path: Path) -> None:
    options = RunnerOptions(in_process=True)
    execute(small, out=tmp_path / "whole", options=options)
    for number, damage in enumerate(
        (
            "DROP TABLE stages",
            "DROP TABLE executions",
            "ALTER TABLE episodes RENAME turns TO other",
            "UPDATE executions SET file = 'x'",
            "UPDATE states SET state = 'text'",
        )
    ):
        broken = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", broken)
        with closing(sqlite3.connect(broken / "small" / "results.sqlite")) as store:
            store.execute("UPDATE executions SET finished = NULL")
            store.execute("UPDATE stages SET finished = NULL WHERE number = 3")
            store.execute(damage)
            store.commit()
        with pytest.raises(
            DovetailError,
            match=r"small.* (is damaged: |no such )",
        ):
            execute(small, out=broken, options=options, resume=True)


def test_a_plot_replaces_a_link_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "another.png").write_text("precious")
    (tmp_path / "curves.png").symlink_to(tmp_path / "another.png")
    plot.profiles([tmp_path / "curves.png"], "a title", {"one": [(0.0, 1.0), (1.0, 0.0)]})
    assert (tmp_path / "another.png").read_text() == "precious"
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("undrawn")
def test_resumed_is_the_same_as_uninterrupted(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = execute(small, out=tmp_path / "whole", options=RunnerOptions(in_process=True))
    play = Playing._poll
    begun: set[int] = set()

    def breaking(self: Playing, job: Any, *arguments: Any) -> bool:
        begun.add(job.row)
        if len(begun) == 6:
            # Some of the stage was played.
            self._store.add(job.row, next(iter(whole.played[5].episodes)))
            raise KeyboardInterrupt
        return play(self, job, *arguments)

    monkeypatch.setattr(Playing, "_poll", breaking)
    with pytest.raises(KeyboardInterrupt):
        execute(small, out=tmp_path / "broken", options=RunnerOptions(in_process=True))
    monkeypatch.setattr(Playing, "_poll", play)
    text = "began with other values of seed; resume it with"
    with pytest.raises(DovetailError, match=text) as caught:
        execute(
            small,
            out=tmp_path / "broken",
            options=RunnerOptions(in_process=True),
            resume=True,
            overrides={"seed": 77},
        )
    kept = re.search(
        r'to keep what was learned, add `agents\.one\.state = "(\S+)"`', str(caught.value)
    )
    assert kept is not None
    assert read_state(kept[1])
    resumed = execute(
        small, out=tmp_path / "broken", options=RunnerOptions(in_process=True), resume=True
    )
    assert account(resumed) == account(whole)
    assert resumed.number == 1
    with pytest.raises(DovetailError, match="no interrupted run of small"):
        execute(small, out=tmp_path / "broken", options=RunnerOptions(in_process=True), resume=True)


@pytest.mark.usefixtures("undrawn")
def test_a_resumed_run_says_that_the_users_own_code_has_changed(
    small: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    game = tmp_path / "my game.py"
    game.touch()
    file = read(small, {"environment.name": f"{game}:Game"})
    store = Store(database.url_of(tmp_path / "results.sqlite"))
    number = store.begin(file.name, text(file), file.seed)
    os.utime(game, (store.started(number) - 1,) * 2)
    assert to_resume(store, file, "out") == number
    assert not caplog.records
    os.utime(game, (store.started(number) + 1,) * 2)
    assert to_resume(store, file, "out") == number
    assert f"{game} changed after this run of small began" in caplog.text
    store.close()


def test_interrupted_before_its_results_are_written_it_can_be_resumed(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    short = {"phases.0.episodes": 2, "evaluations.0.episodes": 2, "evaluations.1.episodes": 2}
    for resume, (where, name) in enumerate(((places, "merge_journals"), (report, "write"))):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                execute(
                    small,
                    out=tmp_path,
                    options=RunnerOptions(in_process=True),
                    overrides=short,
                    resume=resume > 0,
                )
    done = execute(
        small, out=tmp_path, options=RunnerOptions(in_process=True), overrides=short, resume=True
    )
    assert done.number == 1
    assert (done.folder / "results.json").exists()


@pytest.mark.usefixtures("forked")
def test_a_process_that_dies_ends_the_experiment_with_one_line(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL for the second learner, in the middle of a stage."""
    file = read(small, {"phases.0.episodes": 1_000_000, "phases.0.evaluate_every": 0})
    killed: list[int] = []
    store = Store(database.url_of(tmp_path / "results.sqlite"))

    def take(row: int, episode: Episode) -> None:
        if not killed:
            killed.append(place.pids["agent-two"])
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(store, "add", take)
    with places.own_processes(file) as place:
        playing = Playing(file, place, store, store.begin("small", "", 1), {})
        with pytest.raises(DovetailError) as caught:
            list(playing.play())
    assert re.fullmatch(
        r"play 0-1,000,000, after \d+ of 1,000,000 games: the process of agent-two was ended by SIGKILL",
        str(caught.value),
    )


GATE = '''
import threading
from pathlib import Path

import msgspec
from dovetail import Agent


class Gate(Agent):
    """Says through a pipe where it is, and never comes back from there."""

    class Parameters(msgspec.Struct):
        stop: str
        pipe: str

    def __init__(self, parameters, seed=0):
        super().__init__(parameters, seed)
        if parameters.stop == "raise at once":
            raise ZeroDivisionError("a bug")
        self.at("create")

    def step(self, turn):
        if self.parameters.stop == "raise":
            raise ZeroDivisionError("a bug")
        return turn.legal[0]

    def save(self):
        self.at("save")
        return b""

    def at(self, place):
        if self.parameters.stop == place:
            Path(self.parameters.pipe).write_text(place)
            threading.Event().wait()
'''


def gated(folder: Path, stop: str) -> Path:
    """Write an experiment whose agent stops at one place; the pipe is beside it."""
    (folder / "gate.py").write_text(GATE)
    os.mkfifo(folder / "pipe")
    path = folder / "gated.toml"
    path.write_text(
        f'''
name = "gated"
environment = {{ name = "connect_four" }}
[agents.one]
type = "{folder / "gate.py"}:Gate"
parameters = {{ stop = "{stop}", pipe = "{folder / "pipe"}" }}
[agents.dice]
type = "random"
[[phases]]
name = "play"
seats = ["one", "dice"]
episodes = 1
'''
    )
    return path


@pytest.mark.long
@pytest.mark.parametrize("request_", ["create", "save"])
def test_a_broker_that_dies_while_it_owes_an_answer_ends_the_run(
    tmp_path: Path, request_: str
) -> None:
    command = [sys.executable, "-m", "dovetail", "run", str(gated(tmp_path, request_))]
    program = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert program.stdout is not None
    found = re.match(r"processes: broker \((\d+)\)", program.stdout.readline())
    assert found is not None
    assert (tmp_path / "pipe").read_text() == request_  # waits until the agent is there
    os.kill(int(found[1]), signal.SIGKILL)
    _, errors = program.communicate(timeout=60)
    log = Path("out", "gated", "logs", "broker.log")
    assert errors.splitlines()[-1].endswith(
        f"the process of broker was ended by SIGKILL; its log is {log}"
    )
    assert program.returncode == 1
    assert (tmp_path / log).read_text().startswith("broker ready at ")


@pytest.mark.usefixtures("forked")
def test_a_broker_that_hangs_is_given_up(small: Path) -> None:
    file = read(small)
    with places.own_processes(file, give_up=2.0) as place:
        os.kill(place.pids["broker"], signal.SIGSTOP)
        with pytest.raises(
            DovetailError, match=r"silent for 2 s; check whether it is still running$"
        ):
            place.seat(file, {})


def test_each_program_of_the_environment_is_awaited(small: Path) -> None:
    """How a run is split in groups, and so what a learner learns, follows from their number."""
    file = read(small)
    file = structs.replace(file, processes=ProcessesPart(environments=2), agents={})
    there = {"environments": [{"name": "connect_four"}], "agents": []}
    experiment = cast("Any", SimpleNamespace(catalogue=lambda: there))
    place = places.Deployment(experiment, "connect_four", {}, lambda: None, "", {"broker": 1})
    file = structs.replace(file, phases=[], evaluations=[], tournaments=[])
    assert places.missing(file, place) == [
        "the environment 'connect_four' (1 of 2 programs offer it)"
    ]
    there["environments"] *= 2
    assert places.missing(file, place) == []


@pytest.mark.long
def test_a_program_that_is_stopped_for_seconds_counts_as_ended(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "FROZEN", 0.3)
    with places.own_processes(read(small)) as place:
        name = next(each for each in place.pids if each.startswith("agent-"))

        def stop(number: signal.Signals, states: str) -> None:
            os.kill(place.pids[name], number)
            status = Path(f"/proc/{place.pids[name]}/stat")
            while status.read_text().rpartition(") ")[2][0] not in states:
                time.sleep(0.01)
            place.check()

        for _ in range(2):  # the second time counts from its own beginning
            stop(signal.SIGSTOP, "T")
            stop(signal.SIGCONT, "SRD")
            time.sleep(0.4)
        stop(signal.SIGSTOP, "T")
        time.sleep(0.4)
        with pytest.raises(DovetailError, match=f"process of {name} was stopped by SIGSTOP"):
            place.check()
        assert {each: end.cause for each, end in place.ended().items()} == {name: EndCause.SIGNAL}


def test_an_end_has_a_cause_whatever_the_program_said(tmp_path: Path) -> None:
    with Processes(address="tcp://127.0.0.1:1", logs=tmp_path) as made:
        made.command("killed", ["sh", "-c", "echo all is well; kill -KILL $$"])
        made.command("failed", ["sh", "-c", "echo a worker was ended by SIGKILL; exit 3"])
        while len(made.ended()) < 2:
            time.sleep(0.01)
        assert made.ended() == {
            "killed": ProgramEnd(
                EndCause.SIGNAL,
                "the process of killed was ended by SIGKILL",
                str(tmp_path / "killed.log"),
            ),
            "failed": ProgramEnd(
                EndCause.EXIT,
                "the process of failed ended with code 3: a worker was ended by SIGKILL",
                str(tmp_path / "failed.log"),
            ),
        }


def test_a_host_lost_before_anything_is_offered_is_no_mistake_of_the_file(small: Path) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise HostLost("node a is lost")

    there = {"environments": [], "agents": [{"name": "td", "peer": "agent-one"}]}
    experiment = cast("Any", SimpleNamespace(catalogue=lambda: there, create=lost))
    end = {"host": ProgramEnd(EndCause.LOST, "node a is lost")}
    place = places.Deployment(experiment, "connect_four", {}, lost, "", ended=lambda: end)
    with pytest.raises(HostLost):
        places.appear(read(small), place, None)
    with pytest.raises(HostLost):
        place.create(read(small), "one")


@pytest.mark.parametrize(
    ("stop", "complaint", "where"),
    [
        ("raise at once", "[agents.one]: ", "the traceback is in {}/agent-one.log"),
        ("raise", "could not be played", "the logs of all programs are in {}"),
    ],
)
@pytest.mark.usefixtures("undrawn", "forked")
def test_the_logs_stay_and_the_error_says_where(
    tmp_path: Path, stop: str, complaint: str, where: str
) -> None:
    path = gated(tmp_path, stop)
    logs = tmp_path / "out" / "gated" / "logs"
    logs.mkdir(parents=True)
    (logs / "agent-of-another-time.log").write_text("old")
    with pytest.raises(DovetailError) as caught:
        execute(path, out=tmp_path / "out")
    assert complaint in str(caught.value)
    assert str(caught.value).endswith(f"; {where.format(logs)}")
    assert {each.name for each in logs.iterdir()} == {
        "agent-dice.log",
        "agent-one.log",
        "broker.log",
        "environment.log",
    }
    assert "raise ZeroDivisionError" in (logs / "agent-one.log").read_text()


def test_a_folder_that_takes_no_logs_costs_one_line(tmp_path: Path) -> None:
    path = gated(tmp_path, "nowhere")
    (tmp_path / "out" / "gated").mkdir(parents=True)
    (tmp_path / "out" / "gated" / "logs").write_text("a file")
    with pytest.raises(DovetailError, match=r"^cannot write into .*logs: File exists$"):
        execute(path, out=tmp_path / "out")


@pytest.mark.long
def test_no_process_is_left_behind(small: Path) -> None:
    with places.own_processes(read(small)) as place:
        pids = list(place.pids.values())
        assert len(pids) == 5
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def output(processes: Processes, name: str, lines: int) -> list[str]:
    """Return what a program printed, once it has printed a number of lines."""
    end = time.monotonic() + 60
    while len(found := (processes.logs / f"{name}.log").read_text().splitlines()) < lines:
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return found


def test_what_a_command_has_started_ends_with_it(tmp_path: Path) -> None:
    waiting = ["sh", "-c", "sleep 600 & echo $!; wait"]
    left = ["sh", "-c", "sleep 600 & echo $!"]
    with Processes(address="tcp://127.0.0.1:1", logs=tmp_path) as processes:
        processes.command("waiting", waiting)
        processes.command("again", left)
        children = [
            os.pidfd_open(int(output(processes, name, 1)[0])) for name in ("waiting", "again")
        ]
        while not processes.ended():
            time.sleep(0.01)
        processes.command("again", left)
        # The log of a program that is started again keeps what it said before.
        children.append(os.pidfd_open(int(output(processes, "again", 2)[1])))
    for each in children:
        assert _ends(each, 60)


def test_nothing_is_said_about_waiting_for_its_own_broker(
    small: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started = Processes.command

    def slowly(self: Processes, name: str, command: Sequence[str], *more: Any) -> None:
        slow = ["sh", "-c", f'sleep {link.SLOW + 0.2}; exec "$@"', "sh"]
        started(self, name, [*slow, *command] if name == "broker" else command, *more)

    monkeypatch.setattr(Processes, "command", slowly)
    with places.own_processes(read(small)):
        pass
    assert not caplog.messages


@pytest.mark.long
def test_an_experiment_that_is_killed_takes_its_processes_along(
    small: Path, tmp_path: Path
) -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "dovetail", "run", str(small), "--set", "phases.0.episodes=1000000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert program.stdout is not None
    line = program.stdout.readline()
    assert line.startswith("processes: broker (")
    pids = [int(word.strip("(),\n")) for word in line.split() if word.startswith("(")]
    watched = [os.pidfd_open(pid) for pid in pids]
    program.stdout.readline()
    folder = socket_of(pids[0]).parent
    program.kill()
    program.wait()
    program.stdout.close()
    for each in watched:
        assert _ends(each, 20), "a process outlives its experiment"
    with Processes() as one, Processes():
        assert not folder.exists(), "the next start leaves the folder of its sockets"
        assert Path(one.address.removeprefix("ipc://")).parent.exists()


def socket_of(pid: int) -> Path:
    """Return the socket of a broker, which an experiment has started, by its number."""
    variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
    [address] = [each for each in variables if each.startswith("DOVETAIL_BROKER=")]
    return Path(address.removeprefix("DOVETAIL_BROKER=ipc://"))


def _ends(descriptor: int, timeout: float) -> bool:
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ended = bool(poll.poll(timeout * 1000))
    os.close(descriptor)
    return ended


@pytest.mark.long
@pytest.mark.timeout(600)  # 2,000 games over sockets take minutes where other tests run beside them
def test_ctrl_c_ends_all_in_order_and_can_be_resumed(small: Path, tmp_path: Path) -> None:
    """Meanwhile no other run may write into its folder: a second one deleted the logs of the
    first."""
    changes = ("phases.0.episodes=2000", "phases.0.evaluate_every=200", "evaluations=[]")
    many = [word for change in changes for word in ("--set", change)]
    command = [sys.executable, "-m", "dovetail", "run", str(small), *many]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    program = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    assert program.stdout is not None
    for line in program.stdout:
        if line.startswith("play 0-200"):
            break
    folder = tmp_path / "out" / "small"
    files = sorted(each for each in folder.rglob("*") if "sqlite" not in each.name)
    text = f"small is being written by process {program.pid}; wait until it ends, or .* --out$"
    for resume in (False, True):
        with pytest.raises(DovetailError, match=text):
            execute(small, out=tmp_path / "out", resume=resume)
    assert sorted(each for each in folder.rglob("*") if "sqlite" not in each.name) == files
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "--resume" in errors
    assert "Traceback" not in errors
    done = subprocess.run(
        [*command, "--resume"], cwd=tmp_path, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    assert "play 0-200: played before" in done.stdout
    assert "play 200-400: 200 games" in done.stdout


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("environment.name", "chess", "no environment 'chess'"),
        ("environment.configuration.rows", 99, "option 'rows'"),
        ("agents.one.type", "tdd", "no agent 'tdd'; did you mean 'td'?"),
        ("agents.one.parameters.hidden", -1, "[agents.one]: agent td, option 'hidden'"),
        ("agents.one.state", "nowhere", "[agents.one]: cannot read the state nowhere"),
        ("agents.one.command", ["no-such-program"], "no-such-program"),
        ("phases.0.seats", ["one"], "play: "),
    ],
)
@pytest.mark.parametrize("in_process", [True, False])
@pytest.mark.usefixtures("undrawn", "forked")
def test_what_does_not_fit_costs_one_line(
    small: Path, tmp_path: Path, key: str, value: Any, complaint: str, in_process: bool
) -> None:
    if key.endswith("command") and in_process:
        complaint = "cannot play in process"
    with pytest.raises(DovetailError) as caught:
        execute(
            small,
            out=tmp_path,
            options=RunnerOptions(in_process=in_process),
            overrides={key: value},
        )
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.long
@pytest.mark.usefixtures("undrawn", "forked")
@pytest.mark.usefixtures("undrawn", "forked")
@pytest.mark.parametrize(
    ("overrides", "connect", "why"),
    [
        ({}, True, "no broker answers"),
        ({"agents.one.command": ["no-such-program"]}, False, "no-such-program"),
        ({"agents.one.command": ["false"]}, False, "the process of agent-one ended with code 1"),
    ],
)
@pytest.mark.parametrize("seeds", [None, [1, 2]])
def test_a_start_that_fails_is_as_if_it_had_not_been_tried(
    small: Path,
    tmp_path: Path,
    overrides: dict[str, Any],
    connect: bool,
    why: str,
    seeds: list[int] | None,
) -> None:
    """It left an execution: the next report showed it in place of a finished one, --resume played
    it."""
    short = {"phases.0.episodes": 2, "evaluations.0.episodes": 2, "evaluations.1.episodes": 2}
    more: dict[str, Any] = short if seeds is None else {**short, "seeds": seeds}
    done = trials.execute(
        small, out=tmp_path, overrides=more, options=RunnerOptions(in_process=True)
    )
    with Records(done.folder) as records:
        before = list(records.rows("executions"))
    kept = [done.folder / AGAIN, done.folder / "results.json", done.folder / "report.html"]
    texts = [each.read_bytes() for each in kept]
    journals = sorted(done.folder.rglob("*.journal"))
    options = RunnerOptions("tcp://127.0.0.1:1", give_up=0.1) if connect else RunnerOptions()
    with pytest.raises(DovetailError, match=why):
        trials.execute(
            small,
            out=tmp_path,
            overrides={**more, **overrides, "seed": 9}
            if seeds is None
            else {**more, **overrides, "seeds": [8, 9]},
            options=options,
        )
    with Records(done.folder) as records:
        assert list(records.rows("executions")) == before
    assert [each.read_bytes() for each in kept] == texts
    assert sorted(done.folder.rglob("*.journal")) == journals
    told(done.folder, database.url_of(done.folder / "results.sqlite"), "small")
    assert "not finished" not in kept[2].read_text()
    if seeds is None:
        with pytest.raises(DovetailError, match="no interrupted run of small to resume"):
            trials.execute(small, out=tmp_path, overrides=more, resume=True, options=options)


@pytest.mark.usefixtures("undrawn")
def test_a_run_that_is_refused_before_its_first_episode_has_not_begun(
    small: Path, tmp_path: Path
) -> None:
    with InProcess([ConnectFour], [TD, RandomAgent], bind=f"ipc://{tmp_path / 'b'}") as experiment:
        stop = threading.Event()

        def serve_it() -> None:
            while not stop.is_set():
                experiment.wait(0.05)

        thread = threading.Thread(target=serve_it)
        thread.start()
        try:
            with pytest.raises(DovetailError, match="rows"):
                execute(
                    small,
                    out=tmp_path,
                    options=RunnerOptions(connect=f"ipc://{tmp_path / 'b'}"),
                    overrides={"environment.configuration.rows": "many"},
                )
        finally:
            stop.set()
            thread.join()
    with Records(tmp_path / "small") as records:
        assert list(records.rows("executions")) == list(records.rows("stages")) == []


@pytest.mark.long
def test_a_program_in_any_language_is_an_agent(small: Path, tmp_path: Path) -> None:
    program = tmp_path / "first.py"
    program.write_text(
        "import sys\n"
        "from dovetail import Agent\n"
        "from dovetail.peer.agents.serve import serve\n"
        "class First(Agent):\n"
        "    def step(self, turn):\n"
        "        return turn.legal[0]\n"
        "serve(First(), sys.argv[1])\n"
    )
    command = [sys.executable, str(program), "{address}"]
    overrides = {"agents.dice": {"type": "first", "command": command}}
    execution = execute(small, out=tmp_path, overrides=overrides)
    assert execution.played[0].endings.games == 10


def test_a_broker_without_the_agents(small: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    address = f"ipc://{tmp_path / 'broker'}"
    thread = threading.Thread(target=serve, args=(address,), kwargs={"stop": stop})
    thread.start()
    try:
        with pytest.raises(DovetailError, match="no program at the broker offers the environment"):
            execute(small, out=tmp_path, options=RunnerOptions(connect=address))
    finally:
        stop.set()
        thread.join()
