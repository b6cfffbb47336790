"""Agent files of Kaggle's form play here, and the bad ones lose their seat and harm nothing else;
Kaggle's environments are games, and our agents play in its runner."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.bridges.stand_ins import installed, stand_in

from dovetail import Agent, DovetailError, InProcess
from dovetail.peer import registry
from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.presets import preset
from dovetail.protocol import messages as m
from dovetail.protocol.errors import IllegalAction
from dovetail.protocol.spaces import Discrete, Text
from dovetail_agents.general.search.agents import MCTSAgent, MCTSParameters
from dovetail_agents.general.td import TD
from dovetail_bridges import choices
from dovetail_bridges.gdl import GDL
from dovetail_bridges.kaggle import Kaggle, worker
from dovetail_bridges.kaggle.agent import KaggleParameters, Process
from dovetail_bridges.kaggle.environment import KaggleEnvironment, Options, _actions
from dovetail_bridges.kaggle.to_kaggle import Player
from dovetail_games.connect_four import ConnectFour

WINNING = '''
"""Plays the first column that wins at once, or stops the other, by the rules of connectx."""
from helper import lines_through

def wins(board, column, mark, configuration):
    columns, rows = configuration.columns, configuration["rows"]
    row = max(r for r in range(rows) if board[r * columns + column] == 0)
    board = list(board)
    board[row * columns + column] = mark
    return any(
        all(0 <= r < rows and 0 <= c < columns and board[r * columns + c] == mark for r, c in line)
        for line in lines_through(row, column, configuration.inarow)
    )

def my_agent(observation, configuration):
    print("thinking about", observation.step)
    board, me = observation.board, observation["mark"]
    assert len(board) == configuration.rows * configuration.columns
    assert board.count(me) in (board.count(3 - me), board.count(3 - me) - 1)
    free = [c for c in range(configuration.columns) if board[c] == 0]
    for mark in (me, 3 - me):
        for column in free:
            if wins(board, column, mark, configuration):
                return column
    return min(free, key=lambda c: abs(c - configuration.columns // 2))
'''
HELPER = """
def lines_through(row, column, n):
    for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for start in range(n):
            yield [(row + (i - start) * dr, column + (i - start) * dc) for i in range(n)]
"""


@pytest.fixture
def register(tmp_path: Path) -> Iterator[object]:
    def add(source: str, name: str = "mine") -> KaggleParameters:
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        registry.register("policy", name, str(path))
        return KaggleParameters(name, timeout=20)

    yield add
    registry._registered.clear()


def play(source: str, register: object, episodes: int = 6, **options: Any) -> list[m.Episode]:
    register(source)  # type: ignore[operator]
    with InProcess([ConnectFour], [Kaggle, Random]) as experiment:
        theirs = experiment.create("kaggle", parameters={"policy": "mine"})
        other = experiment.create("random", seed=1)
        return experiment.run(
            "connect_four", [theirs, other], episodes=episodes, rotate=True, **options
        ).wait()


def test_a_connectx_file_with_a_helper_beside_it_plays_both_seats(
    register: object, tmp_path: Path
) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    games = play(WINNING, register)
    assert {game.reason for game in games} == {"terminated"}
    mine = [game.outcome[index % 2] for index, game in enumerate(games) if game.outcome]
    assert sum(mine) >= 5


def test_each_episode_runs_the_file_again(register: object) -> None:
    counting = """
calls = []
def agent(observation):
    calls.append(observation.step)
    assert len(calls) == 1 + observation.step // 2, calls
    return observation.legalActions[0]
"""
    assert {game.reason for game in play(counting, register, 3)} == {"terminated"}


def test_files_for_openspiels_games_answer_with_a_submission(register: object) -> None:
    parameters = register(  # type: ignore[operator]
        """
def agent(observation, configuration):
    names = dict(zip(observation["legalActionStrings"], observation["legalActions"]))
    assert observation["playerId"] == observation["currentPlayer"]
    assert "(cell" in observation["observationString"]
    return {"submission": names.get("(mark 2 2)", min(names.values()))}
"""
    )
    with InProcess([GDL], [Kaggle, Random]) as experiment:
        theirs = experiment.create("kaggle", parameters={"policy": parameters.policy})
        other = experiment.create("random", seed=1)
        games = experiment.run("gdl", [theirs, other], episodes=4).wait()
    assert {game.reason for game in games} == {"terminated"}


@pytest.mark.parametrize(
    ("source", "reason", "text"),
    [
        ("def agent(o, c): raise KeyError('oh')", "stalled", "raised KeyError: 'oh'"),
        ("def agent(o, c):\n import os\n os._exit(3)", "stalled", "has ended with code 3"),
        ("def agent(o, c): return 99", "illegal-action", ""),
        ("def agent(o, c): return None", "illegal-action", ""),
        ("def agent(o, c): return 'x' * 10**6", "stalled", "sent a line of more than 65536 bytes"),
    ],
)
def test_a_bad_file_loses_its_seat(register: object, source: str, reason: str, text: str) -> None:
    (game,) = play(source, register, 1, retries=0)
    assert game.reason == reason
    assert game.blame == 0
    assert text in game.message


def test_a_file_that_is_too_long_is_refused(
    register: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = tmp_path / "worker.py"
    source = Path(worker.__file__).read_text("utf-8")
    small.write_text(source.replace("LARGEST = 64 << 20", "LARGEST = 100"), "utf-8")
    monkeypatch.setattr(worker, "__file__", str(small))
    with pytest.raises(DovetailError, match="the file has more than 100 characters"):
        play("def agent(o, c): return 0" + " " * 100, register, 1, retries=0)


def test_a_file_that_hangs_is_ended_in_time_with_all_that_it_started(
    register: object, tmp_path: Path
) -> None:
    note = tmp_path / "pids"
    source = f"""
import os, subprocess, time
def agent(o, c):
    child = subprocess.Popen(["sleep", "600"])
    open({str(note)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
    time.sleep(600)
"""
    before = time.monotonic()
    (game,) = play(source, register, 1, retries=0, clock={"decision": 2.0})
    assert time.monotonic() - before < 20
    assert game.blame == 0
    assert game.reason in ("crashed", "timeout")
    for pid in map(int, note.read_text().split()):
        end = time.monotonic() + 10
        while alive(pid):
            assert time.monotonic() < end, "the process still runs"
            time.sleep(0.01)


def test_a_file_that_does_not_read_is_ended_in_time(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import time\ndef agent(o): time.sleep(600)")
    process = Process(path)
    assert process.ask({"reset": True}, 60.0) is None
    process.say(json.dumps({"observation": {}, "configuration": {}}))
    before = time.monotonic()
    with pytest.raises(DovetailError, match=r"^mine.py did not answer within 0.5 s$"):
        process.ask({"observation": "x" * 200_000}, 0.5)  # more than the pipe takes
    assert time.monotonic() - before < 20
    assert not process.alive
    with pytest.raises(DovetailError, match=r"^mine.py has ended$"):
        process.ask({"reset": True}, 0.5)
    process.close()


def test_an_answer_nested_without_end_is_not_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "worker.py"
    path.write_text("input()\nprint('[' * 20000 + ']' * 20000)\ninput()")
    monkeypatch.setattr(worker, "__file__", str(path))
    process = Process(tmp_path / "mine.py")
    with pytest.raises(DovetailError, match=r"mine.py answered '\[+', which is not an answer"):
        process.ask({"reset": True}, 60.0)
    assert not process.alive


def test_a_long_message_arrives_whole(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def agent(o): return len(o)")
    process = Process(path)
    message = {"observation": "x" * 1_000_000, "configuration": {}}
    assert [process.ask(message, 60.0) for _ in range(2)] == [1_000_000] * 2
    process.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return status != "Z"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def agent(:", "SyntaxError"),
        ("x = 1", "defines no function"),
        ("import nowhere", "nowhere"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused_at_once(
    register: object, source: str, text: str
) -> None:
    parameters = register(source)  # type: ignore[operator]
    with pytest.raises(DovetailError, match=text):
        Kaggle(parameters)


def test_a_peer_cannot_name_a_file(tmp_path: Path) -> None:
    path = tmp_path / "evil.py"
    path.write_text("def agent(o): return 0")
    with (
        InProcess([ConnectFour], [Kaggle]) as experiment,
        pytest.raises(DovetailError, match="no policy"),
    ):
        experiment.create("kaggle", parameters={"policy": str(path)})


REAL = installed("kaggle_environments")
alone = pytest.mark.skipif(REAL, reason="the stand-in's own game")


@pytest.fixture(autouse=True)
def theirs(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_in("kaggle_environments", monkeypatch)


class First(Agent):
    """Plays the first column that is free."""

    name = "first"
    capacity = 0
    chosen: ClassVar[list[int]] = []

    def step(self, decision: Decision) -> int:
        board = json.loads(decision.observation)["board"]
        columns = decision.seat.spec.action_spaces[0].n  # type: ignore[union-attr]
        action = next(each for each in range(columns) if not board[each])
        self.chosen.append(action)
        return action


class Adds(Agent):
    """Adds its seat's number."""

    name = "adds"
    capacity = 0

    def step(self, decision: Decision) -> str:
        return json.dumps({"add": decision.seat.seat + 1})


def test_the_same_actions_earn_the_same_as_in_a_bare_loop(theirs: Any) -> None:
    First.chosen.clear()
    with InProcess([KaggleEnvironment], [First]) as experiment:
        agents = [experiment.create("first"), experiment.create("first")]
        (episode,) = experiment.run("kaggle", agents, check=True).wait()
    bare = theirs.make("connectx")
    bare.reset(2)
    for number, action in enumerate(First.chosen):
        bare.step([action if number % 2 == seat else None for seat in range(2)])
    assert bare.done
    assert episode.reason == "terminated"
    assert [seat.total for seat in episode.seats] == [each.reward for each in bare.state]
    assert episode.outcome == [(each.reward + 1) / 2 for each in bare.state]


def test_an_invalid_action_is_the_seats_and_leaves_the_position() -> None:
    made = KaggleEnvironment(Options())
    spec = made.init()
    assert isinstance(spec.action_spaces[0], Discrete)
    made.start(1)
    rows = made.env.configuration.get("rows", 1)
    for number in range(rows):
        made.step({number % 2: 0})
    before = made.text(0)
    with pytest.raises(IllegalAction, match="answers INVALID to 0") as refused:
        made.step({rows % 2: 0})
    assert refused.value.seat == rows % 2
    assert made.text(0) == before
    turn = made.step({rows % 2: 1})
    assert turn.to_act == [1 - rows % 2]


def test_random_play_ends_with_its_forfeits_blamed() -> None:
    with InProcess([KaggleEnvironment], [Random]) as experiment:
        agents = [experiment.create("random"), experiment.create("random", seed=1)]
        results = experiment.run("kaggle", agents, episodes=5, seed=2).wait()
    for each in results:
        assert each.reason in ("terminated", "illegal-action")
        assert (each.blame is None) == (each.reason == "terminated")


@alone
def test_totals_become_rewards_and_seats_act_at_once() -> None:
    with InProcess([KaggleEnvironment], [Adds]) as experiment:
        agents = [experiment.create("adds") for _ in range(3)]
        given = {"id": "duel", "players": 3}
        (episode,) = experiment.run("kaggle", agents, configuration=given, check=True).wait()
    assert [seat.total for seat in episode.seats] == [3.0, 6.0, 9.0]
    assert [seat.decisions for seat in episode.seats] == [3, 3, 3]
    assert episode.outcome == pytest.approx([0.0, 1 / 3, 2 / 3])


@alone
def test_a_seat_sees_its_own_and_what_is_shared() -> None:
    made = KaggleEnvironment(Options("duel"))
    assert isinstance(made.init().action_spaces[0], Text)
    turn = made.start(9)
    first, second = (json.loads(view.observation) for view in turn.seats)
    assert set(second) == {"configuration", "private", "remainingOverageTime", "rounds", "step"}
    assert second["configuration"] == {"episodeSteps": 1000}  # without the seed, which tells
    assert "log" not in first
    assert first["private"] == random.Random(9).random()  # by the seed in its configuration
    other = json.loads(made.start(8).seats[0].observation)
    assert other["private"] == random.Random(8).random()
    assert made.start(9).seats[0].observation == turn.seats[0].observation
    with pytest.raises(IllegalAction, match="is not JSON"):
        made.step({0: "no", 1: "{}"})


def test_full_columns_are_not_legal() -> None:
    made = KaggleEnvironment(Options())
    made.init()
    made.start(1)
    rows = made.env.configuration.rows
    for number in range(rows):
        turn = made.step({number % 2: 0})
    (seat,) = turn.to_act
    legal = next(view.legal for view in turn.seats if view.seat == seat)
    assert legal == list(range(1, made.env.configuration.columns))


def test_a_configuration_may_have_fewer_actions_than_the_schema() -> None:
    schema = {"type": "integer", "minimum": 0, "maximum": 4}
    assert _actions(schema, {"signs": 3}) == (None, Discrete(3))
    assert _actions(schema, {}) == (None, Discrete(5))
    assert _actions({"type": "integer"}, {"columns": 7}) == (None, Discrete(7))


FREE = """
def play(observation, configuration):
    return [c for c in range(configuration.columns) if observation.board[c] == 0][-1]
"""
ADD = """
def play(observation, configuration):
    assert configuration.episodeSteps
    return {"add": observation["rounds"] + 1}
"""
WALK = """
def play(observation, configuration):
    return "NORTH" if observation.place < configuration.far else "SOUTH"
"""


@pytest.fixture
def registered_file(tmp_path: Path) -> Iterator[Callable[[str], KaggleParameters]]:
    def add(source: str) -> KaggleParameters:
        (tmp_path / "mine.py").write_text(source)
        registry.register("policy", "mine", str(tmp_path / "mine.py"))
        return KaggleParameters("mine", timeout=20)

    yield add
    registry._registered.clear()


def played(
    source: str, registered_file: Callable[[str], KaggleParameters], **given: Any
) -> m.Episode:
    registered_file(source)
    seats = given.pop("seats")
    with InProcess([KaggleEnvironment], [Kaggle]) as experiment:
        agents = [experiment.create("kaggle", parameters={"policy": "mine"}) for _ in range(seats)]
        (episode,) = experiment.run("kaggle", agents, configuration=given, check=True).wait()
    return episode


def test_a_file_of_kaggle_sees_what_kaggle_shows_it(registered_file: Any) -> None:
    episode = played(FREE, registered_file, seats=2)
    assert episode.reason == "terminated"
    assert episode.outcome is not None


@alone
def test_a_file_answers_with_json_or_names(registered_file: Any) -> None:
    episode = played(ADD, registered_file, id="duel", seats=2)
    assert [seat.total for seat in episode.seats] == [6.0, 6.0]
    episode = played(WALK, registered_file, id="walk", seats=1)
    assert [seat.total for seat in episode.seats] == [2.0]


@alone
def test_named_actions_are_shown_by_name() -> None:
    made = KaggleEnvironment(Options("walk"))
    made.init()
    turn = made.start(1)
    assert choices.labels(made.scene(0), turn.seats[0].legal) == {0: "NORTH", 1: "SOUTH"}


def test_agents_play_connect_four_where_kaggle_runs_connectx(theirs: Any) -> None:
    env = theirs.make("connectx")
    players = [
        Player(MCTSAgent(MCTSParameters(simulations=5)), env, 0),
        Player(Random(), env, 1, seed=4),
    ]
    for _ in range(2):
        env.run(players)
        assert [each.status for each in env.state] == ["DONE", "DONE"]
        assert sum(each.reward for each in env.state) == 0


@alone
def test_agents_answer_in_kaggles_form_where_kaggle_runs(theirs: Any, registered_file: Any) -> None:
    env = theirs.make("duel")
    parameters = registered_file(ADD)
    players = [Player(Kaggle(parameters), env, 0), Player(Adds(), env, 1)]
    env.run(players)
    assert [each.reward for each in env.state] == [6, 6]
    env = theirs.make("walk")
    env.run([Player(Kaggle(registered_file(WALK)), env, 0)])
    assert env.state[0].reward == 2


def test_a_seat_that_an_environment_lacks_is_one_line(theirs: Any) -> None:
    with pytest.raises(DovetailError, match="seat 2 does not exist; connectx has 2, numbered"):
        Player(Random(), theirs.make("connectx"), 2)


def test_an_agent_that_cannot_play_is_refused(theirs: Any) -> None:
    env = theirs.make("rps" if REAL else "duel")
    with pytest.raises(DovetailError, match="needs"):
        Player(TD(), env, 0)


@alone
def test_an_environment_that_keeps_its_match_in_a_module_plays_one_at_a_time() -> None:
    kind = preset(KaggleEnvironment, {"id": "lux_ai_2021"}, "environment kaggle")
    with InProcess([kind], [Random]) as experiment:
        agents = [experiment.create("random")]
        results = experiment.run("kaggle", agents, episodes=6, concurrency=3).wait()
    assert [each.seats[0].total for each in results] == [3.0] * 6
    with pytest.raises(DovetailError, match="one match in a program; start one with --set id=lux"):
        KaggleEnvironment(Options("lux_ai_2021")).init()


def test_what_cannot_be_made_is_one_line() -> None:
    for options, text in [
        (Options("no_such_game"), "no_such_game cannot be made: .*Unknown Environment"),
        (Options(players=7), "connectx takes 2, not 7"),
    ]:
        with pytest.raises(DovetailError, match=text) as refused:
            KaggleEnvironment(options).init()
        assert "\n" not in str(refused.value)
