"""A Dovetail agent as a general game player, and a game manager that trusts no player."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from tests.bridges.test_gdl import smaller

from dovetail import Agent, DovetailError, InProcess
from dovetail.peer.agents.agent import Decision, End
from dovetail.peer.agents.random_agent import Random
from dovetail.transport.lines import MAX_LINES
from dovetail_agents.general.search.agents import MCTSAgent, MCTSParameters
from dovetail_agents.general.td import TD
from dovetail_bridges.gdl import manager
from dovetail_bridges.gdl.environment import GDL, rules_of
from dovetail_bridges.gdl.http import AT_ONCE, Answering, Server, post
from dovetail_bridges.gdl.manager import play
from dovetail_bridges.gdl.protocol import Protocol


@contextmanager
def served(protocol: Answering) -> Iterator[str]:
    with Server(protocol, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.address
        finally:
            server.shutdown()
            thread.join()


def start(protocol: Protocol, game: str, role: str, clock: float = 10) -> str:
    return protocol.answer(f"(START m1 {role} ({rules_of(game)}) 10 {clock})")


class First(Agent):
    """Takes the first legal action and remembers everything."""

    def __init__(self, parameters: object = None, seed: int = 0) -> None:
        super().__init__(None, seed)
        self.seen: list[object] = []
        self.ends: list[End] = []

    def step(self, decision: Decision) -> int:
        self.seen.append(decision.observation)
        assert decision.legal
        return decision.legal[0]

    def end(self, end: End) -> None:
        self.ends.append(end)


def test_a_match_by_messages_of_the_protocol() -> None:
    agent = First()
    player = Protocol(agent)
    assert player.answer("( INFO )") == "((name dovetail) (status available))"
    assert start(player, "tic_tac_toe", "o") == "ready"
    assert player.answer("(info)") == "((name dovetail) (status busy))"
    assert start(player, "tic_tac_toe", "x") == "busy"
    assert player.answer("(PLAY m1 NIL)") == "noop"
    assert player.answer("(PLAY m1 ((mark 2 2) noop))") == "(mark 1 1)"
    assert player.answer("(PLAY m1 (NOOP (MARK 1 1)))") == "noop"
    assert player.answer("(PLAY m1 ((mark 1 2) noop))") == "(mark 1 3)"
    assert player.answer("(PLAY m1 (noop (mark 1 3)))") == "noop"
    assert player.answer("(STOP m1 ((mark 3 2) noop))") == "done"
    assert player.answer("(info)") == "((name dovetail) (status available))"
    (end,) = agent.ends
    assert (end.reason, end.total, end.outcome, end.decisions) == ("terminated", 0.0, [1.0, 0.0], 2)


def test_hidden_information_arrives_as_percepts() -> None:
    agent = First()
    player = Protocol(agent)
    assert start(player, "kuhn_poker", "bob") == "ready"
    assert player.answer("(PLAY m1 0 NIL NIL)") == "noop"
    assert player.answer("(PLAY m1 1 noop ((card king)))") == "noop"
    assert player.answer("(PLAY m1 2 noop ((did alice bet)))") == "bet"
    assert agent.seen == ["1. did noop, saw (card king)\n2. did noop, saw (did alice bet)"]
    assert player.answer("(ABORT m1)") == "aborted"
    assert agent.ends[0].reason == "cancelled"


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("(PLAY", "never closed"),
        ("(HELLO)", "not a message of the protocol"),
        ("(PLAY m2 NIL)", "match m2 is not in progress"),
        ("(PLAY m1 ((mark 9 9) noop))", "not legal for x"),
        ("(PLAY m1 ((mark 1 1)))", "not a move of each of 2 roles"),
        ("(START m2 z ((role a)) 1 1)", "busy"),
        ("()", "not a message of the protocol"),
    ],
)
def test_wrong_messages_get_one_line(message: str, problem: str) -> None:
    player = Protocol(First())
    start(player, "tic_tac_toe", "x")
    try:
        answer = player.answer(message)
    except DovetailError as error:
        answer = str(error)
    assert problem in answer
    assert "\n" not in answer


def test_a_match_that_its_manager_forgot_makes_room_for_another() -> None:
    now = [0.0]
    agent = First()
    player = Protocol(agent, clock=lambda: now[0])
    assert start(player, "tic_tac_toe", "x") == "ready"
    now[0] = 99.0
    assert start(player, "tic_tac_toe", "x") == "busy"
    now[0] = 101.0
    assert start(player, "tic_tac_toe", "x") == "ready"
    assert [end.reason for end in agent.ends] == ["cancelled"]


class Slow(Random):
    """Thinks until the test lets it."""

    go = threading.Event()

    def step(self, decision: Decision) -> int:
        assert self.go.wait(60)
        found: int = super().step(decision)
        return found


def test_an_agent_that_thinks_too_long_or_fails_still_moves_in_time() -> None:
    class Broken(Random):
        def step(self, decision: Decision) -> int:
            raise ValueError("no idea")

    with ThreadPoolExecutor(1) as pool:
        player = Protocol(Slow(), pool=pool)
        start(player, "tic_tac_toe", "x", 0.2)
        before = time.monotonic()
        assert player.answer("(PLAY m1 NIL)").startswith("(mark")
        assert time.monotonic() - before < 5
        Slow.go.set()
        assert player.problems == 1
        assert player.answer("(ABORT m1)") == "aborted"
    broken = Protocol(Broken())
    start(broken, "tic_tac_toe", "x")
    assert broken.answer("(PLAY m1 NIL)").startswith("(mark")
    assert broken.problems == 1


def test_two_players_over_http() -> None:
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        strong = Protocol(MCTSAgent(MCTSParameters(simulations=30), 1), pool=one)
        weak = Protocol(Random(None, 2), 5, pool=two)
        with served(strong) as first, served(weak) as second:
            rules = rules_of("tic_tac_toe")
            results = [play(rules, [first, second], seed=seed) for seed in range(2)]
            cards = play(rules_of("kuhn_poker"), [first, second])
    assert [result.errors for result in (*results, cards)] == [[], [], []]
    assert sum(result.goals["x"] for result in results) > 100
    assert sum(cards.goals.values()) == 100


def test_a_manager_plays_for_players_that_are_wrong_dead_or_silent() -> None:
    class Wrong:
        def answer(self, text: str) -> str:
            return "ready" if text.startswith("(START") else "(jump 1)"

    with served(Wrong()) as wrong, served(Protocol(Random(), 3)) as right:
        result = play(rules_of("tic_tac_toe"), [wrong, right], seed=1)
        assert len(result.errors) == len(result.moves)
        assert "(jump 1) is not legal" in result.errors[0]
        assert sum(result.goals.values()) == 100
        result = play(rules_of("tic_tac_toe"), [wrong, right], seed=1, fault="forfeit")
        assert (len(result.errors), result.moves) == (1, [])
        assert list(result.goals.values()) == [0, 100]
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(DovetailError, match="does not accept the match"):
                play(rules_of("tic_tac_toe"), [right, address], start_clock=1)
        assert post(right, "(INFO)", 5) == "((name dovetail) (status available))"


@pytest.mark.parametrize("head", [b"HTTP/1.0 200 OK\r\nX: ", b"HTTP/1.0 200 OK\r\n\r\n"])
def test_an_answer_that_trickles_is_late(head: bytes) -> None:
    over = threading.Event()

    def trickle(listener: socket.socket) -> None:
        link, _ = listener.accept()
        with link, suppress(OSError):
            link.sendall(head)
            for _ in range(100):
                if over.wait(0.05):
                    break
                link.sendall(b"x")

    with ThreadPoolExecutor(1) as pool, socket.create_server(("127.0.0.1", 0)) as listener:
        pool.submit(trickle, listener)
        began = time.monotonic()
        with pytest.raises(DovetailError, match="did not answer: timed out"):
            post(f"http://127.0.0.1:{listener.getsockname()[1]}", "(INFO)", 0.3)
        assert time.monotonic() - began < 3
        over.set()


def test_a_manager_waits_for_no_player_after_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "LATE", 0.1)
    over = threading.Event()

    def send(address: str, text: str, timeout: float) -> str:
        over.wait(8)
        return "ready"

    began = time.monotonic()
    with pytest.raises(DovetailError, match=r"a did not answer within 0 s"):
        play(rules_of("tic_tac_toe"), ["a", "b"], start_clock=0, send=send)
    assert time.monotonic() - began < 5
    over.set()


def test_rubbish_over_http_is_refused_and_the_player_lives_on() -> None:
    with served(Protocol(Random())) as address:
        host, port = address.removeprefix("http://").split(":")
        head = b"POST / HTTP/1.0\r\nContent-Length: "
        for rubbish in (
            *(b"\x00\xff" * 50 + b"\r\n\r\n", head + b"-5\r\n\r\n"),
            *(head + b"99999999999\r\n\r\n", b""),
        ):
            with socket.create_connection((host, int(port)), 5) as link:
                link.sendall(rubbish)
                link.shutdown(socket.SHUT_WR)
                assert b"200" not in link.recv(4096)[:20]
        with pytest.raises(DovetailError, match=r"answered 400: .*never closed"):
            post(address, "(INFO", 5)
        assert post(address, "(INFO)", 5).startswith("((name dovetail)")


def test_rubbish_costs_a_bounded_number_of_lines(caplog: pytest.LogCaptureFixture) -> None:
    with served(Protocol(Random())) as address:
        for _ in range(50):
            with pytest.raises(DovetailError):
                post(address, "(INFO", 20)
    assert 0 < len(caplog.messages) <= 2 * MAX_LINES


def test_connections_have_a_limit_and_leave_room_when_they_end() -> None:
    with served(Protocol(Random())) as address:
        host, port = address.removeprefix("http://").split(":")
        halves = [socket.create_connection((host, int(port)), 20) for _ in range(AT_ONCE)]
        for half in halves:
            half.sendall(b"POST / HTTP/1.0\r\n")
        with socket.create_connection((host, int(port)), 20) as beyond:
            assert beyond.recv(1) == b""  # closed at once
        for half in halves:
            half.shutdown(socket.SHUT_WR)
            half.recv(4096)
            half.close()
        for _ in range(100):  # until the threads have ended
            with suppress(DovetailError):
                assert post(address, "(INFO)", 5).startswith("((name dovetail)")
                return
        pytest.fail("no room came free")


def test_a_learner_keeps_what_it_learned_in_its_matches() -> None:
    ends = []

    class Told(TD):
        def end(self, end: End) -> None:
            ends.append(end.reason)
            super().end(end)

    agent = Told(None, 1)
    before = agent.save()
    for number in range(3):
        player = Protocol(agent, number, "learn")
        with served(player) as one, served(Protocol(Random(), number)) as other:
            assert play(rules_of("nim"), [one, other], seed=number).errors == []
        assert player.problems == 0
    assert agent.save() != before
    assert ends == ["terminated"] * 3


def test_a_learner_of_rlgame_plays_what_it_learned_elsewhere() -> None:
    """It learns from the environment, and plays in matches of a manager that sends the rules."""
    rules = smaller(4, 1)
    configuration = {"rules": rules, "afterstates": True}
    with InProcess([GDL], [TD]) as experiment:
        learner = experiment.create("td", seed=1)
        run = experiment.run(
            "gdl", [learner] * 2, configuration=configuration, episodes=300, seed=1
        )
        assert {game.reason for game in run.wait()} == {"terminated"}
        state = experiment.save(learner)
    agent = TD(None, 2)
    agent.load(state)
    won = 0
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        for number in range(10):
            player, other = Protocol(agent, number, pool=one), Protocol(Random(), number, pool=two)
            with served(player) as first, served(other) as second:
                match = play(rules, [first, second], seed=number)
            assert match.errors == []
            won += match.goals["white"] == 100
    assert agent.save() == state
    assert won >= 6


def test_two_programs_and_a_match_between_them() -> None:
    command = [sys.executable, "-m", "dovetail", "ggp"]
    players = [
        subprocess.Popen(
            [*command, "player", "random", "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        urls = []
        for each in players:
            assert each.stdout is not None
            urls.append(each.stdout.readline().split()[-1])
        match = [*command, "match", "othello", *urls, "--play-clock", "20"]
        found = subprocess.run(match, capture_output=True, text=True, timeout=100)
        assert found.returncode == 0, found.stderr
        assert re.fullmatch(r"match 0: \d+ steps; black \d+, white \d+\n", found.stdout)
    finally:
        for each in players:
            each.send_signal(signal.SIGINT)
        for each in players:
            assert each.wait(20) == 130
            assert each.stdout is not None
            each.stdout.close()
