"""Tournaments from their files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from dovetail import DovetailError
from dovetail.protocol.journal import episodes
from dovetail_experiments.files.file import read
from dovetail_experiments.reports import output
from dovetail_experiments.reports.games import counted
from dovetail_experiments.stages import progress
from dovetail_experiments.stages.playing import Playing
from dovetail_experiments.stages.runner import ExecutionResult, RunnerOptions, execute
from dovetail_experiments.stages.schedule import Stage, stages
from dovetail_experiments.statistics.tallies import faulty, interrupted

pytestmark = pytest.mark.usefixtures("undrawn")
FILE = """
name = "three"
seed = 5

[environment]
name = "connect_four"
configuration = { rows = 4, columns = 4, connect = 3 }

[agents.one]
type = "random"

[agents.two]
type = "random"

[agents.searching]
type = "alpha-beta"
parameters = { depth = 3 }

[[tournaments]]
name = "all"
players = ["one", "two", "searching"]
episodes = 10
lookahead = true
"""


def test_every_pair_meets_in_both_orders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "three.toml"
    path.write_text(FILE)
    found = stages(read(path))
    assert [each.part.seats for each in found] == [
        ["one", "two"],
        ["one", "searching"],
        ["two", "searching"],
    ]
    assert {each.mode for each in found} == {"evaluate"}
    done = execute(path, options=RunnerOptions(in_process=True), out=tmp_path)
    assert [each.endings.games for each in done.played] == [10, 10, 10]
    first_seat = [each.seats[0].agent for each in done.played[1].episodes]
    assert sorted(first_seat) == ["alpha-beta"] * 5 + ["random"] * 5
    text = (tmp_path / "three" / "summary.txt").read_text()
    assert "searching" in text
    assert "Elo" in text
    assert capsys.readouterr().out.count("searching") >= 1


def test_a_tournament_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    for old, new, problem in (
        ('"searching"]', '"nobody"]', "nobody"),
        ("episodes = 10", "episodes = 9", "multiple of 2"),
        ('players = ["one", "two", "searching"]', 'players = ["one"]', "2 seats need as many"),
        ('"two", "searching"]', '"two", "two"]', "named twice"),
        ("episodes = 10", "seats = 3\nformat = 'swiss'", "episodes must be a multiple of 3"),
        ("episodes = 10", "seats = 3\nepisodes = 9\nformat = 'swiss'", "format is for two seats"),
        ("episodes = 10", "sprt = { elo0 = 5, elo1 = 5 }", "elo0 must be below elo1"),
        ("episodes = 10", "best_of = 101", "best_of = 101 needs as many episodes"),
        ("episodes = 10", "format = 'gauntlet'\nchallengers = 3", "other than its challengers"),
        ('"searching"]', '"one@*"]', "no league trains 'one'"),
    ):
        path.write_text(FILE.replace(old, new))
        with pytest.raises(DovetailError, match=problem):
            read(path)
    path.write_text(FILE[: FILE.index("[[tournaments]]")])
    with pytest.raises(DovetailError, match="nothing to play"):
        read(path)


def test_a_snapshot_that_no_league_reaches_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    text = FILE.replace('"random"', '"td"')
    league = "[[leagues]]\nname = 'train'\nlearner = 'one'\nepisodes = 50\nsnapshot_every = 20\n"
    for at in (0, 20, 40, 50, "*"):
        path.write_text(text.replace('"one", "two", ', f'"one@{at}", ') + league)
        read(path)
    for at in (30, 60, "-20", "x", ""):
        path.write_text(text.replace('"one", "two", ', f'"one@{at}", ') + league)
        with pytest.raises(DovetailError) as caught:
            read(path)
        assert str(caught.value) == (
            f"{path}, line 21: 'all': there is no snapshot 'one@{at}'; "
            "'train' keeps one every 20 episodes, from 0 to 50"
        )


def played(path: Path, text: str, out: Path, **options: object) -> ExecutionResult:
    path.write_text(text)
    return execute(path, options=RunnerOptions(in_process=True), out=out, **options)  # type: ignore[arg-type]


def with_keys(keys: str) -> str:
    return FILE.replace("episodes = 10", keys)


DETERMINISTIC = FILE.replace("random", "td").replace(
    'type = "alpha-beta"\nparameters = { depth = 3 }', 'type = "td"'
)


def test_deterministic_players_get_openings_and_others_do_not(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    found = played(path, DETERMINISTIC.replace("10", "20"), tmp_path)
    one = found.played[0].episodes
    assert [each.opening for each in one if each.index < 4] == [[]] * 4  # the trial
    later = {each.index: each for each in one if each.index >= 4}
    assert len({str(each.opening) for each in later.values()}) == 8
    for index in range(4, 20, 2):
        assert later[index].opening == later[index + 1].opening
        assert later[index].seed == later[index + 1].seed
    for other in found.played[1:]:  # one list for all pairings
        lines = {each.index: each.opening for each in other.episodes if each.index >= 4}
        assert lines == {index: each.opening for index, each in later.items()}
    text = (tmp_path / "three" / "summary.txt").read_text()
    assert "3 meetings began with a round that was played twice" in text
    assert "over 27 units" in text
    dice = played(path, FILE, tmp_path / "dice")
    assert all(each.opening == [] for each in dice.played[0].episodes)


def test_openings_of_a_file_and_plies(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("# first moves\n0 1\n\n[1, 2, 3]\n")
    path = tmp_path / "three.toml"
    found = played(path, with_keys(f"episodes = 8\nopenings = '{book}'"), tmp_path)
    for each in found.played[0].episodes:
        assert each.opening == ([[0], [1]] if each.index // 2 % 2 == 0 else [[1], [2], [3]])
    found = played(path, with_keys("episodes = 8\nopenings = 3"), tmp_path / "plies")
    assert {len(each.opening) for stage in found.played for each in stage.episodes} == {3}
    for folder in (
        tmp_path,
        tmp_path / "plies",
    ):  # where openings were drawn or tried, no game was played
        journal = folder / "three" / "games-1.journal"
        assert len(list(counted(journal))) == 24 < len(list(episodes(journal)))
    book.write_text("1 2\nfour\n")
    with pytest.raises(DovetailError, match=r"book.txt:2: 'four' is not an opening"):
        played(path, with_keys(f"episodes = 8\nopenings = '{book}'"), tmp_path / "bad")


@pytest.mark.parametrize(
    ("openings", "wrong"),
    [
        (
            "[[0], [1, 9]]",
            r": all: one - two: opening 2 of 2, turn 1: action 9 is not legal; legal:",
        ),
        ("[[0, 1, 0, 1, 0]]", r": all: one - two: opening 1 of 1 ends the game$"),
    ],
)
def test_openings_that_cannot_be_played_are_told_before_the_first_game(
    openings: str, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "three.toml"
    with pytest.raises(DovetailError, match=r"three.toml, line \d+" + wrong):
        played(path, with_keys(f"episodes = 8\nopenings = {openings}"), tmp_path)
    assert "games in" not in capsys.readouterr().out


def test_a_test_needs_an_opening_for_each_pair(tmp_path: Path) -> None:
    keys = "episodes = 400\nopenings = [[0], [1]]\nsprt = { elo0 = 0, elo1 = 100 }"
    text = with_keys(keys).replace('["one", "two", "searching"]', '["one", "searching"]')
    wrong = r"line \d+: all: sprt counts each opening once, so 2 openings decide within 4 games; "
    with pytest.raises(
        DovetailError, match=f"{wrong}set episodes = 4, or give openings for all 400"
    ):
        played(tmp_path / "three.toml", text, tmp_path)


def test_a_test_stops_a_meeting_early_and_again_when_resumed(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    keys = "episodes = 400\nsprt = { elo0 = 0, elo1 = 100, model = 'logistic' }"
    text = with_keys(keys).replace('["one", "two", "searching"]', '["one", "searching"]')
    found = played(path, text, tmp_path)
    counts = [each.endings.games for each in found.played]
    assert counts[0] < 100  # alpha-beta is far better than random
    assert counts[0] % 2 == 0
    summary = (tmp_path / "three" / "summary.txt").read_text()
    assert "one - searching: LLR -" in summary
    assert "H0 accepted" in summary
    again = played(path, text, tmp_path / "again")
    assert [each.endings.games for each in again.played] == counts


def test_a_test_of_one_pair_says_so(tmp_path: Path) -> None:
    keys = "episodes = 2\nopenings = [[0]]\nsprt = { elo0 = 0, elo1 = 100 }"
    text = with_keys(keys).replace('["one", "two", "searching"]', '["one", "searching"]')
    played(tmp_path / "three.toml", text, tmp_path)
    assert ", 1 pair: undecided" in (tmp_path / "three" / "summary.txt").read_text()


@pytest.mark.long
def test_knockout_swiss_gauntlet_and_best_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "three.toml"
    cup = played(path, with_keys("format = 'knockout'\nepisodes = 10"), tmp_path / "k")
    assert cup.played[0].stage.part.seats == ["two", "searching"]
    assert cup.played[1].stage.part.name == "all: one - searching (round 2)"
    swiss = played(path, with_keys("format = 'swiss'\nepisodes = 4\nrounds = 3"), tmp_path / "s")
    assert len(swiss.played) == 3
    assert len({frozenset(each.stage.part.seats) for each in swiss.played}) == 3
    capsys.readouterr()
    monkeypatch.setattr(progress, "EVERY", 0.0)  # seconds between lines without a terminal
    gauntlet = played(path, with_keys("format = 'gauntlet'\nepisodes = 4"), tmp_path / "g")
    shown = capsys.readouterr().out
    assert re.search(
        r"all: one - two 0-4: 3 of 4 games, [\d.e+]+ games/s, about \d+:\d\d:\d\d left", shown
    )
    [line] = [each for each in shown.splitlines() if "all so far: " in each]
    found = {
        name: (points, games) for name, points, games in re.findall(r"(\w+) ([\d.]+)/(\d)", line)
    }
    assert {name: games for name, (_, games) in found.items()} == {
        **dict.fromkeys(("two", "searching"), "4"),
        "one": "8",
    }
    assert sum(float(points) for points, _ in found.values()) == 8
    seats = [each.stage.part.seats for each in gauntlet.played]
    assert seats == [["one", "two"], ["one", "searching"]]
    best = played(path, with_keys("episodes = 10\nbest_of = 3\nparallel = 3"), tmp_path / "b")
    assert [each.endings.games for each in best.played][1:] == [2, 2]


FIRST_WINS = """
from dovetail import Environment, Spec, Turn, spaces

SEEDS = []


class FirstWins(Environment):
    def init(self):
        one = [spaces.Discrete(1)]
        return Spec(seats=2, observation_spaces=one, action_spaces=one)

    def start(self, seed):
        SEEDS.extend([seed] * (seed not in SEEDS))
        if SEEDS.index(seed) == 2:
            raise ZeroDivisionError("a bug")
        return Turn.ask(0, 0)

    def step(self, actions):
        return Turn.end([0, 0], [0, 0], outcome=[1, 0])
"""


def test_a_game_that_fails_after_the_meeting_is_decided_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(FIRST_WINS)
    keys = "episodes = 6\nbest_of = 3\nopenings = 0\nconcurrency = 6"
    text = with_keys(keys).replace('"connect_four"', f"'{tmp_path}/first.py:FirstWins'")
    text = re.sub("configuration = .*|lookahead = .*", "", text)
    text = text.replace('"one", "two", "searching"', '"one", "two"')
    [meeting] = played(tmp_path / "three.toml", text, tmp_path).played
    assert sorted(each.index for each in meeting.episodes) == [0, 1, 2]  # games 4 and 5 fail
    with pytest.raises(DovetailError, match=r"2 of 6 episodes could not be played, such as numb"):
        played(tmp_path / "three.toml", text.replace("best_of = 3", ""), tmp_path / "all")


def test_players_of_a_game_for_one_meet_on_the_same_seeds(tmp_path: Path) -> None:
    path = tmp_path / "alone.toml"
    text = """
name = "alone"
[environment]
name = "2048"
[agents.one]
type = "random"
[agents.two]
type = "random"
[[tournaments]]
name = "alone"
players = ["one", "two"]
seats = 1
episodes = 6
max_turns = 60
cap = 1000
"""
    found = played(path, text, tmp_path)
    one, two = (sorted((e.index, e.seed) for e in each.episodes) for each in found.played)
    assert one == two
    summary = (tmp_path / "alone" / "summary.txt").read_text()
    assert "capped" in summary
    assert "Wilcoxon" in summary
    [cup] = json.loads((tmp_path / "alone" / "results.json").read_text())["tournaments"]
    assert [(each["games"], each["wins"]) for each in cup["players"]] == [(6, None)] * 2
    with pytest.raises(DovetailError, match="set `seats` of the tournament 'alone'"):
        played(path, text.replace("seats = 1", "seats = 2"), tmp_path)


def test_four_players_rotate_and_are_rated(tmp_path: Path) -> None:
    path = tmp_path / "four.toml"
    agents = "".join(
        f'[agents.p{k}]\ntype = "dominion-{kind}"\n'
        for k, kind in enumerate(["money", "random", "greedy", "random"])
    )
    text = f"""
name = "four"
[environment]
name = "dominion"
configuration = {{ players = 4 }}
{agents}
[[tournaments]]
name = "four"
players = ["p0", "p1", "p2", "p3"]
seats = 4
episodes = 8
"""
    found = played(path, text, tmp_path)
    (stage,) = found.played
    seeds = {each.index: each.seed for each in stage.episodes}
    assert seeds[0] == seeds[3] != seeds[4]
    summary = (tmp_path / "four" / "summary.txt").read_text()
    assert "95 % over 2 units, each an opening with" in summary


LEAGUE = """
name = "league"
seed = 3
[environment]
name = "connect_four"
configuration = { rows = 4, columns = 4, connect = 3 }
[agents.first]
type = "td"
parameters = { hidden = 4 }
[agents.dice]
type = "random"
[[leagues]]
name = "league"
learner = "first"
pool = ["dice"]
policy = "prioritised"
episodes = 60
block = 10
snapshot_every = 20
[[evaluations]]
name = "against dice"
seats = ["first", "dice"]
episodes = 10
[[tournaments]]
name = "ladder"
players = ["first@*", "dice"]
episodes = 2
"""


def test_a_league_trains_one_seat_and_its_snapshots_make_a_ladder(tmp_path: Path) -> None:
    path = tmp_path / "league.toml"
    found = played(path, LEAGUE, tmp_path)
    kinds = [each.stage.kind for each in found.played]
    assert kinds.count("league") == 6
    assert kinds.count("evaluation") == 4
    assert kinds.count("tournament") == 10  # five players: four snapshots and dice
    blocks = [each.stage for each in found.played if each.stage.kind == "league"]
    assert [stage.first for stage in blocks] == [0, 10, 20, 30, 40, 50]
    marks = ["first@0", "first@20", "first@40", "first@60"]
    assert sorted(name for name in found.states if "@" in name) == marks
    assert len({found.states[mark] for mark in marks}) == 4
    assert found.states["first@60"] == found.states["first"]
    assert {stage.part.seats[1] for stage in blocks} <= {"dice", *marks}
    assert "first@40" in (tmp_path / "league" / "summary.txt").read_text()
    again = played(path, LEAGUE[: LEAGUE.index("[[tournaments]]")], tmp_path / "again")
    assert again.states == found.states


def test_an_agent_that_is_frozen_in_a_phase_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "frozen.toml"
    text = (
        LEAGUE[: LEAGUE.index("[[leagues]]")].replace('"random"', '"td"')
        + """
[[phases]]
name = "one side"
seats = ["first", "dice"]
frozen = ["dice"]
episodes = 10
"""
    )
    found = played(path, text, tmp_path)
    assert list(found.states) == ["first"]
    with pytest.raises(DovetailError, match="freezes 'first', which has no seat"):
        played(
            path,
            text.replace('["first", "dice"]', '["dice", "dice"]').replace(
                'frozen = ["dice"]', 'frozen = ["first"]'
            ),
            tmp_path,
        )


def test_a_player_is_added_to_a_finished_tournament(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    two = FILE.replace('["one", "two", "searching"]', '["one", "two"]')
    with pytest.raises(DovetailError, match="no finished run of three to extend"):
        played(path, two, tmp_path, extend=True)
    before = played(path, two, tmp_path)
    after = played(path, FILE, tmp_path, extend=True)
    assert after.number == before.number + 1
    whole = played(path, FILE, tmp_path / "whole")

    def account(execution: ExecutionResult) -> list[object]:
        return [
            (each.stage.part.name, [(e.index, e.seed, e.digest) for e in each.episodes])
            for each in execution.played
        ]

    assert account(after)[0] == account(before)[0]
    assert account(after) == account(whole)
    for old, new, problem in (
        ("rows = 4", "rows = 5", "`environment` was changed"),
        ("episodes = 10", "episodes = 12", "the tournament 'all' was changed"),
        ("depth = 3", "depth = 2", r"\[agents.searching\] was changed"),
        ('"two", "searching"]', '"searching"]', "removed or moved"),
    ):
        with pytest.raises(DovetailError, match=problem):
            played(path, FILE.replace(old, new), tmp_path, extend=True)


@pytest.mark.long
@pytest.mark.parametrize("extend", [False, True])
def test_an_interrupted_extension_plays_only_the_new_meetings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extend: bool
) -> None:
    path = tmp_path / "three.toml"
    before = played(path, FILE.replace('"two", "searching"]', '"searching"]'), tmp_path)
    begin = Playing._begin
    begun: list[list[str]] = []

    def breaking(self: Playing, stage: Stage, display: Any) -> Any:
        begun.append(stage.part.seats)
        if len(begun) == 1:
            raise KeyboardInterrupt
        return begin(self, stage, display)

    monkeypatch.setattr(Playing, "_begin", breaking)
    with pytest.raises(KeyboardInterrupt):
        played(path, FILE, tmp_path, extend=True)
    done = played(path, FILE, tmp_path, resume=True, extend=extend)
    assert begun == [["one", "two"], ["one", "two"], ["two", "searching"]]
    assert done.number == before.number + 1
    taken = done.played[1].episodes
    assert [each.digest for each in taken] == [each.digest for each in before.played[0].episodes]


def test_a_summary_is_as_wide_as_its_tables_need(tmp_path: Path) -> None:
    table = Table()
    table.add_column("player")
    names = [f"a player with quite a long name, number {number}" for number in range(8)]
    for name in names:
        table.add_column(name)
    table.add_row("first", *names)
    output.tables(tmp_path / "summary.txt", table)
    lines = (tmp_path / "summary.txt").read_text().splitlines()
    assert any(all(name in line for name in names) for line in lines)


FLAKY = '''
from dovetail import Agent


class Flaky(Agent):
    """Fails at every 15th decision of its life."""

    decisions = 0

    def step(self, decision):
        self.decisions += 1
        if self.decisions % 15 == 0:
            raise RuntimeError("boom")
        return decision.legal[0]
'''


def test_a_player_that_fails_loses_its_games_in_a_tournament_and_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flaky.py").write_text(FLAKY)
    path = tmp_path / "three.toml"
    text = FILE.partition("[agents.searching]")[0].replace(
        '"random"', f"'{tmp_path}/flaky.py:Flaky'", 1
    )
    text += """
[[phases]]
name = "training"
seats = ["one", "two"]
episodes = 10

[[tournaments]]
name = "cup"
players = ["one", "two"]
episodes = 10
"""
    training, cup = played(path, text, tmp_path).played
    assert training.interrupted
    assert {each.reason for each in training.interrupted} == {"crashed"}
    lost = [each for each in cup.episodes if each.reason == "stalled"]
    assert lost
    for each in lost:
        assert each.blame is not None
        assert each.seats[each.blame].agent == "flaky"
        assert each.outcome is not None
        assert each.outcome[each.blame] == 0
    assert not cup.interrupted
    told = capsys.readouterr().out
    assert "interrupted and played again" in told
    assert "raised RuntimeError: boom (flaky.py:13)" in told
    out = tmp_path / "three"
    summary = (out / "summary.txt").read_text()
    assert f"training: {interrupted(len(training.interrupted))}" in summary
    assert f"one: {faulty(len(lost))}" in summary
    stages = json.loads((out / "results.json").read_text())["stages"]
    faults = sum(each["breaches"] for each in stages if each["agent"] == "one")
    assert faults == len(training.interrupted) + len(lost)
    assert "crashed, played again" in (out / "report.html").read_text()
