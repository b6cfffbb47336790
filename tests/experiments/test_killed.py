"""``dovetail run``, of which a part is killed at some row of its store, resumed once as a user does
it.

What is killed, when, and in what kind of experiment follows from a seed.  CI plays ten of them; the
slow test plays as many as DOVETAIL_KILLS says, from DOVETAIL_FIRST_KILL on.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.killed import MOMENTS, VICTIMS

from dovetail_experiments.records.records import Records
from dovetail_experiments.stages.runner import RunnerOptions
from dovetail_experiments.stages.trials import execute

# One worker plays the undisturbed runs once.
pytestmark = [
    pytest.mark.processes,
    pytest.mark.usefixtures("undrawn", "forked"),
    pytest.mark.xdist_group("killed runs"),
]

SMALL = """
seed = 3
environment = { name = "connect_four", configuration = { rows = 4, columns = 4, connect = 3 }, hosted = true }
[agents.dice]
type = "random"
hosted = true
"""
LEARNERS = f"""
name = "learners"
{SMALL}
[agents.one]
type = "td"
parameters = {{ hidden = 4 }}
[agents.two]
type = "q-learning"
hosted = true
[[phases]]
name = "play"
seats = ["one", "two"]
episodes = 12
evaluate_every = 4
[[evaluations]]
name = "eval"
seats = ["one", "dice"]
episodes = 4
rotate = true
"""
LEAGUE = f"""
name = "league"
{SMALL}
[agents.one]
type = "td"
parameters = {{ hidden = 4 }}
hosted = true
[[leagues]]
name = "self"
learner = "one"
pool = ["dice"]
episodes = 12
block = 4
snapshot_every = 4
[[evaluations]]
name = "eval"
seats = ["one", "dice"]
episodes = 4
"""
SWEEP = f"""
name = "sweep"
seeds = [1, 2]
{SMALL.replace("seed = 3", "")}
[sweep.parameters]
"agents.one.parameters.hidden" = [2, 4]
[agents.one]
type = "td"
hosted = true
[[phases]]
name = "play"
seats = ["one", "one"]
episodes = 6
evaluate_every = 6
[[evaluations]]
name = "eval"
seats = ["one", "dice"]
episodes = 4
"""
SHARDS = f"""
name = "shards"
{SMALL}
[processes]
shards = 2
[agents.other]
type = "random"
hosted = true
[[evaluations]]
name = "measured"
seats = ["dice", "other"]
episodes = 20
concurrency = 2
rotate = true
[[tournaments]]
name = "all"
players = ["dice", "other"]
episodes = 20
"""
FILES = {"learners": LEARNERS, "league": LEAGUE, "sweep": SWEEP, "shards": SHARDS}
JOBS = {"sweep": 2}
TIMES = ("seconds", "id", "instance", "started", "finished", "saved", "software", "platform")
KEPT = ("executions", "settings", "stages", "seatings", "episodes", "seats", "measures")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The part that is killed, when and in what."""

    kind: str
    victim: str
    moment: str
    rows: int

    @classmethod
    def of(cls, seed: int, episodes: dict[str, int]) -> Schedule:
        """Return that of a seed; four seeds in a row have all kinds."""
        rng = random.Random(seed)
        kind = list(FILES)[seed % len(FILES)]
        victim = VICTIMS[(seed + seed // len(FILES)) % len(VICTIMS)]
        moment = rng.choice(MOMENTS)
        return cls(kind, victim, moment, rng.randint(1, episodes[kind]))


class Undisturbed:
    """The experiments as they are without a disturbance, each played when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._accounts: dict[str, dict[str, Any]] = {}

    def file(self, kind: str) -> Path:
        path = self.folder / f"{kind}.toml"
        path.write_text(FILES[kind])
        return path

    def account(self, kind: str) -> dict[str, Any]:
        if kind not in self._accounts:
            here = RunnerOptions(in_process=True, shards=1)
            execute(self.file(kind), out=self.folder / "whole", options=here)
            self._accounts[kind] = account(self.folder / "whole" / kind)
        return self._accounts[kind]

    def episodes(self) -> dict[str, int]:
        return {kind: len(self.account(kind)["episodes"]) for kind in FILES}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("killed"))


def killed(schedule: Schedule, file: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Play what a schedule says in its own process, which it may kill."""
    command = [sys.executable, str(Path(__file__).with_name("killed.py")), "run", str(file)]
    command += ["--out", str(out)]
    if schedule.kind in JOBS:
        command += ["--jobs", str(JOBS[schedule.kind])]
    env = {**os.environ, "KILLED": f"{schedule.victim},{schedule.moment},{schedule.rows}"}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)


def account(folder: Path) -> dict[str, Any]:
    """Return all that is stored and shown of an experiment, without times and the store's own
    numbers."""
    found: dict[str, Any] = {}
    with Records(folder) as records:
        tables: dict[str, list[dict[str, Any]]] = {}
        for table in KEPT:
            tables[table] = [dict(row) for row in records.rows(table)]
        executions = {row["id"]: (row["trial"], row["seed"]) for row in tables["executions"]}
        stages = {row["id"]: (row["execution"], row["number"]) for row in tables["stages"]}
        episodes = {row["id"]: (row["stage"], row["number"]) for row in tables["episodes"]}
        found["states"] = {
            (e.variant, e.seed, e.agent): (e.stage, e.state) for e in records.states()
        }
    for table, rows in tables.items():
        for row in rows:
            if table == "executions":
                assert row["finished"] is not None
            if "episode" in row:
                row["stage"], row["episode"] = episodes[row["episode"]]
            if "stage" in row:
                row["execution"], row["stage"] = stages[row["stage"]]
            if "execution" in row:
                row["execution"] = executions[row["execution"]]
            for key in (*TIMES, "attempt", "writer"):
                row.pop(key, None)
        found[table] = sorted(rows, key=repr)
    found["results"] = timeless(json.loads((folder / "results.json").read_text()))
    found["summary"] = (folder / "summary.txt").read_text() if "sweep" in folder.name else ""
    return found


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if "seconds" not in k}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def disturbed(schedule: Schedule, undisturbed: Undisturbed, out: Path) -> None:
    """Play with a disturbance, resume once, and compare."""
    expected = undisturbed.account(schedule.kind)
    file = undisturbed.file(schedule.kind)
    first = killed(schedule, file, out)
    if schedule.victim in ("runner", "everything"):
        assert first.returncode == -signal.SIGKILL, first.stderr
    if (schedule.kind, schedule.victim) == ("shards", "broker"):  # the other shard plays on
        assert first.returncode == 0, first.stderr
    if first.returncode:
        with Records(out / schedule.kind) as records:
            assert list(records.rows("episodes")), f"nothing was killed: {first.stderr}"
        execute(file, out=out, resume=True, jobs=JOBS.get(schedule.kind, 1))
    found = account(out / schedule.kind)
    for part, rows in expected.items():
        assert found[part] == rows, part
    left = [each.name for each in out.rglob("*") if each.name.endswith((".live", ".old", ".torn"))]
    assert left == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_killed_run_resumed_once_is_as_undisturbed(
    seed: int, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    disturbed(Schedule.of(seed, undisturbed.episodes()), undisturbed, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(14_400)
def test_many_killed_runs(undisturbed: Undisturbed, tmp_path: Path) -> None:
    count = int(os.environ.get("DOVETAIL_KILLS", "200"))
    first = int(os.environ.get("DOVETAIL_FIRST_KILL", "10"))
    for seed in range(first, first + count):
        schedule = Schedule.of(seed, undisturbed.episodes())
        print(f"{seed}: {schedule}", flush=True)
        disturbed(schedule, undisturbed, tmp_path / str(seed))
