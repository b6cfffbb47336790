"""Experiments dealt to several brokers: the results of one, whole or killed and resumed."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from dovetail.client.client import RunFailed
from dovetail.protocol.errors import DovetailError, Refused
from dovetail.protocol.journal import EpisodeRecord, episodes, uncounted, write
from dovetail.protocol.messages import Episode
from dovetail_experiments.records.records import Records
from dovetail_experiments.stages.places import journal_of, merge_journals
from dovetail_experiments.stages.playing import Playing
from dovetail_experiments.stages.runner import ExecutionResult, RunnerOptions, execute
from dovetail_experiments.stages.shards import Shard, Shards
from dovetail_experiments.stages.trials import execute as execute_all

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("undrawn")]
FILE = """
name = "dealt"
seed = 5

[processes]
shards = 2

[environment]
name = "connect_four"
configuration = { rows = 4, columns = 4, connect = 3 }
hosted = true

[agents.dice]
type = "random"
hosted = true

[agents.other]
type = "random"
hosted = true

[agents.third]
type = "random"
hosted = true

[[evaluations]]
name = "measured"
seats = ["dice", "third"]
episodes = 41
concurrency = 3
rotate = true

[[tournaments]]
name = "all"
players = ["dice", "other", "third"]
episodes = 30
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from dovetail_experiments.stages.playing import Playing
from dovetail_experiments.stages.runner import execute

poll = Playing._poll

def deadly(self, job, *more):
    took = poll(self, job, *more)
    if job.stage.number == 3 and job.over:
        os.kill(os.getpid(), signal.SIGKILL)
    return took

Playing._poll = deadly
execute(Path(sys.argv[1]), out=Path(sys.argv[2]))
"""
"""Ends without a chance to say so as soon as it has results of the last meeting."""


@pytest.fixture
def dealt(tmp_path: Path) -> Path:
    path = tmp_path / "dealt.toml"
    path.write_text(FILE)
    return path


def stored(execution: ExecutionResult) -> list[Any]:
    """The record of every episode, but for times and the broker's numbers."""
    found: list[Any] = []
    with Records(execution.folder) as records:
        stages = {row["id"]: row["number"] for row in records.rows("stages")}
        played = {row["id"]: row for row in records.rows("episodes")}
        for seat in records.rows("seats"):
            row = {**played[seat["episode"]], **seat}
            row["stage"] = stages[row["stage"]]
            for key in ("id", "episode", "instance", "seconds"):
                del row[key]
            found.append(row)
    return sorted(found, key=lambda row: (row["stage"], row["number"], row["seat"]))


def table(execution: ExecutionResult) -> Any:
    """The results for programs, but for thinking times."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if "seconds" not in k}
        return [timeless(each) for each in value] if isinstance(value, list) else value

    return timeless(json.loads((execution.folder / "results.json").read_text()))


def end_of(process: int) -> None:
    """Wait until a process that is not ours has ended."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(60_000), "a process outlives its experiment"
    os.close(descriptor)


@pytest.mark.long
@pytest.mark.usefixtures("forked")
def test_killed_and_resumed_in_shards_it_is_as_with_one_broker(
    dealt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = execute(dealt, out=tmp_path / "whole", options=RunnerOptions(in_process=True, shards=1))
    command = [sys.executable, "-uc", KILLED, str(dealt), str(tmp_path / "dealt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        shown = program.stdout.read()
    assert program.returncode == -signal.SIGKILL, shown
    brokers = re.findall(r"^shard \d: processes: broker \((\d+)\)$", shown, re.MULTILINE)
    assert len(brokers) == 2
    for each in brokers:
        end_of(int(each))
    capsys.readouterr()
    resumed = execute(dealt, out=tmp_path / "dealt", resume=True)
    assert len(re.findall("played before", capsys.readouterr().out)) == 3
    assert stored(resumed) == stored(whole)
    assert table(resumed) == table(whole)
    for each in resumed.played:
        assert [episode.index for episode in each.episodes] == list(range(each.stage.episodes))
        assert len({e.seats[0].instance for e in each.episodes}) == len(set(each.stage.part.seats))
    [journal] = resumed.folder.glob("*.journal")
    counted = [record for k, record in episodes(journal) if k not in uncounted(journal)]
    assert len(counted) == 41 + 3 * 30
    of_last = [record for record in counted if record.label.startswith("1/3/")]
    assert sorted(record.result.index for record in of_last) == list(range(30))


@pytest.mark.long
def test_an_agent_that_is_stopped_does_not_forfeit(
    dealt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    dice = '[agents.dice]\ntype = "random"\n'
    dealt.write_text(FILE.replace(f"{dice}hosted = true\n", dice))
    whole = execute(dealt, out=tmp_path / "whole", options=RunnerOptions(in_process=True, shards=1))
    poll = Playing._poll
    stopped: list[int] = []

    def stopping(playing: Playing, job: Any, *more: Any) -> bool:
        took = poll(playing, job, *more)
        if job.over and not stopped:
            assert playing._place.shards is not None
            stopped.append(playing._place.shards.all[1].pids["agent-dice"])
            os.kill(stopped[0], signal.SIGSTOP)
        return took

    monkeypatch.setattr(Playing, "_poll", stopping)
    found = execute(dealt, out=tmp_path / "dealt")
    assert "shard 2 is lost" in caplog.text
    assert "the process of agent-dice was stopped by SIGSTOP" in caplog.text
    assert stored(found) == stored(whole)
    end_of(stopped[0])


@pytest.mark.slow
def test_with_a_process_for_each_role_it_is_the_same(dealt: Path, tmp_path: Path) -> None:
    net = FILE.replace("hosted = true\n", "").replace(
        '[agents.third]\ntype = "random"', '[agents.third]\ntype = "td"'
    )
    dealt.write_text(net)
    one = execute(dealt, out=tmp_path / "one", options=RunnerOptions(shards=1))
    three = execute(dealt, out=tmp_path / "three", options=RunnerOptions(shards=3))
    assert stored(three) == stored(one)
    assert table(three) == table(one)
    assert {each.name for each in (three.folder / "logs").iterdir()} > {"shard-2", "shard-3"}


@pytest.mark.parametrize(
    ("options", "changes", "complaint"),
    [
        (
            RunnerOptions(connect="tcp://127.0.0.1:1"),
            {},
            "they need their own brokers; remove --connect",
        ),
        (RunnerOptions(in_process=True), {}, "they are processes; remove --in-process"),
        (
            RunnerOptions(shards=60),
            {},
            "60 shards are too many: the longest part, 'measured', has only 41",
        ),
        (RunnerOptions(), {"processes.pin": True}, "remove `pin`"),
        (
            RunnerOptions(),
            {"phases": [{"name": "school", "seats": ["dice", "other"]}]},
            "'school' learns, and each shard would have its own learner",
        ),
        (
            RunnerOptions(),
            {"leagues": [{"name": "league", "learner": "dice", "pool": ["other"]}]},
            "'league' learns",
        ),
    ],
)
def test_what_cannot_be_dealt_costs_one_line(
    dealt: Path, tmp_path: Path, options: RunnerOptions, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(DovetailError) as found:
        execute_all(dealt, out=tmp_path, overrides=changes, options=options)
    assert complaint in str(found.value)
    assert str(found.value).startswith("dealt cannot be played in ")
    assert "\n" not in str(found.value)
    assert not (tmp_path / "dealt").exists(), "it was begun"


def test_shards_and_jobs_do_not_share_the_cores(dealt: Path, tmp_path: Path) -> None:
    with pytest.raises(DovetailError, match="--jobs and shards both use the cores"):
        execute_all(dealt, out=tmp_path, overrides={"repeats": 2}, jobs=2)


class Scripted:
    """An experiment whose runs give results when the test says so."""

    forgotten = False

    def __init__(self) -> None:
        self.runs: list[ScriptedRun] = []

    def run(self, environment: str, agents: list[int], **options: Any) -> ScriptedRun:
        self.runs.append(ScriptedRun(agents, options))
        return self.runs[-1]


class ScriptedRun:
    def __init__(self, agents: list[int], options: dict[str, Any]) -> None:
        self.agents = agents
        self.first: int = options["first_index"]
        self.end = self.first + options["episodes"]
        self.seeds = options["seeds"]
        self.substitutes = options.get("substitutes")
        self.results: list[Episode] = []
        self.drained = False

    def poll(self, timeout: float) -> list[Episode] | None:
        results, self.results = self.results, []
        over = self.first == self.end or self.drained
        return results or (None if over else [])

    def play(self, *, again: bool = False) -> None:
        self.results.append(Episode(1, self.first, 1, 0, "terminated", [], will_retry=again))
        self.first += not again

    def drain(self) -> None:
        self.drained = True


def scripted(episodes: int, **options: Any) -> tuple[list[Scripted], Any]:
    places = [Scripted(), Scripted()]
    shards = Shards([Shard(cast("Any", each)) for each in places])
    shards.made([7, 9])
    seeds = list(range(100, 100 + episodes))
    return places, shards.run("g", [7], episodes=episodes, first_index=20, seeds=seeds, **options)


def test_results_come_in_order_and_each_shard_gets_work_as_it_ends_some() -> None:
    (one, two), run = scripted(40, substitutes=[7])
    assert [one.runs[0].agents, two.runs[0].agents] == [[7], [9]]
    assert [one.runs[0].substitutes, two.runs[0].substitutes] == [[7], [9]]
    assert [one.runs[0].seeds, two.runs[0].seeds] == [[100, 101, 102, 103], [104, 105, 106, 107]]
    two.runs[0].play(again=True)
    for _ in range(4):
        two.runs[0].play()
    assert run.poll(0.0) == []
    assert len(two.runs) == 2
    one.runs[0].play()
    found = run.poll(0.0)
    assert [each.index for each in found] == [20]
    while (results := run.poll(0.0)) is not None:
        found += results
        for place in (two, one):
            if place.runs[-1].first < place.runs[-1].end:
                place.runs[-1].play()
    assert [each.index for each in found if not each.will_retry] == list(range(20, 60))
    assert [each.index for each in found if each.will_retry] == [24]
    sizes = [len(each.seeds) for place in (one, two) for each in place.runs]
    assert sum(sizes) == 40
    assert max(sizes) == 5, "chunks grow to a share of what is left"


def test_runs_at_once_share_the_shards() -> None:
    places = [Scripted(), Scripted()]
    shards = Shards([Shard(cast("Any", each)) for each in places])
    options: Any = {"first_index": 0, "seeds": None}
    runs = [shards.run("g", [], episodes=each, **options) for each in (2, 3)]
    assert [len(place.runs) for place in places] == [1, 1], "the second run must wait"
    assert runs[1].poll(0.0) == []
    found: dict[int, list[int]] = {0: [], 1: []}
    left = {0, 1}
    while left:
        for number in sorted(left):
            results = runs[number].poll(0.0)
            if results is None:
                left.remove(number)
            else:
                found[number] += [episode.index for episode in results]
        for place in places:
            if place.runs[-1].first < place.runs[-1].end:
                place.runs[-1].play()
    assert found == {0: [0, 1], 1: [0, 1, 2]}


def test_a_merge_that_was_killed_before_the_others_were_removed_can_be_repeated(
    tmp_path: Path,
) -> None:
    def played(label: str) -> EpisodeRecord:
        result = Episode(1, 0, 1, 5, "terminated", [])
        return EpisodeRecord(result, "game", {}, "learn", [], label=label)

    path = tmp_path / "x.journal"
    for _ in range(2):
        if not path.exists():
            write(path, [played(""), played("")])
        write(journal_of(path, 2), [played("b"), played("b")])
        merge_journals(path)
        assert not journal_of(path, 2).exists()
        assert sorted(record.label for _, record in episodes(path)) == ["", "", "b"]


def test_after_drain_what_was_begun_is_returned_and_nothing_else_dealt() -> None:
    (one, two), run = scripted(40, concurrency=4)
    assert [one.runs[0].end, two.runs[0].end] == [30, 40]
    two.runs[0].play()
    assert run.poll(0.0) == []
    run.drain()
    found = []
    while (results := run.poll(0.0)) is not None:
        found += [each.index for each in results]
    assert found == [30]
    assert len(one.runs) + len(two.runs) <= 3


class Dead(Scripted):
    """A broker whose programs end as soon as ``ended`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = ""
        self.stopped = 0

    def check(self) -> None:
        if self.ended:
            raise DovetailError(self.ended)

    def stop(self) -> None:
        self.stopped += 1


def mortal(episodes: int) -> tuple[list[Dead], Shards, Any]:
    places = [Dead(), Dead()]
    shards = Shards([Shard(cast("Any", each), each.check, each.stop) for each in places])
    shards.made([7, 9])
    seeds = list(range(100, 100 + episodes))
    return places, shards, shards.run("g", [7], episodes=episodes, first_index=20, seeds=seeds)


def test_the_others_play_what_a_lost_shard_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    (one, two), shards, run = mortal(40)
    two.runs[0].play()
    one.runs[0].play()
    found = run.poll(0.0)
    assert [each.index for each in found] == [20]
    one.ended = "the process of broker was ended by SIGKILL"
    shards.check()
    assert (one.stopped, two.stopped) == (1, 0)
    assert caplog.messages == [
        "shard 1 is lost, and the others play its episodes: the process of broker was ended by SIGKILL"
    ]
    while (results := run.poll(0.0)) is not None:
        found += results
        if two.runs[-1].first < two.runs[-1].end:
            two.runs[-1].play()
        else:
            for each in two.runs:
                if each.first < each.end:
                    each.play()
    assert [each.index for each in found] == list(range(20, 60))
    again = [seed for each in two.runs for seed in each.seeds]
    assert sorted(again) == [seed for seed in range(100, 140) if seed != 100]
    assert {tuple(each.agents) for each in two.runs} == {(9,)}


def test_the_last_shard_that_is_lost_ends_the_run_with_its_reason() -> None:
    (one, two), shards, run = mortal(40)
    one.ended = "the first has ended"
    shards.check()
    two.ended = "the second has ended"
    with pytest.raises(DovetailError, match="the second has ended"):
        shards.check()
    assert shards.alive == [shards.all[1]]
    assert two.stopped == 0
    del run


def test_a_program_that_is_silent_loses_its_shard(caplog: pytest.LogCaptureFixture) -> None:
    (one, two), shards, _run = mortal(40)
    shards.fail(shards.all[1], RunFailed("unavailable", "td (agent-net) did not come back"))
    assert (one.stopped, two.stopped) == (0, 1)
    assert shards.alive == [shards.all[0]]
    assert caplog.messages[0].endswith("td (agent-net) did not come back")
    with pytest.raises(RunFailed, match="did not come back"):
        shards.fail(shards.all[0], RunFailed("unavailable", "td (agent-net) did not come back"))


def test_a_broker_that_has_forgotten_the_experiment_loses_its_shard() -> None:
    (one, two), shards, _run = mortal(40)
    two.forgotten = True
    shards.fail(shards.all[1], Refused("unknown", "no agent 9"))
    assert (one.stopped, two.stopped) == (0, 1)
    assert shards.alive == [shards.all[0]]


def test_a_fault_of_the_file_loses_no_shard() -> None:
    (_one, two), shards, _run = mortal(40)
    for error in (RunFailed("seats", "two seats"), Refused("seats", "two seats")):
        with pytest.raises(DovetailError, match="two seats"):
            shards.fail(shards.all[1], error)
    assert two.stopped == 0
    assert shards.alive == shards.all
