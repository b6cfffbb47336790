"""Experiments on a Ray cluster of three nodes of this host, some of which are killed on the way.

Their results are compared with those of one machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.clusters import Nodes, cluster

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import episodes
from dovetail_experiments.records.records import Records

pytest.importorskip("ray", reason="needs ray; `make test-ray` installs it")
pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.xdist_group("ray")]

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


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "files"
    path.mkdir()
    (path / "game.py").write_text(GAME)
    (path / "helper.py").write_text(HELPER)
    return path


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


def account(folder: Path) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return what a record has of every episode and state, but for times and numbers of the broker."""
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


def results(folder: Path) -> str:
    """Return the results for programs, but for the software, which may change while this runs."""
    text = (folder / "results.json").read_text()
    return re.sub(r"dovetail \d[^,]*,", "dovetail,", text)


def test_a_search_with_a_killed_node_is_as_on_one_machine(nodes: Nodes, folder: Path) -> None:
    file = folder / "sweep.toml"
    file.write_text(SWEEP)
    out = file.parent.parent / "cluster" / "sweep"
    words = ["--on", f"ray:{nodes.address}", "--out", str(out.parent)]
    with subprocess.Popen(
        command(file, *words),
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        reach(program, out, 2)
        nodes.order("kill 0")
        said, wrong = program.communicate(timeout=240)
    assert program.returncode == 0, wrong
    assert "on Ray: 3 nodes with 3 CPUs" in said
    here = run(file, "--in-process", "--out", str(folder.parent / "here"))
    assert here.returncode == 0, here.stderr
    assert account(out) == account(folder.parent / "here" / "sweep")
    assert results(out) == results(folder.parent / "here" / "sweep")
    for trial in sorted((out / "trials").iterdir()):
        assert {"results.json", "summary.txt", "progress.txt", "curves.png", "logs"} <= {
            each.name for each in trial.iterdir()
        }
        [journal] = trial.glob("*.journal")
        assert len({(e.label, e.result.index) for _, e in episodes(journal)}) == 60 + 4 * 10
    again = run(file, *words, "--resume")
    assert "every trial was played before" in again.stdout
    nodes.order("add")


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
