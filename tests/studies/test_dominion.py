from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Decision, DovetailError, InProcess
from dovetail.cli.common import command as run_app
from dovetail.peer.agents.agent import Agent, End, Seat
from dovetail_agents.games.dominion.bots import (
    BigMoneyParameters,
    BlacksmithParameters,
    DominionBigMoney,
    DominionBlacksmith,
    DominionChapel,
    DominionGreedy,
    DominionMoney,
    DominionRandom,
    MoneyParameters,
)
from dovetail_agents.games.dominion.q_learning import REWARDS, DominionQ, DominionQParameters
from dovetail_agents.learning import splitmix
from dovetail_experiments.statistics import wilson
from dovetail_games.dominion import Configuration, Dominion, DominionGame
from dovetail_games.dominion.cards import KINDS, KINGDOM
from dovetail_studies.dominion.command import app
from dovetail_studies.dominion.compiled import PLAYERS, Compiled, play, rules
from dovetail_studies.dominion.games import POINTS, seeded
from dovetail_studies.dominion.learning import jump, plateau
from dovetail_studies.dominion.study import (
    MatchResult,
    Point,
    TableTraining,
    bots,
    first_good,
    run,
    smoothed,
    table_of,
    tune,
)
from dovetail_studies.rows import study

TWO = ("Smithy", "Chapel")
BOTS: dict[str, Callable[[], Agent]] = {
    "random": DominionRandom,
    "money": DominionMoney,
    "greedy": DominionGreedy,
    "blacksmith": DominionBlacksmith,
    "chapel": DominionChapel,
    "money-3": lambda: DominionMoney(MoneyParameters(golds=3)),
    "blacksmith-3": lambda: DominionBlacksmith(BlacksmithParameters(provinces_left=3)),
    "big-money-2": lambda: DominionBigMoney(BigMoneyParameters(smithies=2)),
}


class Draws(random.Random):
    """The random numbers of the compiled games, where the real rules and players expect
    Python's."""

    def __init__(self, seed: int, game: int) -> None:
        self.state = seeded(seed, game)

    def _randbelow(self, n: int) -> int:
        return int(splitmix.draw(self.state, n))

    def random(self) -> float:
        return float(splitmix.fraction(self.state))


def real(
    configuration: Configuration,
    seats: list[str],
    learner: DominionQ,
    seed: int,
    game: int,
    learn: bool,
) -> tuple[Any, list[int], list[float] | None]:
    """Play a game by the environment's rules and the agents themselves; return what ``play`` sums
    up."""
    rng = Draws(seed, game)
    environment = Dominion(configuration)
    spec = environment.init()
    state = environment.game = DominionGame(configuration, rng)
    agents = [learner if name == "learner" else BOTS[name]() for name in seats]
    places = [Seat(1, number, spec) for number in range(len(seats))]
    memories = [agent.Memory() for agent in agents]
    mode: Any = "learn" if learn else "evaluate"
    turn = 0
    while not state.over:
        seat = state.seat
        seen = environment.observation(seat)
        legal = state.legal()
        decision = Decision(places[seat], game, turn, seen, legal, 0.0, mode, rng)
        decision.memory = memories[seat]
        state.act(agents[seat].step(decision))
        turn += 1
    outcome = None if state.cut else state.outcome(configuration.tie)
    reason: Any = "truncated" if state.cut else "terminated"
    for seat, agent in enumerate(agents):
        if learn:
            seen = environment.observation(seat)
            end = End(places[seat], game, 0.0, seen, outcome, reason, None, 0.0, turn, mode)
            end.memory = memories[seat]
            agent.end(end)
    owned = np.array([player.counts() for player in state.players])
    return owned, [player.turns for player in state.players], outcome


def both(
    configuration: Configuration,
    seats: list[str],
    parameters: DominionQParameters,
    games: int,
    learn: bool = True,
    seed: int = 5,
) -> tuple[DominionQ, DominionQ, Any, Any]:
    """Play the same games both ways; return the learners, and the sums."""
    slow, fast = DominionQ(parameters, seed=3), DominionQ(parameters, seed=3)
    expected = np.zeros((len(seats), 4 + KINDS))
    for game in range(games):
        owned, turns, outcome = real(configuration, seats, slow, seed, game, learn)
        expected[:, 4:] += owned
        points = [owned[seat] @ POINTS for seat in range(len(seats))]
        expected[:, 1] += points
        expected[:, 2] += turns
        expected[:, 0] += outcome or [0.0] * len(seats)
        expected[:, 3] += outcome is not None
    compiled = Compiled(fast)
    players = np.array([PLAYERS[name] for name in seats])
    found = play(compiled, rules(configuration), players, seed, 0, games, learn)
    compiled.give()
    fast.episodes = slow.episodes
    return slow, fast, expected, found


@given(
    st.lists(st.sampled_from([*BOTS, "learner"]), min_size=2, max_size=4),
    st.sampled_from([TWO, KINGDOM]),
    st.sampled_from(["fair", "shared", "highest-seat"]),
    st.sampled_from(["turn", "round"]),
    st.sampled_from(["aside", "discard"]),
    st.sampled_from(["random", "seat-0"]),
    st.sampled_from([-1, 0, 3]),
    st.sampled_from([3, 300]),
    st.sampled_from(["actions-first", "dearest", "one"]),
    st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_games_are_those_of_the_real_rules_and_players(
    seats: list[str],
    kingdom: tuple[str, ...],
    tie: Any,
    end: Any,
    played: Any,
    first: Any,
    curses: int,
    rounds: int,
    plays: Any,
    seed: int,
) -> None:
    configuration = Configuration(
        players=len(seats),
        kingdom=kingdom,
        kingdom_size=len(kingdom),
        tie=tie,
        end=end,
        played=played if kingdom == TWO else "aside",
        first=first,
        curses=curses,
        max_rounds=rounds,
        chapel=3 + seed % 2,
        conspirator=2 + seed % 2,
    )
    parameters = DominionQParameters(version="23-4", min_visits=1, epsilon=0.5, plays=plays)
    slow, fast, expected, found = both(configuration, seats, parameters, 2, seed=seed)
    np.testing.assert_array_equal(found, expected)
    assert fast.save() == slow.save()


@pytest.mark.parametrize("table", ["dense", "sparse"])
@pytest.mark.parametrize("reward", REWARDS)
def test_every_reward_teaches_the_same_bit_for_bit(reward: str, table: Any) -> None:
    parameters = DominionQParameters(
        version="14.0",
        table=table,
        reward=reward,
        min_visits=2,
        epsilon=0.3,
        rate_power=0.5,
        least_rate=0.05,
    )
    configuration = Configuration(players=3, kingdom=TWO, kingdom_size=2)
    seats = ["learner", "chapel", "learner"]
    slow, fast, expected, found = both(configuration, seats, parameters, 25)
    np.testing.assert_array_equal(found, expected)
    assert fast.table.tried() > 500
    assert fast.save() == slow.save()


@pytest.mark.parametrize("learn", [True, False])
def test_rules_for_extra_buys_differ_and_are_the_same_bit_for_bit(learn: bool) -> None:
    configuration = Configuration(players=2, kingdom=KINGDOM)
    games, values = [], []
    for extra_buys in ("undiscounted", "discounted", "none"):
        parameters = DominionQParameters(version="23-4", extra_buys=extra_buys)
        seats = ["random", "learner"]
        slow, fast, expected, found = both(configuration, seats, parameters, 12, learn)
        np.testing.assert_array_equal(found, expected)
        assert fast.save() == slow.save()
        games.append(found.tolist())
        values.append(fast.table.values.copy())
    assert games[2] != games[0]
    assert np.array_equal(values[0], values[1]) == (not learn)


@pytest.mark.parametrize("learn", [True, False])
def test_rules_for_playing_differ_and_are_the_same_bit_for_bit(learn: bool) -> None:
    configuration = Configuration(players=3, kingdom=KINGDOM)
    games = []
    for plays in ("actions-first", "dearest", "one"):
        parameters = DominionQParameters(version="23-4", plays=plays, epsilon=0.5)
        seats = ["learner", "money", "learner"]
        slow, fast, expected, found = both(configuration, seats, parameters, 12, learn)
        np.testing.assert_array_equal(found, expected)
        assert fast.save() == slow.save()
        games.append(found.tolist())
    assert games[0] != games[1] != games[2] != games[0]


def test_turns_without_end_are_refused() -> None:
    with pytest.raises(DovetailError, match="a turn may draw and play Bazaar forever"):
        rules(Configuration(played="discard"))


def test_version_0_and_evaluation_are_the_same_and_change_nothing() -> None:
    configuration = Configuration(players=2, kingdom=TWO, kingdom_size=2)
    for table in ("dense", "sparse"):
        parameters = DominionQParameters(version="0", table=table)
        slow, fast, expected, found = both(
            configuration, ["learner", "money"], parameters, 10, False
        )
        np.testing.assert_array_equal(found, expected)
        assert fast.save() == slow.save() == DominionQ(parameters, seed=3).save()


# -- the study -------------------------------------------------------------------------------------

SEATS = ["money", "blacksmith", "greedy"]
FOUR = table_of(4)
QUICK: dict[str, Any] = {"rate_power": 0.5, "learning_rate": 1.0}


def point(trained: int, won: float) -> Point:
    none = MatchResult(1, [], [], 0.0, [])
    return Point(trained, won, 0, 0, none)


def test_first_good_and_means_of_a_series_made_by_hand() -> None:
    """0.4 is below the mean of what follows, 0.6 the first above it."""
    series = [point(n, won) for n, won in enumerate([0.1, 0.4, 0.6, 0.5, 0.55, 0.5])]
    found = first_good(series)
    assert found is not None
    assert found.trained == 2
    assert first_good([point(1, 0.1), point(2, 0.2)]) is None
    assert smoothed([1, 2, 3, 4, 5, 6, 8], 5) == [3.0, 7.0]


@pytest.mark.parametrize("table", ["dense", "sparse"])
def test_stopped_and_resumed_is_the_same_as_never_stopping(table: Any) -> None:
    parameters = DominionQParameters(table=table, **QUICK)
    whole = TableTraining(DominionQ(parameters, 2), FOUR, SEATS, seed=7)
    expected = list(whole.points(900, 300, 50))
    half = TableTraining(DominionQ(parameters, 2), FOUR, SEATS, seed=7)
    first = list(half.points(600, 300, 50))
    again = DominionQ()
    again.load(half.save())
    rest = TableTraining(again, FOUR, SEATS, seed=7)
    assert first + list(rest.points(900, 300, 50)) == expected
    assert rest.save() == whole.save()


def test_tests_change_nothing_and_sparse_is_dense() -> None:
    found = []
    for table in ("dense", "sparse"):
        parameters = DominionQParameters(version="14.5", table=table, **QUICK)
        study = TableTraining(DominionQ(parameters, 2), FOUR, SEATS, seed=7)
        study.train(3000)
        state = study.save()
        found.append((study.train(500), study.test(500)))
        after = study.save()
        study.test(500, ["random"] * 3)
        assert study.save() == after != state
    assert found[0] == found[1]


@pytest.mark.parametrize("table", ["dense", "sparse"])
def test_the_best_table_is_left_and_wins_as_often_through_the_broker(table: Any) -> None:
    agent = DominionQ(DominionQParameters(table=table, **QUICK), 2)
    study = TableTraining(agent, FOUR, ["random"] * 3, seed=7)
    points = run(study, 6000, 1500, 500)
    best = max(points, key=lambda each: each.won)
    assert (agent.episodes, study.compiled.counts(1)) == (best.trained, best.explored)
    compiled = study.test(4000)
    assert compiled.share[3] > 0.9
    state = study.save()
    with InProcess([Dominion], [DominionQ, DominionRandom]) as experiment:
        learner = experiment.create("dominion-q", state=state)
        other = experiment.create("dominion-random", seed=4)
        options = {"players": 4, "kingdom": ["Smithy", "Chapel"], "kingdom_size": 2}
        games = experiment.run(
            "dominion",
            [other, other, other, learner],
            configuration=options,
            episodes=60,
            seed=3,
            mode="evaluate",
        )
        won = sum(each.outcome[3] for each in games if each.outcome)
        assert experiment.save(learner) == state
    found = wilson(won, 60)
    assert found.low <= compiled.share[3] <= found.high


def test_bots_win_as_the_study_says() -> None:
    """Table 3.3.1: Money against Greedy 62.58 %, with ties to the last seat."""
    found = bots(table_of(2, tie="highest-seat"), ["money", "greedy"], 4000, 1)
    assert abs(found.share[0] - 0.6258) < 0.05
    assert bots(table_of(2), ["random", "money"], 500, 1).share == [0.0, 1.0]


def test_a_full_sparse_table_stops_in_one_line() -> None:
    agent = DominionQ(DominionQParameters(version="23-2", table="sparse", table_mib=3), 2)
    study = TableTraining(agent, table_of(4, KINGDOM), SEATS, seed=7)
    with pytest.raises(DovetailError, match="reached its limit of 3 MiB at"):
        study.train(20_000)


def test_forced_exploration_explores_more() -> None:
    explored = []
    for forced in (0, 10):
        agent = DominionQ(DominionQParameters(version="1", min_visits=forced), 2)
        study = TableTraining(agent, FOUR, SEATS, seed=7)
        study.train(5000)
        visits = agent.table.visits
        explored.append((study.compiled.counts(1), study.compiled.counts(10)))
        often = int(np.count_nonzero(visits >= 10))
        assert explored[-1] == (int(np.count_nonzero(visits)), often)
    assert explored[1][0] > 1.2 * explored[0][0]
    assert explored[1][1] > 1.5 * explored[0][1]


def test_bounds_are_tuned_to_the_means() -> None:
    steps = tune(
        DominionQParameters(version="14.0", **QUICK), table_of(2), ["money"], 3, 2000, 1000, 500
    )
    assert [len(steps), steps[0].states] == [6, 50 * 5 * 5 * 10 * 10]
    for before, after in itertools.pairwise(steps):
        assert after.states <= before.states
        for name, bound in after.bounds.items():
            expected = max(7 if name == "Copper" else 0, math.ceil(before.means[name]))
            assert bound in (before.bounds[name], expected)


def command(*arguments: str) -> int:
    return run_app(app, "dovetail train dominion", list(arguments))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, points = tmp_path / "best.state", tmp_path / "points.jsonl"
    base = ["train", "--games", "400", "--every", "200", "--tests", "100", "--again", "100"]
    assert command(*base, "--out", str(state), "--points", str(points), "--set", "version=12") == 0
    assert "tested again, ties fair" in capsys.readouterr().out
    DominionQ().load(state.read_bytes())
    assert len(points.read_text().splitlines()) == 2
    last = tmp_path / "last.state"
    assert command(*base, "--last", str(last), "--quiet") == 0
    capsys.readouterr()
    assert command(*base, "--resume", str(last), "--quiet") == 1
    assert "has learned from 400 games already; --games is not more" in capsys.readouterr().err
    more = [each if each != "400" else "600" for each in base]
    assert command(*more, "--resume", str(last)) == 0
    assert capsys.readouterr().out.count(" games: ") == 1
    assert command("test", str(last), str(state), "--again", "100") == 0
    assert "last.state: 400 games, " in capsys.readouterr().out
    assert command("bots", "money,chapel", "--games", "100") == 0
    small = ["--games", "50", "--every", "50", "--tests", "10"]
    capsys.readouterr()
    assert command("tune", *small) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("train --set x=1", "agent dominion-q has no option 'x'"),
        ("train --opponents x", "there is no player 'x'; there are random, money"),
        ("train --opponents money,money", "2 players are named, but 3 others play"),
        ("train --set version=13", "option 'version'"),
        ("train --resume nowhere/x", "cannot read nowhere/x"),
        ("train --set reward=environment", 'has no reward "environment"'),
        (
            "train --games 10 --every 10 --tests 1 --again 1 --out nowhere/x",
            "cannot write nowhere/x",
        ),
        ("bots money", "1 players are named; 2 to 4 can play"),
        ("train --players 7", "dovetail train dominion train --help`"),
    ],
)
def test_errors_take_one_line(
    arguments: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*arguments.split()) in (1, 2)
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("row", "pair", "printed"),
    [
        ("bots-2", ["money", "chapel"], (57.81, 40.04, 42.03, 20.53)),
        ("bots-4", ["greedy", "blacksmith"], (60.12, 25.91, 28.18, 14.92)),
    ],
)
def test_scripted_players_reproduce_the_tables(
    row: str, pair: list[str], printed: tuple[float, ...]
) -> None:
    """With Money's third Gold, played cards discarded at once, fair ties and rounds counted from
    0."""
    work = study("dominion").row(row).work
    assert work
    found = work({"players": int(row[-1]), "pair": pair, "games": 20_000, "seed": 1})
    share, *points, rounds = printed
    assert 100 * found["won"] == pytest.approx(share, abs=1)
    assert found["points"] == pytest.approx(points, abs=0.2)
    assert found["rounds"] == pytest.approx(rounds, abs=0.15)


def test_bounds_say_what_a_version_changes_and_what_it_gains() -> None:
    row = study("dominion").row("bounds")
    assert row.units
    assert row.draw
    done = [
        (unit, {"best": 0.4, "again": 0.4 + 0.1 * (unit["version"] == "4"), "explored": 9})
        for unit in row.units({"games": 20, "again": 10}, [1, 2])
    ]
    cards = {"games": 50, "cards": {"Smithy": 1.0}, "curve": [0.2, 0.4]}
    drawn = row.draw([(unit, result | cards) for unit, result in done])
    lines = {line[0]: line for line in drawn.lines}
    assert "Smithy 1 for 2" in lines["4, epsilon-greedy"]
    assert any(
        cell.startswith("10.0 ") and cell.endswith(" to 3") for cell in lines["4, epsilon-greedy"]
    )
    assert any(
        cell.startswith("-10.0 ") and cell.endswith(" to 4")
        for cell in lines["9, forced exploration"]
    )
    assert lines["1, epsilon-greedy"].count("-") == 2


def test_a_curve_has_a_level_and_a_greatest_rise() -> None:
    results = [{"curve": [0.0, 0.1, 0.5, 0.49, 0.5]}, {"curve": [0.3, 0.4, 0.47, 0.8, 0.8]}]
    level, rise = plateau(results, 500), jump(results, 500)
    assert (level.value, rise.value) == (350, 350)  # after 300 and 400 games, each
    assert 0 <= level.low <= level.high <= 500
    for curve in ([0.2], [0.5, 0.4, 0.1]):  # a single test, and one that only falls
        assert jump([{"curve": curve}], 300).value == 300 / len(curve)
