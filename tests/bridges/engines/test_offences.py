"""An engine that misbehaves loses its game, as any agent does, and the reasons are told apart."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail import InProcess
from dovetail.peer import registry
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.plugins import register
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.gtp import Gtp
from dovetail_bridges.openspiel.environment import OpenSpiel
from dovetail_bridges.uci import Uci

CHESS = {"game": "chess"}
SMALL_GO = {"game": "go(board_size=5,komi=0.5)"}


@pytest.fixture(autouse=True)
def _clean_registry() -> Iterator[None]:
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


def fake(name: str, source: str, folder: Path) -> None:
    """Register an engine that is a few lines of Python."""
    path = folder / f"{name}.py"
    path.write_text("import sys, time\nsay = lambda *a: print(*a, flush=True)\n" + source)
    register(f"engine:{name}={sys.executable} {path}")


BROKEN = {
    "dies": ("if line.startswith('go'): sys.exit(3)", "stalled", "dies has ended with code 3"),
    "illegal": ("if line.startswith('go'): say('bestmove e2e5')", "illegal-action", "'e2e5'"),
    "none": ("if line.startswith('go'): say('bestmove (none)')", "illegal-action", "'(none)'"),
    "rubbish": ("if line.startswith('go'): say('bestmove')", "illegal-action", "'' is not legal"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_engine_is_the_seats_own_fault(kind: str, tmp_path: Path) -> None:
    source, reason, why = BROKEN[kind]
    fake(
        kind,
        "for line in sys.stdin:\n"
        "    if line.strip() == 'uci': say('uciok')\n"
        "    if line.strip() == 'isready': say('readyok')\n"
        f"    {source}\n",
        tmp_path,
    )
    with InProcess([OpenSpiel], [Uci, Random]) as experiment:
        engine = experiment.create("uci", parameters={"engine": kind})
        other = experiment.create("random")
        episodes = experiment.run("openspiel", [engine, other], configuration=CHESS, episodes=2)
        for episode in episodes.wait():
            assert (episode.reason, episode.blame) == (reason, 0)
            assert (episode.scored, episode.outcome) == (True, [0.0, 1.0])
            assert why in episode.message


def test_a_hung_engine_is_told_to_stop_and_given_up(tmp_path: Path) -> None:
    fake(
        "hangs",
        "for line in sys.stdin:\n"
        "    if line.strip() == 'uci': say('uciok')\n"
        "    if line.strip() == 'isready': say('readyok')\n",
        tmp_path,
    )
    with InProcess([OpenSpiel], [Uci, Random]) as experiment:
        engine = experiment.create("uci", parameters={"engine": "hangs"})
        other = experiment.create("random")
        clock = {"decision": 0.2, "margin": 10.0}
        (episode,) = experiment.run(
            "openspiel", [engine, other], configuration=CHESS, retries=0, clock=clock
        ).wait()
        assert (episode.reason, episode.blame, episode.scored) == ("timeout", 0, True)
        assert "gave no move within 0.15 s, and none when it was told" in episode.message


UCI_DEATHS = ("uci", "isready1", "ucinewgame", "isready2", "position", "go")
GTP_DEATHS = ("protocol_version", "boardsize", "clear_board", "komi", "known_command", "genmove")
DYING = """
import collections
count = collections.Counter()
answers = {"uci": "uciok", "isready": "readyok", "go": "bestmove e2e4", "genmove": "= pass\\n"}
for line in sys.stdin:
    word = (line.split() or [""])[0]
    count[word] += 1
    if @ in (word, f"{word}{count[word]}"): sys.exit(3)
    if word in answers or ! == "gtp": say(answers.get(word, "=\\n"))
"""


@pytest.mark.parametrize(
    ("kind", "where"), [*(("uci", at) for at in UCI_DEATHS), *(("gtp", at) for at in GTP_DEATHS)]
)
def test_an_engine_loses_wherever_it_dies_but_never_begins_if_it_never_spoke(
    kind: str, where: str, tmp_path: Path
) -> None:
    fake("dying", DYING.replace("@", repr(where)).replace("!", repr(kind)), tmp_path)
    why = "the engine dying has ended with code 3"
    with InProcess([OpenSpiel], [Uci, Gtp, Random]) as experiment:
        seats = experiment.create(kind, parameters={"engine": "dying"}), experiment.create("random")
        game = CHESS if kind == "uci" else SMALL_GO
        run = experiment.run("openspiel", seats, configuration=game, episodes=2, retries=0)
        if where in ("uci", "protocol_version"):
            with pytest.raises(DovetailError, match=why):
                run.wait()
            return
        for episode in run.wait():
            assert (episode.reason, episode.blame, episode.outcome) == ("stalled", 0, [0.0, 1.0])
            assert episode.message == why


def test_an_engine_may_resign(tmp_path: Path) -> None:
    fake(
        "resigns",
        "for line in sys.stdin:\n"
        "    say('= resign\\n' if line.startswith('genmove') else '=\\n')\n",
        tmp_path,
    )
    with InProcess([OpenSpiel], [Gtp, Random]) as experiment:
        engine = experiment.create("gtp", parameters={"engine": "resigns"})
        other = experiment.create("random")
        (episode,) = experiment.run(
            "openspiel", [other, engine], configuration=SMALL_GO, retries=0, on_illegal="random"
        ).wait()
        assert (episode.reason, episode.blame) == ("terminated", 1), episode.message
        assert episode.outcome == [1.0, 0.0]
        assert episode.message == "seat 1 resigned at turn 1"


def test_an_engine_that_answers_too_late_loses_that_game_alone(tmp_path: Path) -> None:
    first = tmp_path / "first"
    fake(
        "late",
        "import os\n"
        "for line in sys.stdin:\n"
        f"    if line.startswith('genmove') and not os.path.exists({str(first)!r}):\n"
        f"        open({str(first)!r}, 'w').close()\n"
        "        time.sleep(2)\n"
        "    say('= pass\\n' if line.startswith('genmove') else '=\\n')\n",
        tmp_path,
    )
    with InProcess([OpenSpiel], [Gtp]) as experiment:
        engine = experiment.create("gtp", parameters={"engine": "late"})
        other = experiment.create("gtp", parameters={"engine": "late"})
        clock = {"decision": 1.2, "margin": 20.0}
        late, *later = experiment.run(
            "openspiel", [engine, other], configuration=SMALL_GO, episodes=3, retries=0, clock=clock
        ).wait()
        assert (late.reason, late.blame, late.scored) == ("timeout", 0, True)
        assert re.search(r"the engine late did not answer within (0\.9\d*|1) s", late.message)
        assert [each.reason for each in later] == ["terminated"] * 2, later


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("= Z99\\n", "illegal-action"),
        ("? I give up\\n", "stalled"),
        ("= A1 B1\\n", "illegal-action"),
    ],
)
def test_a_go_engine_that_makes_no_move_loses(answer: str, reason: str, tmp_path: Path) -> None:
    fake(
        "odd",
        f"for line in sys.stdin:\n    say('{answer}' if line.startswith('genmove') else '=\\n')\n",
        tmp_path,
    )
    with InProcess([OpenSpiel], [Gtp, Random]) as experiment:
        engine = experiment.create("gtp", parameters={"engine": "odd"})
        other = experiment.create("random")
        (episode,) = experiment.run("openspiel", [engine, other], configuration=SMALL_GO).wait()
        assert (episode.reason, episode.blame, episode.outcome) == (reason, 0, [0.0, 1.0])


def test_all_commands_of_a_decision_share_its_time(tmp_path: Path) -> None:
    """Each command is answered within the clock, all together are not."""
    fake(
        "slow",
        "for line in sys.stdin:\n"
        "    word = line.split()[0]\n"
        "    if word not in ('protocol_version', 'level'): time.sleep(1.2)\n"
        "    say('= pass\\n' if word == 'genmove' else '=\\n')\n",
        tmp_path,
    )
    with InProcess([OpenSpiel], [Gtp, Random]) as experiment:
        engine = experiment.create("gtp", parameters={"engine": "slow"})
        other = experiment.create("random")
        clock = {"decision": 3.0, "margin": 60.0}
        (episode,) = experiment.run(
            "openspiel", [engine, other], configuration=SMALL_GO, retries=0, clock=clock
        ).wait()
        assert (episode.reason, episode.blame, episode.scored) == ("timeout", 0, True)
        assert "slow did not answer within 0." in episode.message
