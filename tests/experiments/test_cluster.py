"""Experiments on a Ray cluster of three nodes of this host, some of which are killed on the way.

Their results are compared with those of one machine.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import disturb
from tests.experiments.clusters import Nodes, cluster, needs_ray

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import episodes
from dovetail_experiments.records.records import Records

pytestmark = [
    needs_ray,
    *(pytest.mark.processes, pytest.mark.slow, pytest.mark.xdist_group("ray")),
    pytest.mark.timeout(1200),  # the cluster takes minutes to start on a busy machine
]

GAME = "from helper import BASE\n\n\nclass Mine(BASE):\n    name = 'mine'\n"
HELPER = "from dovetail_games.connect_four import ConnectFour as BASE\n"
SWEEP = """
name = "sweep"
seeds = [1, 2]

[environment]
name = "./game.py:Mine"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.one]
type = "td"
parameters = { hidden = 8 }

[agents.dice]
type = "random"

[[phases]]
name = "play"
seats = ["one", "dice"]
episodes = 60
evaluate_every = 20

[[evaluations]]
name = "eval"
seats = ["one", "dice"]
episodes = 10
rotate = true

[sweep]
method = "optuna"
trials = 2
batch = 2
objective = { evaluation = "eval", agent = "one" }

[sweep.parameters]
"agents.one.parameters.hidden" = [4, 8]
"""
CUP = """
name = "cup"
seed = 5

[environment]
name = "./game.py:Mine"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.dice]
type = "random"

[agents.other]
type = "random"

[agents.net]
type = "td"
parameters = { hidden = 8 }

[[evaluations]]
name = "measured"
seats = ["dice", "net"]
episodes = 100
concurrency = 4
rotate = true

[[tournaments]]
name = "all"
players = ["dice", "other", "net"]
episodes = 600
concurrency = 4
"""
LEARNER = """
name = "learner"
seed = 3

[processes]
environments = 2

[environment]
name = "./game.py:Mine"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.one]
type = "td-batch"
parameters = { hidden = 8 }

[[phases]]
name = "play"
seats = ["one", "one"]
episodes = 6000
concurrency = 512
stacked = true
evaluate_every = 2000
save_every = 1000

[[evaluations]]
name = "eval"
seats = ["one", "one"]
episodes = 10
"""

SPRT = """
name = "decided"
seed = 5

[environment]
name = "./game.py:Mine"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.dice]
type = "random"

[agents.greedy]
type = "greedy"

[[tournaments]]
name = "better"
players = ["greedy", "dice"]
episodes = 2000
concurrency = 4
lookahead = true
openings = "auto"
sprt = { elo0 = 0, elo1 = 50 }
"""
LEAGUE = """
name = "league"
seed = 3

[environment]
name = "./game.py:Mine"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.dice]
type = "random"

[agents.one]
type = "td"
parameters = { hidden = 4 }

[[leagues]]
name = "self"
learner = "one"
pool = ["dice"]
episodes = 40
block = 10
snapshot_every = 20

[[evaluations]]
name = "eval"
seats = ["one", "dice"]
episodes = 10
"""
WITHOUT_NUMBA = """
import importlib.metadata
import sys

sys.modules["numba"] = None
known = importlib.metadata.version


def version(name):
    if name == "numba":
        raise importlib.metadata.PackageNotFoundError(name)
    return known(name)


importlib.metadata.version = version
"""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster() as found:
        yield found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Account:
    """Return what the record of the tournament has if it is played in one process."""
    folder = tmp_path_factory.mktemp("undisturbed") / "files"
    filled(folder)
    (folder / "cup.toml").write_text(CUP)
    here = run(folder / "cup.toml", "--in-process", "--out", str(folder.parent / "here"))
    assert here.returncode == 0, here.stderr
    return account(folder.parent / "here" / "cup")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "files"
    filled(path)
    return path


def filled(folder: Path) -> None:
    """Write a user's own game."""
    folder.mkdir()
    (folder / "game.py").write_text(GAME)
    (folder / "helper.py").write_text(HELPER)


def command(file: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", str(file), *words]


def run(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(file, *words), cwd=file.parent.parent, capture_output=True, text=True, check=False
    )


def finished(folder: Path) -> int:
    """Return how many stages the record of a run in progress has."""
    try:
        with Records(folder) as records:
            return sum(row["finished"] is not None for row in records.rows("stages"))
    except DovetailError:  # not there yet
        return 0


def reach(program: subprocess.Popen[str], folder: Path, stages: int) -> None:
    """Wait until the record of a run in progress has stages."""
    while finished(folder) < stages:
        assert program.poll() is None, program.communicate()
        time.sleep(0.1)


Account = tuple[Sequence[Any], Sequence[Any]]


def account(folder: Path) -> Account:
    """Return what a record has of every episode and state, but for times and numbers of the
    broker."""
    found: list[Any] = []
    with Records(folder) as records:
        executions = {
            row["id"]: (row["variant"], row["seed"]) for row in records.rows("executions")
        }
        stages = {
            row["id"]: (*executions[row["execution"]], row["number"], row["name"])
            for row in records.rows("stages")
            if row["finished"] is not None
        }
        played = {row["id"]: row for row in records.rows("episodes")}
        for seat in records.rows("seats"):
            row = {**played[seat["episode"]], **seat}
            row["stage"] = stages[row["stage"]]
            for key in ("id", "episode", "instance", "seconds"):
                del row[key]
            found.append(row)
        states = [
            (*executions[each.execution], each.agent, each.stage, each.state)
            for each in records.states()
        ]
    order = ("stage", "number", "seat")
    return sorted(found, key=lambda row: [row[key] for key in order]), sorted(states)


def differences(one: Account, other: Account) -> list[Any]:
    """Return the first rows that differ; pytest would compare thousands of them for minutes."""
    found: list[Any] = []
    for mine, theirs in zip(one, other, strict=True):
        pairs = itertools.zip_longest(mine, theirs)
        found += itertools.islice((each for each in pairs if each[0] != each[1]), 3)
    return found


def results(folder: Path) -> str:
    """Return the results for programs, but for times and the software, which may change while this
    runs."""
    text = (folder / "results.json").read_text()
    text = re.sub(r'"seconds_per_decision":[^,}]*', "", text)
    return re.sub(r"dovetail \d[^,]*,", "dovetail,", text)


def test_a_search_with_a_killed_node_is_as_on_one_machine(nodes: Nodes, folder: Path) -> None:
    file = folder / "sweep.toml"
    file.write_text(SWEEP)
    out = folder.parent / "cluster" / "sweep"
    words = ["--on", f"ray:{nodes.address}", "--out", str(out.parent)]
    said, _ = disturbed(file, nodes, out, 2, ["kill", "add"], "--track=tensorboard")
    assert "on Ray: 3 nodes with 3 CPUs" in said
    here = run(file, "--in-process", "--out", str(folder.parent / "here"))
    assert here.returncode == 0, here.stderr
    assert differences(account(out), account(folder.parent / "here" / "sweep")) == []
    assert results(out) == results(folder.parent / "here" / "sweep")
    for trial in sorted((out / "trials").iterdir()):
        assert {"results.json", "summary.txt", "progress.txt", "curves.png", "logs"} <= {
            each.name for each in trial.iterdir()
        }
        assert [*trial.glob("tensorboard/events.out.tfevents.*")]
        [journal] = trial.glob("*.journal")
        assert len({(e.label, e.result.index) for _, e in episodes(journal)}) == 60 + 4 * 10
    again = run(file, *words, "--resume")
    assert "every trial was played before" in again.stdout


def test_mistakes_cost_one_line_each(nodes: Nodes, folder: Path) -> None:
    file = folder / "sweep.toml"
    file.write_text(SWEEP)
    on = f"ray:{nodes.address}"
    outside = folder.parent / "other.py"
    outside.write_text(GAME)
    cases = [
        (["--on", "ray:127.0.0.1:1"], "no Ray cluster answers at 127.0.0.1:1"),
        (["--on", "slurm"], "there is no engine 'slurm'"),
        (["--on", "ray://127.0.0.2:1"], "run this command on a machine of the cluster"),
        (["--on", on, "--in-process"], "remove --in-process"),
        (["--on", on, "--connect", "tcp://127.0.0.1:1"], "remove --connect"),
        (
            ["--on", on, "--set", "processes.resources.gpus=1"],
            "needs 1 GPU, and the largest node of the cluster has 0",
        ),
        (
            ["--on", on, "--set", "processes.resources.cpus=4"],
            "needs 4 CPU, and the largest node of the cluster has 1",
        ),
        (
            ["--on", on, "--set", "environment.name=/usr/lib/game.py:Mine"],
            "/usr/lib/game.py",
        ),
    ]
    for words, complaint in cases:
        done = run(file, *words, "--out", str(folder.parent / "out"))
        assert done.returncode != 0
        assert complaint in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert "Traceback" not in done.stderr


def disturbed(
    file: Path, nodes: Nodes, out: Path, stages: int, orders: Sequence[str], *words: str
) -> tuple[str, str]:
    """Run a file on the cluster; carry out orders once stages are over; return what it says."""
    more = ["--on", f"ray:{nodes.address}", "--out", str(out.parent), *words]
    with subprocess.Popen(
        command(file, *more),
        cwd=file.parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        reach(program, out, stages)
        for each in orders:
            nodes.order(each)
        said, wrong = program.communicate(timeout=240)
    assert program.returncode == 0, wrong
    assert "Traceback" not in wrong
    return said, wrong


def test_shards_of_which_two_die_play_a_tournament_as_one_machine(
    nodes: Nodes, folder: Path, undisturbed: Account
) -> None:
    file = folder / "cup.toml"
    file.write_text(CUP)
    out = folder.parent / "cluster" / "cup"
    said, wrong = disturbed(file, nodes, out, 1, ["kill", "kill", "add", "add"], "--shards=3")
    assert len(re.findall("^shard . is lost", wrong.replace("dovetail: ", ""), re.M)) == 2, wrong
    assert said.count("shard 3: node ") == 1
    assert differences(account(out), undisturbed) == []
    assert not list(out.glob("*.shard-*"))
    secrets = [path for path in out.rglob("*") if path.suffix in (".key",) or "access" in path.name]
    assert secrets == []


def test_a_learner_with_actors_goes_on_from_its_last_save_when_its_node_dies(
    nodes: Nodes, folder: Path
) -> None:
    file = folder / "learner.toml"
    file.write_text(LEARNER)
    whole = folder.parent / "whole" / "learner"
    said, _ = disturbed(file, nodes, whole, 1, [])
    assert len(set(re.findall(r"^environment(?:-2)?: node (.*)$", said, re.M))) == 2, said
    out = folder.parent / "broken" / "learner"
    more = ["--on", f"ray:{nodes.address}", "--out", str(out.parent)]
    with subprocess.Popen(
        command(file, *more),
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        about = next((line for line in program.stdout if line.startswith("broker: ")), "")
        assert about, program.communicate()
        programs = [int(each) for each in re.findall(r"[a-z] \((\d+)\)", about)]
        reach(program, out, 2)
        os.kill(parent(programs[0]), signal.SIGKILL)
        for each in programs:
            end_of(each)
        said, wrong = program.communicate(timeout=240)
    assert program.returncode == 0, wrong
    assert "restart on other nodes, from the last finished stage" in wrong
    assert differences(account(out), account(whole)) == []
    with Records(out) as records:
        assert [row["attempt"] for row in records.rows("executions")] == [2]
        assert sum(row["attempt"] > 1 for row in records.rows("stages")) <= 1


@pytest.mark.parametrize(
    ("text", "words"), [(SPRT, ["--shards=2"]), (LEAGUE, [])], ids=["sprt", "league"]
)
def test_a_format_is_as_on_one_machine(
    nodes: Nodes, folder: Path, text: str, words: list[str]
) -> None:
    file = folder / "file.toml"
    file.write_text(text)
    outs = [folder.parent / each for each in ("cluster", "here")]
    for out, more in zip(
        outs, (["--on", f"ray:{nodes.address}", *words], ["--in-process"]), strict=True
    ):
        done = run(file, *more, "--out", str(out))
        assert done.returncode == 0, done.stderr
    [there, here] = [next(out.iterdir()) for out in outs]
    assert results(there) == results(here)


def episodes_of(folder: Path) -> int:
    """Return how many episodes the record of a run in progress has."""
    try:
        with Records(folder) as records:
            return sum(1 for _ in records.rows("episodes"))
    except DovetailError:
        return 0


def started(program: subprocess.Popen[str], count: int) -> list[dict[str, int]]:
    """Read which processes each of the shards has, by name."""
    assert program.stdout is not None
    found = []
    for line in program.stdout:
        if re.match(r"shard \d+: ", line):
            found.append({k: int(v) for k, v in re.findall(r"([\w-]+) \((\d+)\)", line)})
        if len(found) == count:
            return found
    raise AssertionError(program.communicate())


def descendants(process: int) -> set[int]:
    """Return all processes of ours that a process has started, and those that they have."""
    below: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            below.setdefault(parent(int(each.name)), []).append(int(each.name))
    found: set[int] = set()
    todo = [process]
    while todo:
        more = below.get(todo.pop(), [])
        found.update(more)
        todo += more
    return found


def programs(nodes: Nodes) -> set[int]:
    """Return the brokers, environments and agents that run on the nodes."""
    found = set()
    for each in descendants(nodes.process):
        with contextlib.suppress(OSError):
            if b"-m\0dovetail\0" in Path(f"/proc/{each}/cmdline").read_bytes():
                found.add(each)
    return found


VICTIMS = [
    ("broker", signal.SIGKILL),
    ("environment", signal.SIGKILL),
    ("agent-dice", signal.SIGKILL),
    ("worker", signal.SIGKILL),
    ("broker", signal.SIGSTOP),
    ("agent-dice", signal.SIGSTOP),
    ("environment", signal.SIGSTOP),
    ("worker", signal.SIGSTOP),
]


@pytest.mark.parametrize(
    ("victim", "number"), VICTIMS, ids=[f"{victim}-{number.name}" for victim, number in VICTIMS]
)
def test_a_shard_of_which_a_program_is_killed_or_frozen_loses_nothing(
    nodes: Nodes, folder: Path, undisturbed: Account, victim: str, number: signal.Signals
) -> None:
    file = folder / "cup.toml"
    file.write_text(CUP)
    out = folder.parent / "cluster" / "cup"
    more = ["--on", f"ray:{nodes.address}", "--out", str(out.parent), "--shards=2"]
    with subprocess.Popen(
        command(file, *more, "--give-up=20"),
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        shards = started(program, 2)
        reach(program, out, 1)
        mine = shards[1]
        process = parent(mine["broker"]) if victim == "worker" else mine[victim]
        os.kill(process, number)
        _, wrong = program.communicate(timeout=240)
    assert program.returncode == 0, wrong
    assert "Traceback" not in wrong
    assert differences(account(out), undisturbed) == []
    gone(nodes)


def gone(nodes: Nodes) -> None:
    """Wait until the nodes run no program of ours, which must be within ten seconds."""
    end = time.monotonic() + 10
    while found := programs(nodes):
        assert time.monotonic() < end, f"{found} outlive their driver"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([signal.SIGKILL], -signal.SIGKILL),
        ([signal.SIGINT], 128 + signal.SIGINT),
        ([signal.SIGINT, signal.SIGINT], 128 + signal.SIGINT),
    ],
    ids=["driver-SIGKILL", "driver-SIGINT", "driver-SIGINT-twice"],
)
def test_what_was_played_is_played_on_without_a_cluster(
    nodes: Nodes, folder: Path, undisturbed: Account, numbers: list[signal.Signals], code: int
) -> None:
    file = folder / "cup.toml"
    file.write_text(CUP)
    out = folder.parent / "cluster" / "cup"
    more = ["--on", f"ray:{nodes.address}", "--out", str(out.parent), "--shards=2"]
    with subprocess.Popen(
        command(file, *more),
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        started(program, 2)
        reach(program, out, 1)
        kept = episodes_of(out)
        assert programs(nodes)
        for number in numbers:
            program.send_signal(number)
            time.sleep(0.2)
        _, wrong = program.communicate(timeout=60)
    assert program.returncode == code, wrong
    assert "Traceback" not in wrong
    gone(nodes)
    again = run(file, "--in-process", "--out", str(out.parent), "--resume")
    assert again.returncode == 0, again.stderr
    assert "measured after 0: played before" in again.stdout
    assert kept >= 100
    assert differences(account(out), undisturbed) == []


def test_without_its_head_a_run_ends_and_goes_on_on_another_cluster(
    folder: Path, undisturbed: Account
) -> None:
    file = folder / "cup.toml"
    file.write_text(CUP)
    out = folder.parent / "cluster" / "cup"
    more = ["--out", str(out.parent), "--shards=2"]
    with cluster() as nodes:
        with subprocess.Popen(
            command(file, "--on", f"ray:{nodes.address}", *more),
            cwd=folder.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            started(program, 2)
            reach(program, out, 1)
            nodes.order("head")
            _, wrong = program.communicate(timeout=60)
        assert program.returncode == 1, wrong
        assert "the head of the Ray cluster" in wrong.strip().splitlines()[-1]
        assert "Traceback" not in wrong
        gone(nodes)
    with cluster() as nodes:
        again = run(file, "--on", f"ray:{nodes.address}", *more, "--resume")
    assert again.returncode == 0, again.stderr
    assert "measured after 0: played before" in again.stdout
    assert differences(account(out), undisturbed) == []


def test_of_two_drivers_at_one_store_the_first_stops_and_the_second_plays_on(
    nodes: Nodes, folder: Path, undisturbed: Account
) -> None:
    file = folder / "cup.toml"
    file.write_text(CUP)
    on = ["--on", f"ray:{nodes.address}", "--store", f"sqlite:///{folder.parent}/store.sqlite"]
    outs = [folder.parent / each for each in ("first", "second")]
    with subprocess.Popen(
        command(file, *on, "--out", str(outs[0]), "--shards=1"),
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        started(program, 1)
        reach(program, folder.parent / "store.sqlite", 1)
        program.send_signal(signal.SIGSTOP)  # so that it has not ended before the second has begun
        second = run(file, *on, "--out", str(outs[1]), "--shards=1", "--resume")
        program.send_signal(signal.SIGCONT)
        _, wrong = program.communicate(timeout=60)
    assert second.returncode == 0, second.stderr
    assert program.returncode == 1
    assert "was resumed by" in wrong.strip().splitlines()[-1], wrong
    assert differences(account(folder.parent / "store.sqlite"), undisturbed) == []


def test_a_node_without_an_extra_costs_one_line(folder: Path, tmp_path: Path) -> None:
    file = folder / "cup.toml"
    file.write_text(CUP)
    # Python on the node finds this module first.
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_NUMBA)
    with cluster() as nodes:
        nodes.order(f"add PYTHONPATH={tmp_path}")
        done = run(file, "--on", f"ray:{nodes.address}", "--out", str(folder.parent / "out"))
    assert done.returncode != 0
    [line] = done.stderr.strip().splitlines()
    assert "(127.0.0.5): it has no numba" in line
    assert line.endswith("pip install 'dovetail[games]'")
    assert not [*(folder.parent / "out").rglob("*.journal")]


def test_a_full_disk_ends_a_run_in_one_line_and_it_goes_on_once_there_is_room(
    nodes: Nodes, folder: Path, undisturbed: Account, tmp_path: Path
) -> None:
    if why := disturb.lacking():
        pytest.skip(why)
    file = folder / "cup.toml"
    file.write_text(CUP)
    out = folder.parent / "cluster" / "cup"
    words = ["--on", f"ray:{nodes.address}", "--out", str(out.parent), "--shards=2"]
    full = disturb.Disturbance(tmp_path)
    with subprocess.Popen(
        command(file, *words),
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **full.environment},
    ) as program:
        started(program, 2)
        reach(program, out, 1)
        full.disk(full=True)
        _, wrong = program.communicate(timeout=120)
    assert program.returncode == 1, wrong
    assert "No space left on device" in wrong.strip().splitlines()[-1], wrong
    assert "None" not in wrong
    assert "Traceback" not in wrong
    assert full.happened[2] > 0
    gone(nodes)
    again = run(file, *words, "--resume")
    assert again.returncode == 0, again.stderr
    assert differences(account(out), undisturbed) == []


def parent(process: int) -> int:
    """Return the process that started another one: the worker of Ray."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def end_of(process: int) -> None:
    """Wait until a process that is not ours has ended, which must be within ten seconds."""
    end = time.monotonic() + 10
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < end, "a program outlives its host"
        time.sleep(0.05)


@pytest.mark.parametrize("seed", range(int(os.environ.get("DOVETAIL_KILLS", "0"))))
def test_shards_whose_brokers_are_killed_at_random_lose_and_double_nothing(
    folder: Path, seed: int
) -> None:
    """``DOVETAIL_KILLS=10``: schedules; with ``DOVETAIL_SHARDS=100`` each on a hundredth of a
    CPU."""
    draw = random.Random(seed)
    count = int(os.environ.get("DOVETAIL_SHARDS", "6"))
    file = folder / "cup.toml"
    file.write_text(CUP.replace("episodes = 600", "episodes = 2000"))
    share = 3 / count / 2
    more = [f"--shards={count}", "--set", f"processes.resources.cpus={share:.3f}"]
    more += ["--set", "environment.hosted=true"]
    more += [w for a in ("dice", "other", "net") for w in ("--set", f"agents.{a}.hosted=true")]
    out = folder.parent / "cluster" / "cup"
    with cluster() as nodes:
        on = ["--on", f"ray:{nodes.address}", "--out", str(out.parent), *more]
        with subprocess.Popen(
            command(file, *on),
            cwd=folder.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout is not None
            brokers: list[int] = []
            while len(brokers) < count:
                brokers += map(int, re.findall(r"broker \((\d+)\)", program.stdout.readline()))
            for _ in range(count // 3):
                time.sleep(draw.uniform(0.0, 2.0))
                victim = brokers.pop(draw.randrange(len(brokers)))
                with contextlib.suppress(OSError):  # it has ended
                    os.kill(draw.choice([victim, parent(victim)]), signal.SIGKILL)
            _, wrong = program.communicate()
    assert program.returncode == 0, wrong
    here = run(file, "--in-process", "--out", str(folder.parent / "here"))
    assert here.returncode == 0, here.stderr
    assert differences(account(out), account(folder.parent / "here" / "cup")) == []


def test_a_study_row_is_done_on_nodes(nodes: Nodes, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dovetail", "study", "dominion", "bots-2", "--quick"]
    on = ["--on", f"ray:{nodes.address}"]
    found = []
    for words in (on, ["--jobs", "1"]):
        where = tmp_path / words[0].strip("-")
        where.mkdir()
        done = subprocess.run([*command, *words], cwd=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        [kept] = (where / "out" / "studies").rglob("*.jsonl")
        lines = [json.loads(line) for line in kept.read_text().splitlines()]
        found.append(sorted(json.dumps([each["unit"], each["result"]]) for each in lines))
    assert found[0] == found[1]
