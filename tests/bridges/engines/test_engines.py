"""Stockfish and gnugo as agents: real engines in games of OpenSpiel."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pyspiel
import pytest

from dovetail import InProcess
from dovetail.peer import registry
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.plugins import register
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.engine import GAMES, Engine, command
from dovetail_bridges.gtp import Gtp, go
from dovetail_bridges.gtp.agent import ENGINES as GO_ENGINES
from dovetail_bridges.gtp.agent import GtpEngine
from dovetail_bridges.openspiel.environment import OpenSpiel
from dovetail_bridges.uci import Uci, chess

HERE = Path(__file__).parent

CHESS = {"game": "chess"}
GO = {"game": "go(board_size=9,komi=6.5)"}
SMALL_GO = {"game": "go(board_size=5,komi=0.5)"}

# .ci/run installs them; with CI set a missing one fails the tests instead.
MISSING = [each for each in ("stockfish", "gnugo") if not (which(each) or which(each, path=GAMES))]
pytestmark = pytest.mark.skipif(
    bool(MISSING) and not os.environ.get("CI"), reason=f"needs {' and '.join(MISSING)}"
)


@pytest.fixture(autouse=True)
def _clean_registry() -> Iterator[None]:
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


# -- chess
# ------------------------------------------------------------------------------------------


def test_stockfish_beats_random_in_both_seats() -> None:
    with InProcess([OpenSpiel], [Uci, Random]) as experiment:
        engine = experiment.create("uci", parameters={"nodes": 500, "options": {"Hash": 16}})
        other = experiment.create("random", seed=1)
        run = experiment.run(
            "openspiel",
            [engine, other],
            configuration=CHESS,
            episodes=4,
            rotate=True,
            seed=3,
            check=True,
        )
        for episode in run:
            mine = next(i for i, each in enumerate(episode.seats) if each.agent == "uci")
            assert (episode.reason, episode.outcome and episode.outcome[mine]) == ("terminated", 1)
        experiment.cleanup(engine)


def test_the_clock_limits_the_engine() -> None:
    with InProcess([OpenSpiel], [Uci, Random]) as experiment:
        engine = experiment.create("uci", parameters={"nodes": 10**9})
        other = experiment.create("random", seed=1)
        run = experiment.run(
            "openspiel",
            [engine, other],
            configuration=CHESS,
            max_turns=5,
            clock={"decision": 0.4, "margin": 20.0},
        )
        (episode,) = run.wait()
        assert episode.reason == "truncated"
        experiment.cleanup(engine)


def test_moves_are_named_as_in_uci() -> None:
    state = pyspiel.load_game("chess").new_initial_state("r3k3/P6P/8/8/8/8/8/R3K2R w KQq - 0 1")
    named = chess.moves(state)
    assert {"e1g1", "e1c1", "h7h8q", "h7h8n", "a1a6"} <= named.keys()
    assert len(set(named.values())) == len(state.legal_actions()) == len(named)


def test_a_position_is_found_in_a_text() -> None:
    assert chess.fen(
        "White to move\nrnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n"
    ) == ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1")
    with pytest.raises(DovetailError, match="no position in FEN"):
        chess.fen("a board")


def refused(parameters: dict[str, object], game: dict[str, str] | None = None) -> str:
    def play() -> None:
        engine = experiment.create("uci", parameters=parameters)
        other = experiment.create("random")
        experiment.run("openspiel", [engine, other], configuration=game or CHESS, retries=0).wait()

    with InProcess([OpenSpiel], [Uci, Random]) as experiment:
        with pytest.raises(DovetailError) as caught:
            play()
        assert "\n" not in str(caught.value)
        return str(caught.value)


def test_a_peer_cannot_name_a_command_or_a_file(tmp_path: Path) -> None:
    assert "no engine '/bin/sh'" in refused({"engine": "/bin/sh"})
    log = tmp_path / "log"
    assert "of type string" in refused({"options": {"Debug Log File": str(log)}})
    assert not log.exists()
    assert "no option 'Nonsense'" in refused({"options": {"Nonsense": 1}})
    assert "several lines" in refused({"options": {"Hash": "16\nquit"}})
    assert "not go(board_size=5" in refused({}, SMALL_GO)


# -- Go
# ---------------------------------------------------------------------------------------------


def test_gnugo_and_the_referee_agree_on_a_game() -> None:
    with InProcess([OpenSpiel], [Gtp]) as experiment:
        black, white = (experiment.create("gtp", parameters={"level": 0}) for _ in range(2))
        (episode,) = experiment.run("openspiel", [black, white], configuration=GO, seed=1).wait()
        assert episode.reason == "terminated"
        assert episode.outcome in ([1.0, 0.0], [0.0, 1.0])
        for each in (black, white):
            experiment.cleanup(each)


def winners(game: str, seed: int) -> tuple[str, str]:
    """Play gnugo against itself from a random opening; return whom the referee and gnugo call the
    winner."""
    rng = random.Random(seed)
    rules = pyspiel.load_game(game)
    state = rules.new_initial_state()
    size = go.Position(str(state)).size
    gtp = GtpEngine(Engine(command("gnugo", GO_ENGINES, "test"), "gnugo"))
    try:
        position = go.Position(str(state))
        gtp.ask(f"boardsize {size}")
        gtp.ask(f"komi {position.komi:g}")
        gtp.ask(f"set_random_seed {seed}")
        gtp.ask("level 0")
        while not state.is_terminal():
            seat = state.current_player()
            if len(state.history()) >= 2 + seed % 7:
                chosen = go.action(gtp.ask(f"genmove {go.COLORS[seat]}"), size)
            else:
                chosen = rng.choice(state.legal_actions()[:-1])  # the last one passes
                gtp.ask(f"play {go.COLORS[seat]} {go.vertex(chosen, size)}")
            state.apply_action(chosen)
        named = gtp.ask("final_score")
    finally:
        gtp.engine.close()
    return go.COLORS[state.returns().index(1.0)], named[:1]


def test_gnugo_and_the_referee_name_the_same_winners() -> None:
    for seed in range(3):
        referee, engine = winners("go(board_size=5,komi=0.5)", seed)
        assert referee == engine, f"game {seed}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_gnugo_and_the_referee_name_the_same_winners_of_fifty_games() -> None:
    for seed in range(50):
        referee, engine = winners("go(board_size=9,komi=6.5)", 100 + seed)
        assert referee == engine, f"game {seed}"


def test_gnugo_takes_no_move_for_legal_that_the_referee_does_not() -> None:
    """It leaves out only what repeats a position, after which OpenSpiel calls the game a draw."""
    gtp = GtpEngine(Engine(command("gnugo", GO_ENGINES, "test"), "gnugo"))
    left_out = 0
    try:
        for seed in (17, 18):
            rng = random.Random(seed)
            state = pyspiel.load_game("go(board_size=5,komi=0.5)").new_initial_state()
            gtp.ask("boardsize 5")
            gtp.ask("clear_board")
            while not state.is_terminal():
                seat = state.current_player()
                legal = [each for each in state.legal_actions() if each != 25]
                named = gtp.ask(f"all_legal {go.COLORS[seat]}").split()
                theirs = {go.action(each, 5) for each in named} - {25}
                assert theirs <= set(legal)
                for each in set(legal) - theirs:
                    left_out += 1
                    assert state.child(each).is_terminal()
                chosen = rng.choice(legal or [25])
                gtp.ask(f"play {go.COLORS[seat]} {go.vertex(chosen, 5)}")
                state.apply_action(chosen)
    finally:
        gtp.engine.close()
    assert left_out


STUBBORN = """
import sys
for line in sys.stdin:
    word = line.split()[0]
    print("= 2" if word == "protocol_version" else "= true" if word == "known_command" else
          "= A1" if word == "genmove" else "=", end="\\n\\n", flush=True)
    if word == "quit":
        break
"""


def test_an_engine_whose_move_the_referee_refuses_passes(tmp_path: Path) -> None:
    program = tmp_path / "stubborn.py"
    program.write_text(STUBBORN)
    register(f"engine:stubborn={sys.executable} {program}")
    with InProcess([OpenSpiel], [Gtp, Random]) as experiment:
        engine = experiment.create("gtp", parameters={"engine": "stubborn"})
        other = experiment.create("random", seed=1)
        (episode,) = experiment.run(
            "openspiel", [engine, other], configuration=SMALL_GO, seed=1, check=True
        ).wait()
        assert episode.reason == "terminated"
        assert episode.seats[0].refused >= 1
        experiment.cleanup(engine)


def test_gnugo_beats_random() -> None:
    with InProcess([OpenSpiel], [Gtp, Random]) as experiment:
        engine = experiment.create("gtp", parameters={"level": 0})
        other = experiment.create("random", seed=1)
        run = experiment.run(
            "openspiel", [engine, other], configuration=SMALL_GO, episodes=4, seed=3, rotate=True
        )
        for episode in run:
            mine = next(i for i, each in enumerate(episode.seats) if each.agent == "gtp")
            assert (episode.reason, episode.outcome and episode.outcome[mine]) == ("terminated", 1)
        experiment.cleanup(engine)


@pytest.mark.parametrize("seed", range(3))
def test_stones_are_captured_as_the_referee_does(seed: int) -> None:
    rng = random.Random(seed)
    state = pyspiel.load_game("go(board_size=5,komi=0.5)").new_initial_state()
    stones = go.Position(str(state)).stones
    captures = 0
    while not state.is_terminal():
        seat, chosen = state.current_player(), rng.choice(state.legal_actions())
        state.apply_action(chosen)
        before = sum(map(len, stones))
        stones = go.played(stones, seat, chosen, 5)
        captures += sum(map(len, stones)) <= before
        assert go.Position(str(state)).stones == stones
    assert captures > 3


def test_vertices_are_named_as_the_referee_does() -> None:
    state = pyspiel.load_game("go(board_size=19)").new_initial_state()
    for chosen in state.legal_actions():
        name = state.action_to_string(0, chosen).split()[1]
        assert go.vertex(chosen, 19).lower() == name.lower()
        assert go.action(name, 19) == chosen
    for wrong in ("I5", "A0", "A20", "Z1", "", "D4x"):
        with pytest.raises(DovetailError, match="is not a vertex"):
            go.action(wrong, 19)
