"""An agent that asks a model: of a small server that answers well, badly, slowly and never."""

from __future__ import annotations

import json
import random
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.bridges.stand_ins import stand_in

from dovetail import DovetailError, Environment, InProcess, Spec, Turn, spaces
from dovetail.peer.agents.agent import Decision, Seat
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.serve import serve
from dovetail.protocol import messages as m
from dovetail_bridges.choices import position
from dovetail_bridges.gdl import GDL
from dovetail_bridges.language_model import LanguageModel, prompt
from dovetail_bridges.language_model.agent import LanguageModelParameters
from dovetail_bridges.language_model.endpoint import Endpoint, Late, Settings, settings
from dovetail_bridges.textarena.environment import TextArena

Reply = Callable[[dict[str, Any]], Any]
"""Gets a request; returns the model's text, or (status, body) or a generator of bytes."""


class Model(ThreadingHTTPServer):
    """An OpenAI-style server of a few lines."""

    daemon_threads = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        self.over = threading.Event()
        self.where = Settings(f"http://127.0.0.1:{self.server_address[1]}/v1", "secret", "tiny")


class Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.headers.append(self.headers)
        answer = self.server.reply(body)
        status, data = 200, b""
        if isinstance(answer, tuple):
            status, data = answer
        elif isinstance(answer, str):
            reply = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
            data = json.dumps(reply | {"usage": {"total_tokens": 50}}).encode()
        try:
            self.send_response(status)
            self.end_headers()
            if not isinstance(answer, str | tuple):
                for part in answer:
                    self.wfile.write(part)
                    self.wfile.flush()
            self.wfile.write(data)
        except OSError:
            pass  # the agent has given up

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def model(reply: Reply) -> Iterator[Model]:
    with Model(reply) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def first(request: dict[str, Any]) -> str:
    """Take the first legal action that the question lists."""
    found = re.search(r"^(-?\d+)", request["messages"][1]["content"].split("Legal actions:\n")[1])
    assert found is not None
    return f"I like it.\n**ACTION: {found[1]}**"


def play(
    server: Model, episodes: int = 1, parameters: dict[str, Any] | None = None, **options: Any
) -> tuple[list[m.Episode], list[dict[str, Any]]]:
    """Play tic-tac-toe, the model in seat 0; return results and transcripts."""

    class Asking(LanguageModel):
        def __init__(self, parameters: LanguageModelParameters, seed: int) -> None:
            super().__init__(parameters, seed, server.where)

    with InProcess([GDL], [Asking, Random]) as experiment:
        asking = experiment.create("language-model", parameters=parameters or {}, seed=1)
        other = experiment.create("random", seed=2)
        run = experiment.run("gdl", [asking, other], episodes=episodes, retries=0, **options)
        return run.wait(), experiment.message(asking, "transcripts")


def test_a_good_model_plays_and_its_transcript_says_how() -> None:
    with model(first) as server:
        games, transcripts = play(server, 3, {"temperature": 0.5, "rules": "Three in a row win."})
    assert {game.reason for game in games} == {"terminated"}
    assert [each["reason"] for each in transcripts] == ["terminated"] * 3
    assert [each["return"] for each in transcripts] == [game.seats[0].total for game in games]
    turns = sum(game.seats[0].decisions for game in games)
    assert turns == len(server.requests) == sum(len(each["decisions"]) for each in transcripts)
    assert transcripts[0]["tokens"] == 50 * len(transcripts[0]["decisions"])
    request = server.requests[0]
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("tiny", 0.5, 1024)
    assert server.headers[0]["Authorization"] == "Bearer secret"
    system, user = (each["content"] for each in request["messages"])
    assert "Three in a row win." in system
    assert "you are player 1" in system
    assert "\n0: (mark 1 1)\n" in user
    assert "secret" not in json.dumps(transcripts)
    assert not any("fallback" in each for each in transcripts[0]["decisions"])


def test_a_bad_answer_is_asked_again_with_what_was_wrong() -> None:
    answers = iter(["Let me think", "ACTION: 99", "ACTION: 4"] + ["nonsense"] * 30)
    with model(lambda request: next(answers)) as server:
        games, (transcript,) = play(server)
    assert games[0].reason == "terminated"
    decisions = transcript["decisions"]
    assert decisions[0]["action"] == 4
    assert [each.get("problem", "") for each in decisions[0]["exchanges"]] == [
        "the last line must be ACTION: and the number of one legal action",
        "99 is not a legal action here",
        "",
    ]
    assert "99 is not a legal action here" in server.requests[2]["messages"][-1]["content"]
    assert len(decisions[1]["exchanges"]) == 3
    assert "must be ACTION" in decisions[1]["fallback"]


def test_a_seat_is_lost_without_an_answer_if_the_user_wants_that() -> None:
    with model(lambda request: "no") as server:
        games, (transcript,) = play(server, 1, {"attempts": 2, "fallback": "fail"})
    assert (games[0].reason, games[0].blame) == ("stalled", 0)
    assert "must be ACTION" in games[0].message
    assert len(transcript["decisions"][0]["exchanges"]) == 2


def test_a_slow_answer_is_waited_for_and_one_that_never_ends_is_not() -> None:
    def slow(request: dict[str, Any]) -> Iterator[bytes]:
        reply = {"choices": [{"message": {"content": first(request)}}]}
        data = json.dumps(reply).encode()
        for at in range(0, len(data), 40):
            time.sleep(0.01)
            yield data[at : at + 40]

    with model(slow) as server:
        games, (transcript,) = play(server)
    assert not any("fallback" in each for each in transcript["decisions"])
    assert transcript["tokens"] > 0

    def trickle(request: dict[str, Any]) -> Iterator[bytes]:
        while not server.over.wait(0.02):
            yield b" "

    with model(trickle) as server:
        before = time.monotonic()
        games, (transcript,) = play(server, 1, {"seconds": 0.3})
        assert time.monotonic() - before < 20
    assert games[0].reason == "terminated"
    assert all("fallback" in each for each in transcript["decisions"])


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
        b"",
    ],
)
def test_a_server_that_trickles_any_part_of_its_answer_is_left_in_time(said: bytes) -> None:
    over = threading.Event()

    def trickle(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    connection.sendall(said)
                    while not over.wait(0.02):
                        connection.sendall(b"1")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle, args=(listener,), daemon=True)
        thread.start()
        endpoint = Endpoint(Settings(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        begun = time.monotonic()
        with pytest.raises(Late, match=r"within 0\.3 s"):
            endpoint.ask([], 0.3)
        assert time.monotonic() - begun < 10
        over.set()
        endpoint.close()


def test_a_look_up_of_the_servers_name_that_hangs_is_left_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()

    def hangs(*_: Any, **__: Any) -> Any:
        over.wait(60)
        raise OSError("no such name")

    endpoint = Endpoint(Settings("http://model.invalid:8080"))
    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    begun = time.monotonic()
    with pytest.raises(Late, match=r"within 0\.3 s"):
        endpoint.ask([], 0.3)
    assert time.monotonic() - begun < 20
    over.set()
    endpoint.close()


def test_no_answer_at_all_costs_no_more_than_the_clock() -> None:
    with model(lambda request: server.over.wait(60) and "") as server:
        games, (transcript,) = play(server, clock={"decision": 1.0, "margin": 20.0})
        assert games[0].reason == "terminated"
        found = re.search(r"within (0\.\d+) s", transcript["decisions"][0]["fallback"])
        assert found
        assert float(found[1]) <= 0.8
        server.over.set()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = Endpoint(Settings(f"http://127.0.0.1:{silent.getsockname()[1]}"))
        with pytest.raises(Late, match=r"within 0\.2 s"):
            endpoint.ask([], 0.2)
        endpoint.close()


def test_a_server_in_trouble_is_asked_again_and_one_that_refuses_is_not() -> None:
    answers = iter([(503, b"busy"), (429, b'{"error": {"message": "slow down"}}'), "ACTION: 0"])
    pauses: list[float] = []
    with model(lambda request: next(answers)) as server:
        endpoint = Endpoint(server.where, pauses.append)
        assert endpoint.ask([{"role": "user", "content": "?"}], 30).text == "ACTION: 0"
        assert pauses == [0.5, 1.0]
        endpoint.close()
    with model(lambda request: (401, b'{"error": {"message": "no such\\nkey"}}')) as server:
        games, (transcript,) = play(server)
        assert len(server.requests) == games[0].seats[0].decisions
    assert transcript["decisions"][0]["fallback"].endswith("status 401: no such key")


@pytest.mark.parametrize("data", [b"", b"[]", b'{"choices": []}', b"x" * (1 << 20 | 1), b"\xff"])
def test_rubbish_from_the_server_is_one_line(data: bytes) -> None:
    with model(lambda request: (200, data)) as server:
        endpoint = Endpoint(server.where)
        with pytest.raises(DovetailError, match=r"expected choices|more than 1,048,576 bytes"):
            endpoint.ask([], 10)
        endpoint.close()


def test_budgets_of_an_episode_and_of_the_program() -> None:
    with model(first) as server:
        games, (one, two) = play(server, 2, {"tokens": 60})
        assert [each["tokens"] for each in (one, two)] == [100, 100]
        assert "the limit of this episode is 60" in one["decisions"][2]["fallback"]
        server.where = Settings(server.where.url, tokens=150)
        games, transcripts = play(server, 2)
    assert sum(each["tokens"] for each in transcripts) == 150
    assert "DOVETAIL_MODEL_TOKENS" in transcripts[-1]["decisions"][-1]["fallback"]
    assert {game.reason for game in games} == {"terminated"}


def test_transcripts_are_written_to_a_local_folder(tmp_path: Path) -> None:
    with model(first) as server:
        server.where = Settings(server.where.url, transcripts=str(tmp_path / "talk"))
        _, (transcript,) = play(server)
    (path,) = (tmp_path / "talk").iterdir()
    assert path.name == f"episode-{transcript['episode']}-seat-0.json"
    assert json.loads(path.read_text()) == transcript
    with model(lambda request: "no") as server:  # another program at another broker
        server.where = Settings(server.where.url, transcripts=str(tmp_path / "talk"))
        _, (second,) = play(server)
        _, (third,) = play(server)
    assert json.loads(path.read_text()) == transcript
    for number, other in ((2, second), (3, third)):
        assert other["episode"] == transcript["episode"]
        other_path = path.with_name(f"{path.stem}-{number}.json")
        assert json.loads(other_path.read_text()) == other


class Pick(Environment):
    """Any two numbers end it."""

    def init(self) -> Spec:
        return Spec(
            observation_spaces=[spaces.Discrete(1)], action_spaces=[spaces.MultiDiscrete([3, 3])]
        )

    def start(self, seed: int) -> Turn:
        return Turn.ask(0, 0)

    def step(self, actions: Any) -> Turn:
        return Turn.end([0], [float(sum(actions[0]))])


def test_a_long_position_keeps_its_beginning_and_its_end() -> None:
    seen = position("RULES " + "x" * 50_000 + " your turn", None)
    assert len(seen) < 20_100
    assert seen.startswith("RULES")
    assert seen.endswith("your turn")
    assert "\n... 30,016 characters are left out ...\n" in seen


def test_an_observation_without_elements_costs_nothing() -> None:
    """Nested lists of it would fill the memory."""
    assert position(None, np.empty([2**40, 0])) == "[]"


def test_actions_of_any_space_are_asked_as_json() -> None:
    with model(lambda request: "Both high.\nACTION: [2, 1]") as server:
        agent = LanguageModel(LanguageModelParameters(), 0, server.where)
        with InProcess([Pick], [agent]) as experiment:
            (game,) = experiment.run("pick", ["language-model"]).wait()
    assert game.seats[0].total == 3.0
    assert "MultiDiscrete" in server.requests[0]["messages"][0]["content"]


class Say(Environment):
    """The first text ends it; the number of its lines is the reward."""

    def init(self) -> Spec:
        return Spec(
            observation_spaces=[spaces.Text(9)], action_spaces=[spaces.Text(12, min_length=2)]
        )

    def start(self, seed: int) -> Turn:
        return Turn.ask(0, "say it")

    def step(self, actions: Any) -> Turn:
        return Turn.end(["said"], [float(actions[0].count("\n") + 1)])


def test_where_actions_are_text_all_that_follows_the_marker_counts() -> None:
    answers = iter(
        ["[4]", "ACTION: " + "x" * 13, "I write ACTION: as told.\n**ACTION:**\none\ntwo"]
    )
    with model(lambda request: next(answers)) as server:
        agent = LanguageModel(LanguageModelParameters(), 0, server.where)
        with InProcess([Say], [agent]) as experiment:
            (game,) = experiment.run("say", ["language-model"]).wait()
    assert game.seats[0].total == 2.0
    assert "the text of your action" in server.requests[0]["messages"][0]["content"]
    told = [request["messages"][-1]["content"] for request in server.requests]
    assert "it must end with ACTION: at the beginning of a line" in told[1]
    assert "after ACTION: there must be 2 to 12 characters, not 13" in told[2]


def test_a_seat_whose_model_finds_no_text_fails_with_one_line() -> None:
    with model(lambda request: "no idea") as server:
        agent = LanguageModel(LanguageModelParameters(attempts=2), 0, server.where)
        with InProcess([Say], [agent]) as experiment:
            (game,) = experiment.run("say", ["language-model"], retries=0).wait()
    assert (game.reason, game.blame, len(server.requests)) == ("stalled", 0, 2)
    assert game.message.endswith(
        "language-model: it must end with ACTION: at the beginning of a line, and your text"
    )


def test_two_models_play_a_text_game(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in("textarena", monkeypatch)

    def bracketed(request: dict[str, Any]) -> str:
        seen = request["messages"][1]["content"]
        (free, *_) = re.findall(r"\[\d\]", seen.rsplit("Available Moves", 1)[-1])
        return f"Thinking of [0] first.\n`ACTION: {free}`"

    with model(bracketed) as server:
        agent = LanguageModel(LanguageModelParameters(), 0, server.where)
        with InProcess([TextArena], [agent]) as experiment:
            (game,) = experiment.run("textarena", ["language-model"] * 2, check=True).wait()
    assert (game.reason, game.blame) == ("terminated", None)
    assert sorted(game.outcome or []) == [0.0, 1.0]
    assert game.turns == len(server.requests) > 5  # none was asked twice


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("ACTION: 1", 1),
        ("action 2.", 2),
        ("2", 2),
        ("ACTION: 1\n\nACTION: 2", 2),
        ("`ACTION: 1`\n", 1),
    ],
)
def test_answers_that_are_read(answer: str, action: int) -> None:
    assert prompt.read(answer, decision()) == action


@pytest.mark.parametrize(
    "answer",
    ["", "ACTION:", "ACTION: 1 or 2", "ACTION: 0", "ACTION: 1\nI think.", "1.5", "ACTION: one", "٢",
     "ACTION: " + "1" * 5000],
)  # fmt: skip
def test_answers_that_are_not_read(answer: str) -> None:
    with pytest.raises(prompt.BadAnswer):
        prompt.read(answer, decision())


def decision() -> Decision:
    spec = Spec(name="toy", action_spaces=[spaces.Discrete(3)])
    return Decision(Seat(1, 0, spec), 1, 0, [1, 2], [1, 2], 0.0, "learn", random.Random(0))


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("DOVETAIL_MODEL_URL", "", "DOVETAIL_MODEL_URL is ''"),
        ("DOVETAIL_MODEL_URL", "ftp://x", "DOVETAIL_MODEL_URL is 'ftp://x'"),
        ("DOVETAIL_MODEL_TOKENS", "many", "expected a number of tokens"),
    ],
)
def test_settings_come_from_the_environment_and_are_checked(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    monkeypatch.setenv("DOVETAIL_MODEL_URL", "http://127.0.0.1:1/v1/")
    monkeypatch.setenv("DOVETAIL_MODEL_KEY", "secret")
    assert settings().url == "http://127.0.0.1:1/v1"
    assert "secret" not in repr(settings())
    monkeypatch.setenv(name, value)
    with pytest.raises(DovetailError, match=problem):
        LanguageModel()
    with pytest.raises(DovetailError, match=problem):  # before it looks for a broker
        serve(LanguageModel, "tcp://127.0.0.1:1")


def test_a_peer_cannot_set_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_MODEL_URL", "http://127.0.0.1:1/v1")
    with (
        InProcess([GDL], [LanguageModel]) as experiment,
        pytest.raises(DovetailError, match="has no option 'url'"),
    ):
        experiment.create("language-model", parameters={"url": "http://127.0.0.1:2"})


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(DovetailError, match=r"pip install 'dovetail\[language-models\]'"):
        Endpoint(Settings("http://127.0.0.1:1"))
