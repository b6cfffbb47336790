"""Episodes of a journal, listed and played again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dovetail import InProcess
from dovetail.broker.durable.journal import Journal
from dovetail.broker.durable.write_ahead_log import place
from dovetail.peer import plugins
from dovetail.peer.agents.agent import RESIGN, Agent, Decision
from dovetail.protocol import codec
from dovetail.protocol.journal import TITLE, EpisodeRecord, StateRecord, read
from dovetail.protocol.logfile import new_framing
from dovetail_experiments.reports import games
from dovetail_web import replays

HERE = Path(__file__).parent


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal with four episodes: three that ended by the rules, one by the run's limit."""
    path = tmp_path / "games.journal"
    game = plugins.find("environment", f"{HERE / 'count_up.py'}:CountUp")
    chance = plugins.find("agent", f"{HERE / 'count_up.py'}:Chance")
    with InProcess([game], [chance], journal=path) as experiment:
        agents = [experiment.create("chance", seed=seed) for seed in (1, 2)]
        experiment.run("count_up", agents, episodes=3, seed=9, configuration={"target": 12}).wait()
        experiment.run("count_up", agents, seed=9, max_turns=2).wait()
    return path


def test_list(dovetail: Any, journal: Path) -> None:
    for answer in (dovetail("replay", str(journal)), dovetail("replay", str(journal), "--list")):
        assert answer.code == 0
        rows = [line for line in answer.out.splitlines() if "count_up" in line]
        assert len(rows) == 4
        assert "chance, chance" in rows[0]
        assert "terminated" in rows[2]
        assert "truncated" in rows[3]


def test_an_episode_played_again(dovetail: Any, journal: Path, game: str) -> None:
    played = [each for each in read(journal) if isinstance(each, EpisodeRecord)]
    for number, record in enumerate(played, 1):
        answer = dovetail("replay", str(journal), str(number), "--env", game)
        assert answer.code == 0, answer.err
        lines = answer.out.splitlines()
        assert lines[0] == (
            f"episode {number}: count_up, chance against chance, seed {record.result.seed}"
        )
        assert sum(line.startswith("player ") for line in lines) == record.result.turns
        # indented, so that it cannot look like a line of the command
        assert sum(line.startswith("  the count is") for line in lines) == record.result.turns + 1
        assert lines[-1] == "the replay ends as recorded"
    last = dovetail("replay", str(journal), "last", "--env", game)
    assert last.out == answer.out


def test_the_names_that_the_run_gave_are_kept(dovetail: Any, tmp_path: Path, game: str) -> None:
    path = tmp_path / "named"
    kind = plugins.find("environment", f"{HERE / 'count_up.py'}:CountUp")
    chance = plugins.find("agent", f"{HERE / 'count_up.py'}:Chance")
    with InProcess([kind], [chance], journal=path) as experiment:
        agents = [experiment.create("chance", seed=seed) for seed in (1, 2)]
        experiment.run("count_up", agents, episodes=2, rotate=True, names=["ada", "bob"]).wait()
    first, second = (each for each in read(path) if isinstance(each, EpisodeRecord))
    assert (first.names, second.names) == (["ada", "bob"], ["bob", "ada"])
    rows = [line for line in dovetail("replay", str(path)).out.splitlines() if "count_up" in line]
    assert "ada, bob" in rows[0]
    assert "bob, ada" in rows[1]
    shown = dovetail("replay", str(path), "2", "--env", game).out
    assert "bob against ada" in shown
    assert "player 1 (bob)" in shown
    assert replays.about(1, first)["agents"] == ["ada", "bob"]
    assert games.players(second) == ["bob", "ada"]


def test_an_episode_that_goes_otherwise(dovetail: Any, journal: Path, game: str) -> None:
    played = [each for each in read(journal) if isinstance(each, EpisodeRecord)]
    forged = journal.with_name("forged")
    writer = Journal(forged)
    record = played[0]
    result = record.result
    changes: list[Any] = [
        {"result": msgspec.structs.replace(result, seed=result.seed + 1)},
        {"result": msgspec.structs.replace(result, outcome=[0.5, 0.5])},
        {"actions": record.actions[:-1]},
        {
            "actions": record.actions[:-1],
            "result": msgspec.structs.replace(result, message="the page stopped", digest=""),
        },
        {"actions": [[(1 - seat, action) for seat, action in turn] for turn in record.actions]},
        {"configuration": {"target": 1000}},
        {"result": msgspec.structs.replace(result, turns=result.turns - 1)},
        {"actions": [[(0, "a\x1b[31m\nthe replay ends as recorded")], *record.actions[1:]]},
    ]
    writer.write([msgspec.structs.replace(record, **change) for change in changes])
    writer.close()
    for number in range(1, len(changes) + 1):
        answer = dovetail("replay", str(forged), str(number), "--env", game)
        if number == 1 and answer.code == 0:
            continue  # another seed may begin the same
        assert answer.code == 1, number
        assert answer.err.startswith("dovetail: the replay differs in turn ")
        assert answer.err.count("\n") == 1
        assert "the replay ends as recorded" not in answer.out.splitlines()


@pytest.mark.parametrize("time", [float("nan"), 1e300, -1.0])
def test_a_time_that_no_clock_shows_is_damage(dovetail: Any, journal: Path, time: float) -> None:
    record = next(each for each in read(journal) if isinstance(each, EpisodeRecord))
    forged = journal.with_name("forged")
    framing = new_framing(TITLE)
    data = msgspec.msgpack.encode(msgspec.structs.replace(record, time=time))
    forged.write_bytes(framing.head + framing.pack(1, data))
    answer = dovetail("replay", str(forged), "--list")
    assert answer.code == 0
    assert "has no episodes" in answer.out
    assert "is damaged" in dovetail("journal", "check", str(forged)).err


def test_an_error_quotes_little_of_a_long_action(
    dovetail: Any, journal: Path, game: str, tmp_path: Path
) -> None:
    record = next(each for each in read(journal) if isinstance(each, EpisodeRecord))
    record.actions[0] = [(record.actions[0][0][0], "x" * 10_000)]
    path = tmp_path / "long"
    framed = new_framing(TITLE)
    path.write_bytes(framed.head + framed.pack(1, codec.encode(record)))
    answer = dovetail("replay", str(path), "1", "--env", game)
    assert answer.code == 1
    assert f"action {'x' * 60}... of seat" in answer.err


def test_a_game_that_a_seat_resigned_ends_as_recorded(dovetail: Any, tmp_path: Path) -> None:
    class Resigning(Agent):
        name = "resigning"

        def step(self, decision: Decision) -> Any:
            return RESIGN

    path = tmp_path / "games.journal"
    with InProcess(["connect_four"], [Resigning, "random"], journal=path) as experiment:
        agents = [experiment.create(each) for each in ("random", "resigning")]
        (result,) = experiment.run("connect_four", agents).wait()
    assert (result.reason, result.blame) == ("terminated", 1)
    assert dovetail("replay", str(path), "1").out.endswith("the replay ends as recorded\n")
    assert dovetail("verify", str(path)).code == 0


def test_the_name_in_a_journal_is_not_imported(dovetail: Any, journal: Path) -> None:
    """Journals travel, too: only ``--env`` imports."""
    game, marker = journal.with_name("x.py"), journal.with_name("imported")
    game.write_text(f"open({str(marker)!r}, 'w').close()\n")
    writer = Journal(journal.with_name("forged"))
    record = next(each for each in read(journal) if isinstance(each, EpisodeRecord))
    names = [f"{game}:Game", str(game), "cProfile:run", "os:system"]
    writer.write([msgspec.structs.replace(record, environment=name) for name in names])
    writer.close()
    for number, name in enumerate(names, 1):
        answer = dovetail("replay", str(journal.with_name("forged")), str(number))
        assert answer.code == 2
        assert answer.err.startswith(f"dovetail: no environment {name[:57]!r}"[:60])
        assert answer.err.count("\n") == 1
    assert not marker.exists()


def test_what_is_not_there(dovetail: Any, journal: Path, game: str) -> None:
    answer = dovetail("replay", str(journal), "9", "--env", game)
    assert (answer.code, answer.err) == (1, f"dovetail: there is no episode 9; {journal} has 4\n")
    answer = dovetail("replay", str(journal), "1")
    assert answer.code == 2
    assert answer.err.startswith("dovetail: no environment 'count_up'")
    assert "; use --env FILE.py:Class for an environment that is not installed" in answer.err
    (journal.parent / "text").write_text("this is some text, not a journal at all\n")
    answer = dovetail("replay", str(journal.parent / "text"))
    assert answer.code == 1
    assert "is not a Dovetail journal" in answer.err
    assert "is not a Dovetail journal" in dovetail("journal", "repair", "text").err
    assert not list(Path().glob("text.*"))
    for folder, hint in (("none", "name a file in it"), ("out", "such as out/games-2.journal")):
        Path(folder).mkdir(exist_ok=True)
        for number in (1, 2) if folder == "out" else ():
            Path(folder, f"games-{number}.journal").touch()
        answer = dovetail("replay", folder)
        assert answer.code == 1
        assert answer.err.startswith(
            f"dovetail: cannot read the journal {folder}: Is a directory; "
        )
        assert answer.err.endswith(f"{hint}\n")


def test_an_empty_journal(dovetail: Any, tmp_path: Path) -> None:
    Journal(tmp_path / "empty").close()
    assert "has no episodes" in dovetail("replay", "empty").out
    assert dovetail("replay", "empty", "last").code == 1


def test_a_journal_is_verified(dovetail: Any, journal: Path, game: str) -> None:
    answer = dovetail("verify", str(journal), "--env", game)
    assert answer.code == 0, answer.out
    assert f"{journal}: 4 episodes with " in answer.out
    played = [each for each in read(journal) if isinstance(each, EpisodeRecord)]
    writer = Journal(journal)
    first = played[0]
    last = [(seat, 999) for seat, _ in first.actions[1]]
    forged = [*first.actions[:1], last, *first.actions[2:]]
    writer.write([msgspec.structs.replace(first, actions=forged)])
    writer.close()
    answer = dovetail("verify", str(journal), "--env", game)
    assert answer.code == 1
    assert "episode 5: the replay differs in turn 1: action 999 of seat 1 is not leg" in answer.out
    assert answer.err == f"dovetail: {journal}: 1 of 5 episodes does not replay as recorded\n"
    data = bytearray(journal.read_bytes())
    data[200] ^= 16
    journal.write_bytes(data)
    begin = f"dovetail: {journal}: damaged in 1 place; "
    end = "; `dovetail journal repair` keeps its intact records\n"
    answer = dovetail("verify", str(journal), "--env", game)
    whole = "1 of 4 episodes that can be read does not replay as recorded"
    assert (answer.code, answer.err) == (1, begin + whole + end)


def test_a_damaged_journal_is_checked_and_repaired(dovetail: Any, journal: Path, game: str) -> None:
    sound = dovetail("journal", "check", str(journal))
    assert (sound.code, sound.out) == (0, f"{journal}: 4 episodes, 0 saved states\n")
    data = bytearray(journal.read_bytes())
    data[200] ^= 16
    journal.write_bytes(data)
    answer = dovetail("journal", "check", str(journal))
    assert answer.code == 1
    assert f"{journal}: bytes 59 to " in answer.out
    assert "3 episodes" in answer.out
    answer = dovetail("verify", str(journal), "--env", game)
    assert answer.code == 1
    assert answer.err == (
        f"dovetail: {journal}: damaged in 1 place; all 3 episodes that can be read replay as recorded; "
        "`dovetail journal repair` keeps its intact records\n"
    )
    assert dovetail("journal", "repair", str(journal)).code == 0
    copy = f"{journal}.repaired"
    assert dovetail("journal", "check", copy).code == 0
    assert "exists; remove it" in dovetail("journal", "repair", str(journal)).err
    lines = dovetail("journal", "export", copy).out.splitlines()
    assert [json.loads(line)["record"] for line in lines] == ["played"] * 3
    assert dovetail("journal", "list", copy).out.count("count_up") == 3


def test_a_journal_is_compacted(dovetail: Any, tmp_path: Path) -> None:
    path = tmp_path / "states"
    writer = Journal(path)
    writer.write([StateRecord("best", "td", bytes([n]) * 1000) for n in range(5)])
    live = place(path)
    live.touch()
    assert "is in use" in dovetail("journal", "compact", str(path)).err
    writer.close()
    assert "has runs in progress" in dovetail("journal", "compact", str(path)).err
    live.unlink()
    assert dovetail("journal", "compact", str(path)).code == 0
    assert [each.state[0] for each in read(path) if isinstance(each, StateRecord)] == [4]
    assert "state 'best': td, 1,000 bytes" in dovetail("journal", "list", str(path)).out


def test_a_state_in_a_journal_cannot_control_the_terminal(dovetail: Any, tmp_path: Path) -> None:
    path = tmp_path / "states"
    writer = Journal(path)
    writer.write([StateRecord("a\x1b[2J", "td\x1b[2J\nstate 'best'\u202e", b"")])
    writer.close()
    listed = dovetail("journal", "list", str(path)).out.splitlines()[-1]
    assert listed == "state 'a\\x1b[2J': td state 'best', 0 bytes"
