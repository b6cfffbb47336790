"""The store of an arena, the description of one, and how it travels."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import sqlalchemy as sa

from dovetail.peer import provenance
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode, SeatResult
from dovetail_experiments.arena import archive, entrants, units
from dovetail_experiments.arena.description import Ladder, check, read
from dovetail_experiments.arena.games import ArenaGame, forfeited, game, worth
from dovetail_experiments.arena.programs import Programs
from dovetail_experiments.arena.referee import keep
from dovetail_experiments.arena.standings import standings, table
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_experiments.commands import arena as cli
from dovetail_experiments.statistics.ranked import ladder

pytestmark = pytest.mark.fast

ARENA = """
name = "test"

[[ladders]]
name = "four"
game = "connect_four"
"""


@pytest.fixture
def store(tmp_path: Path) -> ArenaStore:
    return ArenaStore(tmp_path / "arena" / FILE, create=True)


def won(number: int, place: int, *, fault: str = "", digest: str = "") -> ArenaGame:
    """A game of two that the player at a place of the unit wins."""
    seating = [number % 2, 1 - number % 2]
    scores = [float(each == place) for each in seating]
    return ArenaGame(
        number,
        seating,
        scores,
        scores,
        [3, 3],
        [0.1, 0.2],
        reason=fault or "terminated",
        blame=seating.index(1 - place) if fault else None,
        digest=digest,
        message="why" if fault else "",
    )


def test_tokens_are_known_by_their_hash_and_can_be_withdrawn(store: ArenaStore) -> None:
    first = store.invite("alice")
    assert store.entrant(first) == "alice"
    assert store.entrant("x") is None
    second = store.invite("alice")
    assert store.entrant(first) is None
    assert store.entrant(second) == "alice"
    store.mark("alice", "banned", "cheats")
    assert store.entrant(second) is None
    store.mark("alice", "active", "")
    assert store.entrant(second) == "alice"
    for each in store.path.parent.iterdir():
        assert second.encode() not in each.read_bytes()


def test_a_unit_counts_once_and_ratings_are_those_of_all_units(store: ArenaStore) -> None:
    one, other = store.enter("four", "alice", "a"), store.enter("four", "", "random")
    assert store.enter("four", "alice", "a") == one
    season = store.season().number
    ranks = []
    for number in range(5):
        unit = store.plan(season, "four", 1, [one, other] if number % 2 else [other, one])
        assert [each.id for each in store.planned(season)] == [unit.id]
        assert store.begin(unit) == 1
        place = unit.players.index(one)
        assert store.finish(season, unit, [won(0, place), won(1, place)], 3)
        assert store.finish(season, unit, [won(0, 1 - place), won(1, 1 - place)], 3) == []
        ranks.append({"one": -1.0, "other": 0.0})
    assert store.planned(season) == []
    found, expected = store.ratings(season), ladder(ranks)
    assert found[one] == pytest.approx(expected["one"])
    assert found[other] == pytest.approx(expected["other"])
    assert store.counts(season) == {one: (5, 5), other: (5, 5)}
    rows = table(store.players("four"), store.played(season, "four"), 2).rows
    assert [(row.name, row.wins, row.losses, row.one_sided) for row in rows] == [
        ("alice/a", 10, 0, "least"),
        ("random", 0, 10, "most"),
    ]
    seeds = [g.seed for each in store.played(season, "four") for g in each.games]
    assert len(seeds) == 10


def test_a_unit_that_was_begun_again_takes_nothing_from_its_earlier_attempt(
    store: ArenaStore,
) -> None:
    one, other = store.enter("four", "alice", "a"), store.enter("four", "", "random")
    season = store.season().number
    unit = store.plan(season, "four", 1, [one, other])
    assert [store.begin(unit), store.begin(unit)] == [1, 2]
    store.drop(unit, "it was cancelled", 1, 1)
    assert store.finish(season, unit, [won(0, 1), won(1, 1)], 3, 1) == []
    assert store.finish(season, unit, [won(0, 0), won(1, 0)], 3, 2)
    [played] = store.played(season, "four")
    assert len(played.games) == 2
    assert store.counts(season) == {one: (1, 1), other: (1, 1)}


def test_three_faults_in_a_row_pause_and_say_why(store: ArenaStore) -> None:
    store.invite("alice")
    one, other = store.enter("four", "alice", "a"), store.enter("four", "", "random")
    season = store.season().number

    def play(*games: ArenaGame) -> str:
        unit = store.plan(season, "four", 1, [one, other])
        store.finish(season, unit, list(games), 3)
        return store.players()[one].state

    assert play(won(0, 1, fault="crashed"), won(1, 1, fault="timeout")) == "active"
    assert play(won(0, 0), won(1, 1, fault="crashed")) == "active"  # a clean game between
    assert play(won(0, 1, fault="crashed"), won(1, 1, fault="illegal-action")) == "paused"
    assert "3 losses by fault in a row" in store.players()[one].why
    assert "illegal-action (why)" in store.players()[one].why
    assert [line[1:3] for line in store.log()][-1] == ("paused", "alice/a")
    store.mark("alice/a", "active", "")
    assert play(won(0, 1, fault="crashed"), won(1, 1, fault="crashed")) == "active"
    store.mark("/random", "paused", "too weak")  # a baseline
    assert store.players()[other].why == "too weak"
    store.mark("alice", "paused", "holidays")
    assert (store.players()[one].state, store.players()[one].why) == ("paused", "holidays")
    with pytest.raises(DovetailError, match="there is no entrant or program 'alise'"):
        store.mark("alise", "paused", "")


def test_a_new_season_begins_with_nothing_and_the_old_one_stays(store: ArenaStore) -> None:
    players = [store.enter("four", "", name) for name in "ab"]
    first = store.season().number
    store.finish(first, store.plan(first, "four", 1, players), [won(0, 0), won(1, 0)], 3)
    late = store.plan(first, "four", 1, players)
    second = store.season("spring")
    assert store.planned(first) == []
    assert store.finish(first, late, [won(0, 0), won(1, 0)], 3) == []  # the season is over
    assert store.counts(second.number) == {}
    assert store.ratings(second.number) == {}
    assert len(store.played(first, "four")) == 1
    with pytest.raises(DovetailError, match="there was a season 'spring'"):
        store.season("spring")


def test_a_final_is_a_round_robin_of_those_who_played(store: ArenaStore) -> None:
    players = [store.enter("four", "", name) for name in "abcd"]
    first = store.season().number
    with pytest.raises(DovetailError, match="too few agents"):
        store.final(1, {"four": 2})
    for other in players[1:3]:
        unit = store.plan(first, "four", 1, [players[0], other])
        store.begin(unit)
        store.finish(first, unit, [won(0, 0), won(1, 1)], 3)
    waiting = store.plan(first, "four", 1, players[:2])
    playing = store.plan(first, "four", 1, players[:2])
    store.begin(playing)
    store.mark("/c", "paused", "")
    # d has not played, and c is paused.
    assert store.final(1, {"four": 2, "three": 3}, rounds=2) == {"four": 2, "three": 0}
    planned = store.planned(first)
    assert planned[0].id == playing.id
    assert waiting.id not in [each.id for each in planned]
    assert [sorted(each.players) for each in planned[1:]] == [players[:2]] * 2
    assert store.finish(first, playing, [won(0, 0), won(1, 1)], 3)
    with pytest.raises(DovetailError, match="has begun already"):
        store.final(1, {"four": 2})
    assert store.season().final is not None
    store.end(store.season())
    assert store.season().ended is not None
    assert store.season("next").final is None


def test_seasons_and_finals_begin_when_they_are_due(store: ArenaStore, tmp_path: Path) -> None:
    path = tmp_path / "arena.toml"
    dates = """
seasons = [
  { name = "spring", begins = 2027-03-01T08:00:00Z, final = 2027-06-01T08:00:00Z, rounds = 3 },
  { name = "autumn", begins = 2027-09-01T08:00:00Z, final = 2027-12-01T08:00:00Z },
]
"""
    path.write_text(dates + ARENA)
    arena = read(path)

    def at(month: int) -> tuple[str, bool, bool]:
        season = keep(store, arena, datetime(2027, month, 2, tzinfo=UTC))
        assert season == store.season()
        return season.name, season.final is not None, season.ended is not None

    assert at(2) == ("1", False, False)
    assert at(3) == at(4) == ("spring", False, False)
    players = [store.enter("four", "", name) for name in "ab"]
    season = store.season().number
    store.finish(season, store.plan(season, "four", 1, players), [won(0, 0), won(1, 1)], 3)
    assert at(6) == at(7) == ("spring", True, False)
    assert len(store.planned(season)) == 3
    store.end(store.season())
    assert at(8) == ("spring", True, True)
    assert at(9) == ("autumn", False, False)
    assert at(12) == ("autumn", False, True)  # no one has played
    assert "too few agents" in store.log()[-1][3]
    store.season("extra")  # by the operator
    assert at(12) == ("extra", False, False)
    path.write_text(dates.replace("2027-06-01", "2028-06-01") + ARENA)
    with pytest.raises(DovetailError, match="the seasons are not in order"):
        read(path)


def test_a_table_of_the_latest_units_around_a_baseline(store: ArenaStore) -> None:
    players = [store.enter("four", "", name) for name in ("a", "zero", "c")]
    for number in range(24):
        # Early a wins everything, later half of its units against zero, and three quarters against
        # c.
        other = 1 + number % 2
        wins = number < 8 or number % 4 < 2 or (other == 2 and number % 8 < 4)
        unit = store.plan(1, "four", 1, [players[0], players[other]])
        games = [won(n, 0 if wins else 1, digest=f"{number}{n}") for n in (0, 1)]
        store.finish(1, unit, games, 3)
    ladder = Ladder(name="four", game="connect_four")
    middle = standings(store, ladder, 1, 0)
    pinned = standings(store, msgspec.structs.replace(ladder, pinned="zero"), 1, 0)
    shift = next(row.elo.value for row in middle.rows if row.name == "zero")
    assert middle.played == 24
    for before, after in zip(middle.rows, pinned.rows, strict=True):
        assert before.name == after.name
        assert after.elo.value == pytest.approx(before.elo.value - shift)
    zero = next(row.elo for row in pinned.rows if row.name == "zero")
    assert (zero.value, zero.low, zero.high) == pytest.approx((0, 0, 0), abs=1e-6)
    late = standings(store, msgspec.structs.replace(ladder, window=16), 1, 0)
    assert late.played == 16
    whole, end = (next(r.points for r in each.rows if r.name == "a") for each in (middle, late))
    assert end < whole  # without its early wins


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("entrant", ["", "bob"])
def test_a_broken_newcomer_moves_no_one(store: ArenaStore, entrant: str, seats: int) -> None:
    players = [store.enter("four", entrant, name) for name in ("a", "b", "c")]

    def play(*chosen: int, number: int, winner: int) -> None:
        unit = store.plan(1, "four", 1, list(chosen))
        scores = [float(place == winner) for place in range(seats)]
        given = list(range(seats)), scores, scores, [3] * seats, [0.1] * seats
        games = [ArenaGame(n, *given, reason="terminated", digest=f"{number}") for n in (0, 1)]
        store.finish(1, unit, games, 3)

    def shown() -> dict[str, float]:
        ladder = Ladder(name="four", game="connect_four", seats=seats)
        found = standings(store, ladder, 1, 0)
        assert found.zero == f"the mean of the {'active agents' if entrant else 'baselines'}"
        return {row.name: row.elo.value for row in found.rows}

    for number in range(36):
        chosen = players if seats == 3 else [players[number % 3], players[(number + 1) % 3]]
        play(*chosen, number=number, winner=0 if number % 4 else 1)
    before = shown()
    newcomer = store.enter("four", "alice", "broken")
    for number in range(100, 108):
        chosen = [*players[: seats - 1], newcomer]
        play(*chosen, number=number, winner=number % (seats - 1))
    store.mark("alice/broken", "paused", "")
    after = shown()
    assert after["alice/broken"] < -70
    for name, value in before.items():
        assert after[name] == pytest.approx(value, abs=25)


def test_an_earlier_version_is_brought_up_to_date(tmp_path: Path) -> None:
    with ArenaStore(tmp_path / FILE, create=True) as store:
        store.season("two")
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as database, database:
        database.execute("ALTER TABLE seasons DROP COLUMN final")
        database.execute("ALTER TABLE units DROP COLUMN software")
        for name in ("since", "seen", "address"):
            database.execute(f"ALTER TABLE players DROP COLUMN {name}")
        for name in ("asked", "played", "pending"):
            database.execute(f"DROP INDEX ix_units_{name}")
        database.execute("ALTER TABLE units DROP COLUMN asked")
        database.execute('ALTER TABLE log DROP COLUMN "by"')
        database.execute("DROP TABLE submissions")
        database.execute("UPDATE arena SET version = 1")
    with ArenaStore(tmp_path / FILE) as store:
        assert [(each.name, each.final) for each in store.seasons()] == [("1", None), ("two", None)]
    with ArenaStore(tmp_path / FILE) as store:
        assert len(store.seasons()) == 2
        assert (store.open(), store.presence()) == ((0, 0), {})


def test_a_unit_costs_the_same_however_many_were_played(store: ArenaStore) -> None:
    """An arena lost a seventh of its games in five minutes, for it looked through all before."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    for engine in (store._engine, store._reader):
        sa.event.listen(
            engine,
            "checkout",
            lambda made, *_: made.set_progress_handler(count, 1),
        )
    players = [store.enter("four", "alice", name) for name in "ab"]
    store.enter("four", "bob", "new")

    def cost() -> int:
        nonlocal steps
        steps = 0
        unit = store.plan(1, "four", 1, players)
        store.begin(unit)
        assert store.finish(1, unit, [won(0, 0), won(1, 1)], 3, 1)
        assert store.latest(1, "four") == unit.id
        assert store.planned(1) == []
        assert len(store.played(1, "four", last=1)) == 1
        store.open()
        return steps

    few = [cost() for _ in range(10)][-1]
    many = [cost() for _ in range(300)][-1]
    assert few > 300
    assert many < 1.5 * few


def test_games_by_request_rate_nothing_and_pause_no_one(store: ArenaStore) -> None:
    one, other = store.enter("four", "alice", "a"), store.enter("four", "", "zero")
    strange = store.enter("five", "alice", "a")
    unit = store.plan(1, "four", 1, [one, other])
    store.finish(1, unit, [won(0, 0), won(1, 1)], 1)
    before = store.ratings(1)
    number = store.ask(1, "four", 1, [one, other], "alice")
    again = store.ask(1, "four", 1, [other, one], "alice")
    assert store.open() == (2, again)
    asked = {each.id: each for each in store.planned(1)}
    assert asked[number].asked == "alice"
    lost = msgspec.structs.replace(won(0, 1), reason="crashed", blame=0)
    store.begin(asked[number])
    assert [each.state for each in store.requests("alice")] == ["waiting", "playing"]
    assert store.finish(1, asked[number], [lost, won(1, 1)], 1) == []
    assert store.ratings(1) == before
    assert (store.players()[one].state, store.players()[one].faults) == ("active", 0)
    assert [each.id for each in store.played(1, "four")] == [unit.id]
    assert [each.id for each in store.played(1, "four", practice=True)] == [number]
    assert store.counts(1)[one][0] == 1
    practice = standings(store, Ladder(name="four", game="connect_four"), 1, 0, practice=True)
    assert [(row.name, row.games, row.faults) for row in practice.rows if row.games] == [
        ("zero", 2, 0),
        ("alice/a", 2, 1),
    ]
    with pytest.raises(DovetailError, match="not one that you asked for"):
        store.withdraw(again, "bob")
    store.withdraw(again, "alice")
    assert [each.state for each in store.requests()] == ["dropped", "played"]
    with pytest.raises(DovetailError, match="against itself"):
        store.ask(1, "four", 1, [one, one], "alice")
    with pytest.raises(DovetailError, match="of the ladder four"):
        store.ask(1, "four", 1, [one, strange], "alice")
    for _ in range(units.WAITING):
        store.ask(1, "four", 1, [one, other], "alice")
    with pytest.raises(DovetailError, match="10 games that you asked for are waiting"):
        store.ask(1, "four", 1, [one, other], "alice")
    store.final(1, {"four": 2})
    with pytest.raises(DovetailError, match="the final has begun"):
        store.ask(1, "four", 1, [one, other], "bob")


def test_who_is_there_is_known_until_the_arena_falls_silent(
    store: ArenaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1e9
    monkeypatch.setattr("time.time", lambda: now)
    one, other = store.enter("four", "alice", "a"), store.enter("four", "", "zero")
    assert store.presence("four")[one] == entrants.Presence()
    store.present({one: "10.0.0.7", other: ""}, {})
    store.begin(store.plan(1, "four", 1, [one, other]))
    found = store.presence()
    assert (found[one].state, found[one].address, found[other].state) == (
        "playing",
        "10.0.0.7",
        "playing",
    )
    now += 60
    store.present({other: ""}, {one: "10.0.0.7", other: ""})
    now += 9 * 60
    assert store.presence()[one].away(now) == "9 min"
    assert store.presence()[other].state == "away"  # nothing was written for ten minutes
    store.present({other: ""}, {other: ""})
    assert store.presence()[other].online
    store.absent()
    assert not store.presence()[other].online


def test_a_table_says_if_its_units_were_played_by_different_software(
    store: ArenaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    players = [store.enter("four", "", name) for name in "ab"]
    season = store.season().number
    for revision in ("abc", "def"):
        made = provenance.Provenance("1.0", revision, "3.11", "2.0", "")
        monkeypatch.setattr(provenance, "here", lambda made=made: made)
        found = table(store.players("four"), store.played(season, "four"), 2)
        assert found.warning == ""
        unit = store.plan(season, "four", 1, players)
        store.finish(season, unit, [won(0, 0, digest=revision), won(1, 1, digest=revision)], 3)
    found = table(store.players("four"), store.played(season, "four"), 2)
    assert found.warning == (
        "these matches were made by different software: dovetail 1.0 (abc), Python 3.11, numpy 2.0; "
        "dovetail 1.0 (def), Python 3.11, numpy 2.0"
    )


def test_repeats_of_deterministic_players_count_once(store: ArenaStore) -> None:
    players = [store.enter("four", "", name) for name in "ab"]
    season = store.season().number
    for number in range(4):
        # The first player always wins; who of the unit that is, and begins, changes.
        place = number % 2
        unit = store.plan(season, "four", 1, players[::-1] if place else players)
        one, other = won(0, place, digest="xy"[place]), won(1, place, digest="yx"[place])
        store.finish(season, unit, [one, other], 3)
    found = table(store.players("four"), store.played(season, "four"), 2)
    assert (found.played, found.units) == (4, 1)


@pytest.mark.parametrize("seats", [2, 3])
def test_units_of_an_opening_count_unless_all_are_equal(store: ArenaStore, seats: int) -> None:
    """A ladder may have few openings; players that draw at random play other games from the same
    one."""
    players = [store.enter("four", "", name) for name in "abc"[:seats]]
    season = store.season().number

    def play(opening: int, digest: str) -> None:
        unit = store.plan(season, "four", 1, players)
        games = [
            msgspec.structs.replace(
                won(0, 0, digest=f"{digest}{number}"),
                number=number,
                seating=[(seat + number) % seats for seat in range(seats)],
                scores=[1.0, *[0.0] * (seats - 1)],
                returns=[0.0] * seats,
                decisions=[1] * seats,
                seconds=[0.0] * seats,
                opening=[[opening]],
            )
            for number in range(seats)
        ]
        store.finish(season, unit, games, 3)

    for _ in range(3):
        play(1, "x")
    for number in range(6):
        play(2, f"y{number % 3}")  # each as often as it was played
    assert table(store.players("four"), store.played(season, "four"), seats).units == 1 + 6


def test_what_the_operators_commands_print(
    tmp_path: Path, store: ArenaStore, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "arena.toml"
    path.write_text(ARENA)
    store.enter("four", "", "greedy")
    store.enter("four", "", "broken")
    store.mark("/broken", "paused", "raised ValueError: \x1b]0;title\x07\x1b[2Jboo")
    cli.log(path, 1)
    assert capsys.readouterr().out.endswith("paused /broken raised ValueError: boo (arena)\n")
    cli.standings(path, None, None, False)
    rows = [
        line for line in capsys.readouterr().out.splitlines() if "greedy" in line or "bro" in line
    ]
    assert ["baseline" in line for line in rows] == ["greedy" in line for line in rows]
    assert ["paused" in line for line in rows] == ["broken" in line for line in rows]


def result(reason: str, **given: object) -> Episode:
    seats = [SeatResult("a", 1, total=2.0), SeatResult("b", 2, total=math.nan)]
    return Episode(1, 0, 5, 7, reason, seats, **given)  # type: ignore[arg-type]


def test_what_a_game_is_worth() -> None:
    assert game(result("environment-failed", scored=False), 0, [0, 1]) is None
    assert game(result("cancelled", scored=False), 0, [0, 1]) is None
    crashed = game(result("crashed", scored=False, blame=0), 1, [1, 0])
    assert crashed is not None
    assert (crashed.scores, crashed.fault) == ([0.0, 1.0], 1)
    cut = game(result("truncated"), 0, [0, 1])
    assert cut is not None
    assert worth([cut], 2) == [0.5, 0.5]
    resigned = game(result("terminated", blame=1, outcome=[1.0, 0.0]), 0, [0, 1])
    assert resigned is not None
    assert resigned.fault is None  # to resign is not a fault
    gone = forfeited(1, [1, 0], 0, "left")
    assert worth([won(0, 1), gone], 2) == [0.5, 0.5]
    alone = [
        ArenaGame(n, [n], [1.0], [float(r)], [1], [0.0], blame=b)
        for n, r, b in [(0, 3, None), (1, 9, 0)]
    ]
    assert worth(alone, 2) == [1.0, 0.0]  # a fault is the worst return


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("connect_four", "connect_four\nseat = 2", "unknown"),
        ('"four"', '"fo ur"', "the ladder is called 'fo ur'"),
        ('game = "connect_four"', "", "needs 'game'"),
        ("[[ladders]]", "[ladders]", "must be a list of tables; write [[ladders]]"),
        ('name = "test"', 'name = "test"\ngames = 0', "games"),
        ('"connect_four"', '"connect_four"\npinned = "x"', "name one of its baselines"),
    ],
)
def test_a_wrong_description_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "arena.toml"
    path.write_text(ARENA.replace(old, new, 1))
    with pytest.raises(DovetailError) as failed:
        read(path)
    if says != "unknown":
        assert says in str(failed.value)
    assert str(failed.value).startswith(str(path))
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("more", "line", "says"),
    [
        (
            "configuration = { row = 5 }",
            7,
            "environment connect_four has no option 'row'; did you mean",
        ),
        ("configuration = { connect = 9 }", 7, "option 'connect': 9 in a row do not fit"),
        (
            "[[ladders.baselines]]\nname = 'a'\ntype = 'random'\n"
            "[[ladders.baselines]]\nname = 'b'\ntype = 'greedy'\nparameters = { sorce = 'x' }",
            13,
            "agent greedy has no option 'sorce'; did you mean 'source'?",
        ),
        (
            "[[ladders.baselines]]\nname = 'a'\ntype = 'randon'",
            9,
            "no agent 'randon'; did you mean",
        ),
    ],
)
def test_what_an_arena_cannot_serve_is_found_in_its_file(
    tmp_path: Path, more: str, line: int, says: str
) -> None:
    path = tmp_path / "arena.toml"
    path.write_text(f"{ARENA}{more}\n")
    with pytest.raises(DovetailError) as failed:
        check(path, read(path))
    assert str(failed.value).startswith(f"{path}, line {line}: ")
    assert says in str(failed.value)


def test_an_archive_makes_the_same_arena(tmp_path: Path) -> None:
    file = tmp_path / "one" / "arena.toml"
    file.parent.mkdir()
    file.write_text(ARENA)
    with ArenaStore(tmp_path / "one" / "arena" / FILE, create=True) as store:
        token = store.invite("alice")
        players = [store.enter("four", "alice", "a"), store.enter("four", "", "random")]
        unit = store.plan(1, "four", 1, players)
        store.finish(1, unit, [won(0, 0), won(1, 1, fault="crashed")], 3)
        store.plan(1, "four", 1, players)
        (tmp_path / "one" / "arena" / "journal").write_bytes(b"dovetail journal 2\n")
        archive.export(file, read(file), tmp_path / "one.zip")  # while it is open
        with pytest.raises(DovetailError, match="exists; choose another name"):
            archive.export(file, read(file), tmp_path / "one.zip")
    copy = archive.restore(tmp_path / "one.zip", tmp_path / "two")
    dumps = []
    for where in (file, copy):
        database = sqlite3.connect(where.parent / "arena" / FILE)
        dumps.append(sorted(database.iterdump()))
        database.close()
    assert dumps[0] == dumps[1]
    assert (copy.parent / "arena" / "journal").read_bytes() == b"dovetail journal 2\n"
    with ArenaStore(copy.parent / "arena" / FILE) as again:
        assert again.entrant(token) == "alice"
        assert len(again.planned(1)) == 1
    with pytest.raises(DovetailError, match="not an empty folder"):
        archive.restore(tmp_path / "one.zip", tmp_path / "two")
    (tmp_path / "bad.zip").write_bytes(b"PK nonsense")
    with pytest.raises(DovetailError, match=r"cannot import .*bad\.zip"):
        archive.restore(tmp_path / "bad.zip", tmp_path / "three")


def test_what_is_kept_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "arena" / FILE
    before = os.umask(0o022)
    try:
        with ArenaStore(path, create=True) as store:
            store.invite("alice")
            made = sorted(path.parent.iterdir())
            assert [each.name for each in made] == [FILE, f"{FILE}-shm", f"{FILE}-wal"]
            for each in (path.parent, *made):
                assert each.stat().st_mode & 0o077 == 0, each
        path.chmod(0o644)  # as an earlier version left it
        with ArenaStore(path, create=True):
            assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_no_entrant_knows_what_the_arenas_programs_are_called(tmp_path: Path) -> None:
    path = tmp_path / "arena.toml"
    path.write_text(ARENA)
    called: list[str] = []

    class Started:
        def start(self, name: str, words: list[str], *shown: Any) -> None:
            called.append(words[words.index("--name") + 1])

    for _ in range(2):
        programs = Programs(read(path), tmp_path, "own")
        programs._processes = cast(Any, Started())
        for name in (*programs._environments, *programs._baselines):
            programs._start(name)
    assert len(called) >= 2
    assert len(set(called)) == len(called)  # they differ from one start to the next
