"""Mistakes of the authors of environments, agents and scripts cost them one line that says what,
and nobody a wait."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from dovetail import Agent, DovetailError, Environment, Experiment, InProcess, Spec, Turn, View
from dovetail.broker.core.core import Settings
from dovetail.broker.shell.server import Server
from dovetail.client.client import RunFailed
from dovetail.peer.agents.agent import Lookahead
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.serve import serve as serve_agent
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.environments.serve import serve as serve_environment
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Refused
from dovetail.protocol.spaces import Discrete

pytestmark = pytest.mark.processes


class Thrice(Environment):
    """One seat acts three times."""

    def init(self) -> Any:
        return Spec(observation_spaces=[Discrete(9)], action_spaces=[Discrete(2)])

    def start(self, seed: int) -> Any:
        self.time = 0
        return Turn(to_act=[0], seats=[View(0, 0, [0, 1])])

    def step(self, actions: Any) -> Any:
        self.time += 1
        over = self.time == 3
        views = [View(0, self.time, None if over else [0, 1])]
        return Turn(to_act=[] if over else [0], seats=views, terminated=over)


class First(Agent):
    """Takes the first legal action."""

    capacity = 0

    def step(self, decision: Any) -> Any:
        return decision.legal[0]


class Ends(First):
    """Fails at the first end."""

    ended = cleaned = 0

    def end(self, end: Any) -> None:
        self.ended += 1
        if self.ended == 1:
            raise ValueError("no such key")

    def load(self, state: bytes) -> None:
        pass

    def cleanup(self) -> None:
        Ends.cleaned += 1


def game(name: str, **methods: Any) -> type[Environment]:
    return type(name, (Thrice,), {"name": name, "__doc__": "Wrong.", **methods})


def player(name: str, **methods: Any) -> type[Agent]:
    return type(name, (First,), {"name": name, "__doc__": "Wrong.", **methods})


def in_itself() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


FRAME = b"\xff" * (2**24 - 1024)
"""A mask of 134 million actions, which fits into a frame."""


def last(**fields: Any) -> Turn:
    return Turn(**{"seats": [View(0, 0)], "terminated": True, **fields})


def wrong(value: Any) -> Any:
    """Return a value that the types would not let through."""
    return value


WRONG_GAMES: dict[str, tuple[dict[str, Any], str]] = {
    "step-nothing": ({"step": lambda s, a: None}, "step returned NoneType, not a Turn"),
    "step-like-gym": ({"step": lambda s, a: (0, 1.0, True, False, {})}, "step returned tuple"),
    "start-nothing": ({"start": lambda s, a: None}, "start returned NoneType, not a Turn"),
    "init-nothing": ({"init": lambda s: None}, "init returned NoneType, not a Spec"),
    "legal-array": (
        {"start": lambda s, a: Turn(to_act=[0], seats=[View(0, 0, wrong(np.zeros(2, np.int8)))])},
        "legal is an array of int8 with 1 dimensions; give a list",
    ),
    "reward-text": ({"step": lambda s, a: last(seats=[View(0, 0, None, wrong("much"))])}, "float"),
    "foreign-seat": ({"step": lambda s, a: last(seats=[View(3, 0)])}, "seat 3 is foreign"),
    "negative-seat": (
        {"step": lambda s, a: last(seats=[View(0, 0), View(-1, 0, reward=1.0)])},
        "seat",  # over a socket the field is out of range
    ),
    "mask-of-a-frame": (
        {"start": lambda s, a: Turn(to_act=[0], seats=[View(0, 0, FRAME)])},
        "the mask of seat 0 is 16,776,192 bytes long; its action space needs at most 1",
    ),
    "mask-too-large": (
        {
            "init": lambda s: Spec(
                observation_spaces=[Discrete(9)], action_spaces=[Discrete(2**27)]
            ),
            "start": lambda s, a: Turn(to_act=[0], seats=[View(0, 0, FRAME)]),
        },
        "is 16,776,192 bytes long; at most 131,072 are allowed, so send a list instead",
    ),
    "mask-of-nothing": (
        {"start": lambda s, a: Turn(to_act=[0], seats=[View(0, 0, bytes(1))])},
        "the mask of seat 0 allows no action",
    ),
    "one-space": (
        {"init": lambda s: Spec(observation_spaces=wrong(Discrete(3)))},
        "observation_spaces must be a list of spaces, one per seat or one for all, not Discrete(n=3",
    ),
    "foreign-space": (
        {"init": lambda s: Spec(action_spaces=[wrong(object())])},
        " of object; use dovetail.spaces",
    ),
    "step-exits": ({"step": lambda s, a: sys.exit("gone")}, "raised SystemExit in step: gone"),
    "init-exits": ({"init": lambda s: sys.exit("gone")}, "raised SystemExit in init: gone"),
    "object-seen": ({"step": lambda s, a: last(seats=[View(0, object())])}, "cannot travel"),
    "seen-in-itself": ({"step": lambda s, a: last(seats=[View(0, in_itself())])}, "recursion"),
    "over-as-number": (
        {"step": lambda s, a: last(terminated=1)},
        "`terminated` of `turn` must be a boolean, not an integer",
    ),
    "outcome-text": (
        {"step": lambda s, a: last(outcome="won")},
        "`outcome` of `turn` must be an array or nil, not text",
    ),
    "info-object": ({"step": lambda s, a: last(info={"it": {1}, "is": object()})}, "cannot travel"),
}

WRONG_PLAYERS: dict[str, tuple[dict[str, Any], Callable[[Experiment, int], Any], str]] = {
    "saves-nothing": (
        {"save": lambda s: None},
        Experiment.save,
        "`state` of `saved` must be binary, not nil",
    ),
    "saves-text": (
        {"save": lambda s: "all"},
        Experiment.save,
        "`state` of `saved` must be binary, not text",
    ),
    "saves-too-much": (
        {"save": lambda s: bytes(2**24)},
        Experiment.save,
        "bytes in a message; the broker accepts at most 16,777,216",
    ),
    "says-object": ({"message": lambda s, b: object()}, lambda x, a: x.message(a, 1), "travel"),
    "says-itself": (
        {"message": lambda s, b: in_itself()},
        lambda x, a: x.message(a, 1),
        "recursion",
    ),
    "says-half": ({"message": lambda s, b: "\ud800"}, lambda x, a: x.message(a, 1), "surrogates"),
    "step-exits": (
        {"step": lambda s, d: sys.exit("tired")},
        lambda x, a: outcomes(x, "thrice", a),
        "in turn 0 raised SystemExit: tired",
    ),
    "save-exits": (
        {"save": lambda s: sys.exit("tired")},
        Experiment.save,
        "save raised SystemExit: tired",
    ),
    "asks-object": (
        {"step": lambda s, d: (yield Lookahead([[object()]]))},
        lambda x, a: outcomes(x, "thrice", a),
        "cannot travel",
    ),
}

REQUESTS: dict[str, tuple[Callable[[Experiment], Any], str]] = {
    "episodes": (
        lambda x: x.run("thrice", [1], episodes=wrong("many")),
        "run, option 'episodes': it must be an integer, not 'many'",
    ),
    "mode": (
        lambda x: x.run("thrice", [1], mode=wrong("train")),
        "run, option 'mode': it must be one of learn, evaluate, not 'train'",
    ),
    "agents": (lambda x: x.run("thrice", [wrong(1.5)]), "run, option 'agents[0]': it must be"),
    "agent": (lambda x: x.create(wrong(5)), "create, option 'agent': it must be text, not 5"),
    "parameters": (
        lambda x: x.create("first", parameters=wrong(5)),
        "create, option 'parameters': it must be a table, not 5",
    ),
    "state": (lambda x: x.load(1, wrong("text")), "`state` of `load` must be binary"),
}


def outcomes(experiment: Experiment, environment: str, agent: int | str) -> str:
    """Play; return what was said of it."""
    try:
        run = experiment.run(environment, [agent], lookahead=True, retries=0)
        return "; ".join(f"{each.reason}: {each.message}" for each in run)
    except DovetailError as error:
        return str(error)


@pytest.fixture(scope="module", params=["remote", "hosted"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker with environments and agents that connect, or that are in its own process."""
    server = Server("tcp://127.0.0.1:*", Settings(heartbeat=0.2))
    assert server.address is not None
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            server.pump(0.05)
        server.close()

    games: list[Any] = [Thrice, *(game(name, **wrong) for name, (wrong, _) in WRONG_GAMES.items())]
    players: list[Any] = [
        First,
        Ends,
        *(player(name, **wrong) for name, (wrong, _, _) in WRONG_PLAYERS.items()),
    ]
    threads = [threading.Thread(target=work)]
    if request.param == "hosted":
        server.attach(EnvironmentHost(games))
        server.attach(AgentHost(players))
    else:
        threads += [
            threading.Thread(target=serve_environment, args=(games, server.address)),
            threading.Thread(target=serve_agent, args=(players, server.address)),
        ]
    for thread in threads:
        thread.start()
    yield server.address
    over.set()
    for thread in threads:
        thread.join(10)


@pytest.fixture
def experiment(address: str) -> Iterator[Experiment]:
    with Experiment.connect(address) as experiment:
        experiment.expect(["thrice"], ["first"])
        yield experiment
        assert outcomes(experiment, "thrice", experiment.create("first")) == "terminated: "


@pytest.mark.parametrize("name", WRONG_GAMES)
def test_a_wrong_environment_is_told(experiment: Experiment, name: str) -> None:
    said = outcomes(experiment, name, experiment.create("first"))
    assert WRONG_GAMES[name][1] in said
    assert "\n" not in said


@pytest.mark.parametrize("name", WRONG_GAMES)
def test_a_wrong_environment_is_told_in_process(name: str) -> None:
    with InProcess([game(name, **WRONG_GAMES[name][0])], [First]) as experiment:
        assert WRONG_GAMES[name][1] in outcomes(experiment, name, experiment.create("first"))


@pytest.mark.parametrize("name", WRONG_PLAYERS)
def test_a_wrong_agent_is_told(experiment: Experiment, name: str) -> None:
    _, ask, text = WRONG_PLAYERS[name]
    assert text in told(experiment, name, ask)


@pytest.mark.parametrize("name", WRONG_PLAYERS)
def test_a_wrong_agent_is_told_in_process(name: str) -> None:
    wrong, ask, text = WRONG_PLAYERS[name]
    with InProcess([Thrice], [player(name, **wrong)]) as experiment:
        assert text in told(experiment, name, ask)


def told(experiment: Experiment, name: str, ask: Callable[[Experiment, int], Any]) -> str:
    """Return what is said of an agent's mistake."""
    agent = experiment.create(name)
    try:
        return str(ask(experiment, agent))
    except Refused as refused:
        return str(refused)


TOLD = "Ends at the end of an episode raised ValueError: no such key"


@pytest.mark.rule("S6.8")
@pytest.mark.parametrize("stacked", [False, True])
def test_an_end_that_fails_is_told_at_the_next_decision(
    experiment: Experiment, stacked: bool
) -> None:
    options: dict[str, Any] = {"concurrency": 2 if stacked else 1, "stacked": stacked}
    agent = experiment.create("ends")
    assert outcomes(experiment, "thrice", agent) == "terminated: "
    results = experiment.run("thrice", [agent], episodes=2, **options).wait()
    assert {each.reason for each in results if not each.will_retry} == {"terminated"}
    again = [each for each in results if each.will_retry]
    assert again
    assert all(each.reason == "crashed" and TOLD in each.message for each in again)


@pytest.mark.rule("S6.8")
@pytest.mark.parametrize("ask", [Experiment.save, Experiment.load, lambda x, a: x.message(a, 1)])
def test_an_end_that_fails_is_told_at_the_next_request(
    experiment: Experiment, ask: Callable[[Experiment, int], Any]
) -> None:
    agent = experiment.create("ends")
    assert outcomes(experiment, "thrice", agent) == "terminated: "
    with pytest.raises(Refused) as caught:
        ask(experiment, agent)
    assert caught.value.code == "crashed"
    assert TOLD in str(caught.value)
    ask(experiment, agent)


@pytest.mark.rule("S6.8")
def test_an_end_that_fails_is_told_at_the_cleanup(experiment: Experiment) -> None:
    agent = experiment.create("ends")
    assert outcomes(experiment, "thrice", agent) == "terminated: "
    before = Ends.cleaned
    with pytest.raises(Refused, match=re.escape(TOLD)):
        experiment.cleanup(agent)
    assert Ends.cleaned == before + 1


@pytest.mark.parametrize("name", REQUESTS)
def test_a_wrong_request_is_refused(experiment: Experiment, name: str) -> None:
    ask, text = REQUESTS[name]
    with InProcess([Thrice], [First]) as within:
        for each in (experiment, within):
            with pytest.raises(Refused) as refused:
                ask(each)
            assert refused.value.code == "invalid"
            assert text in str(refused.value)


@pytest.mark.parametrize("agents", ["random", 1, None])
def test_agents_are_a_list(experiment: Experiment, agents: Any) -> None:
    with pytest.raises(DovetailError) as caught:
        experiment.run("thrice", agents)
    assert str(caught.value) == f"run: agents must be a list, one for each seat, not {agents!r}"


def test_what_cannot_be_sent_is_not_asked_again(experiment: Experiment) -> None:
    with pytest.raises(DovetailError, match="the broker accepts at most 16,777,216"):
        experiment.load(1, bytes(2**24))
    with pytest.raises(DovetailError, match=r"message, option 'body': .* cannot travel"):
        experiment.message(1, object())
    with pytest.raises(DovetailError, match=r"whole numbers go from -2\^63 to 2\^64 - 1"):
        experiment.create("first", seed=2**64)
    assert not experiment._open


def test_a_hello_that_cannot_be_read_is_told(address: str) -> None:
    with pytest.raises(
        DovetailError, match=r"refuses: `offers\[0\].capacity` of `hello` must be an integer ≥ 0"
    ):
        serve_agent([player("idle", capacity=-1)], address)


def test_in_process_the_limits_of_frames_are_those_of_the_broker() -> None:
    loaded: list[int] = []
    big = player("big", load=lambda self, state: loaded.append(len(state)))
    with InProcess([Thrice], [big]) as experiment:
        agent = experiment.create("big")
        with pytest.raises(DovetailError, match="the broker accepts at most 16,777,216"):
            experiment.load(agent, bytes(2**24 + 1))
    wide = Settings(limits=m.Limits(frame=2**25))
    with InProcess([Thrice], [big], settings=wide) as experiment:
        experiment.load(experiment.create("big"), bytes(2**24 + 1))
    assert loaded == [2**24 + 1]


# -- hosts -----------------------------------------------------------------------------------------


def opened(host: EnvironmentHost) -> None:
    assert isinstance(host.handle([m.Open(1, host.offers()[0].name)])[0], m.Spec)


NEW = m.Welcome("another", "one", heartbeat=1.0, peer_timeout=1.0, limits=m.Limits())


def test_an_environment_answers_a_new_brokers_requests_anew() -> None:
    host = EnvironmentHost([game("echo", message=lambda self, body: body)])
    for body in ("old", "new"):
        opened(host)
        assert host.handle([m.EnvironmentMessage(7, 1, body, seq=2)]) == [m.Reply(7, body)]
        host.handle([NEW])


@pytest.mark.parametrize("who", ["environment", "agent"])
def test_one_that_exits_in_a_group_ends_no_program(who: str) -> None:
    exits = {"step": lambda *asked: sys.exit("gone")}
    games = [game("one", **exits if who == "environment" else {})]
    players = [player("two", **exits if who == "agent" else {})]
    with InProcess(games, players) as experiment:
        options: dict[str, Any] = {"episodes": 2, "concurrency": 2, "stacked": True, "retries": 0}
        run = experiment.run("one", [experiment.create("two")], **options)
        assert ["SystemExit" in each.message for each in run] == [True, True]


@pytest.mark.parametrize("failure", [RuntimeError, SystemExit])
def test_cleanup_that_fails_ends_no_program(failure: type[BaseException]) -> None:
    def fail(self: Any) -> None:
        raise failure("no")

    games = EnvironmentHost([game("untidy", cleanup=fail)])
    opened(games)
    assert games.handle([m.Close(1), m.Ping(1)]) == []
    opened(games)
    assert games.handle([NEW]) == []
    agents = AgentHost([player("untidy", cleanup=fail)])
    assert agents.handle([m.Create(1, 1, "untidy")]) == [m.Reply(1)]
    assert agents.handle([NEW]) == []
    assert isinstance(agents.handle([m.Save(1, 1)])[0], m.Error)


@pytest.mark.parametrize("slots", [0, 3])
@pytest.mark.parametrize("result", [DovetailError("no"), SystemExit("no"), "no Spec"])
def test_one_whose_init_fails_is_cleaned_up(slots: int, result: Any) -> None:
    held: list[Any] = []

    def init(self: Any) -> Any:
        held.append(self)
        if len(held) < slots:  # the last copy of a group
            return Thrice.init(self)
        if isinstance(result, str):
            return result
        raise result

    def tidy(self: Any) -> None:
        held.remove(self)
        raise RuntimeError("no")

    games = EnvironmentHost([game("stillborn", init=init, cleanup=tidy)])
    (answer,) = games.handle([m.Open(1, "stillborn", slots=slots)])
    assert isinstance(answer, m.Error)
    assert held == []
    assert games.handle([m.Close(1), NEW]) == []


def test_a_group_whose_cleanup_fails_is_cleaned_up_whole() -> None:
    tidied: list[Any] = []

    def tidy(self: Any) -> None:
        tidied.append(self)
        raise SystemExit("no")

    games = EnvironmentHost([game("untidy", cleanup=tidy)])
    for over in m.Close(1), NEW:
        assert isinstance(games.handle([m.Open(1, "untidy", slots=3)])[0], m.Spec)
        assert games.handle([over]) == []
        assert len(tidied) == 3
        tidied.clear()


def test_all_is_let_go_when_a_program_leaves(address: str) -> None:
    tidied: list[str] = []

    def tidy(self: Any) -> None:
        tidied.append(type(self).__name__)

    games, players = [game("tidy", cleanup=tidy)], [player("maid", cleanup=tidy)]
    stop = threading.Event()
    threads = [
        threading.Thread(target=serve, args=(what, address), kwargs={"stop": stop})
        for serve, what in (
            (serve_environment, games),
            (serve_agent, players),
            (serve_agent, player("butler", cleanup=tidy)()),
        )
    ]
    for thread in threads:
        thread.start()
    with Experiment.connect(address) as experiment:
        experiment.expect(["tidy"], ["maid", "butler"])
        run = experiment.run("tidy", [experiment.create("maid")], stepwise=True)
        run.start()
        stop.set()
        for thread in threads:
            thread.join(10)
    assert sorted(tidied) == ["butler", "maid", "tidy"]
    with InProcess(games, [*players, player("butler", cleanup=tidy)()]) as experiment:
        tidied.clear()
        run = experiment.run("tidy", [experiment.create("maid")], stepwise=True)
        run.start()
    assert sorted(tidied) == ["butler", "maid", "tidy"]


def looked(body: Any) -> Any:
    """Return what an agent gets that looks ahead along one line: previews, or an error's text."""
    got: list[Any] = []

    def step(self: Any, decision: Any) -> Any:
        try:
            got.append((yield Lookahead([[0]])))
        except DovetailError as error:
            got.append(str(error))
        return 0

    host = AgentHost([player("careful", step=step)])
    spec = Thrice().init()
    host.handle([m.Create(1, 1, "careful"), m.Init(1, 0, 1, spec, lookahead=True)])
    asked = host.handle([m.AgentStart(1, 1, 0, 0, seed=1, observation=0, legal=[0, 1])])[0]
    assert isinstance(asked, m.AgentLookahead)
    assert isinstance(host.handle([m.Reply(asked.id, body)])[0], m.Action)
    return got[0]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "Expected `array`, got `null`"),
        (5, "Expected `array`, got `int`"),
        ([5], "Expected `object`, got `int` - at `$[0]`"),
        ([{"seats": [5]}], "Expected `object`, got `int` - at `$[0].seats[0]`"),
        ([{"seats": [{}]}], "Object missing required field `seat` - at `$[0].seats[0]`"),
        ([{"rewards": ["1"]}], "Expected `float`, got `str` - at `$[0].rewards[0]`"),
        ([{"to_act": 0}], "Expected `array`, got `int` - at `$[0].to_act`"),
        ([], "0 answers to 1 lines"),
        ([{}, {}], "2 answers to 1 lines"),
    ],
)
def test_an_answer_that_is_no_answer_to_a_lookahead_is_an_error_of_it(body: Any, said: str) -> None:
    found = looked(body)
    if "lines" not in said:
        said = f"the environment's answer to a lookahead cannot be read: {said}"
    assert found == said


def test_unknown_fields_of_an_answer_to_a_lookahead_are_ignored() -> None:
    seen = np.arange(3)
    view = {"seat": 0, "observation": seen, "legal": b"\x03", "since": 2}
    (found,) = looked([{"to_act": [0], "seats": [view], "rewards": [1], "later": {}}])
    assert isinstance(found, m.Preview)
    assert (found.to_act, found.rewards, found.outcome) == ([0], [1.0], None)
    assert found.seats[0].observation is seen
    assert (found.seats[0].legal, found.seats[0].scene) == (b"\x03", None)


class Told:
    """A broker that says what it is told to say."""

    departed = False

    def __init__(self) -> None:
        self.heard: list[m.Message] = [NEW]

    def send(self, messages: Any) -> None:
        for each in messages:
            body = {"run": 1} if isinstance(each, m.Run) else None
            self.heard.append(m.Reply(each.id, body))

    def receive(self, timeout: float | None) -> list[m.Message]:
        heard, self.heard = self.heard, []
        return heard

    def join(self, hello: m.Hello) -> Told:
        raise NotImplementedError

    def close(self) -> None:
        pass


def test_results_of_a_new_broker_are_not_repeats() -> None:
    broker = Told()
    experiment = Experiment(broker)

    def result(episode: int) -> m.Episode:
        return m.Episode(1, episode, episode, 0, "terminated", [], seq=episode)

    run = experiment.run("thrice", [1], episodes=100)
    broker.heard = [result(1), result(2), result(2), result(1)]
    assert [each.episode for each in run.poll() or []] == [1, 2]
    broker.heard = [NEW]
    assert not experiment.forgotten
    with pytest.raises(RunFailed, match="the broker restarted") as raised:
        run.wait()
    assert (raised.value.code, experiment.forgotten) == ("unavailable", True)
    again = experiment.run("thrice", [1])
    broker.heard = [result(2), m.Done(1, 1, seq=3)]
    assert [each.episode for each in again] == [2]


class Sized(Thrice):
    """A game with an option that may make no game."""

    class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        size: int = 3

    def init(self) -> Any:
        if self.configuration.size > 9:
            raise DovetailError("option 'size' makes no game")
        return super().init()


def test_what_makes_no_game_and_no_agent_is_told() -> None:
    with InProcess([Sized], [First]) as experiment:
        first = experiment.create("first")
        for configuration, text in (
            ({"size": 10}, "option 'size' makes no game"),
            ({"size": "ten"}, "option 'size'"),
            ({"depth": 3}, "no option 'depth'"),
        ):
            with pytest.raises(DovetailError, match=text):
                experiment.run("sized", [first], configuration=configuration).wait()
        with pytest.raises(DovetailError, match="1 seat as configured, and the run names 2 agents"):
            experiment.run("sized", [first, first]).wait()
        with pytest.raises(DovetailError, match="no environment 'chess' is offered"):
            experiment.run("chess", [first])
        with pytest.raises(DovetailError, match="no agent type 'kasparov' is offered"):
            experiment.create("kasparov")
        for name, line in (
            ("size", "no environment 'size' is offered; did you mean 'sized'?"),
            ("connect4", "no environment 'connect4' is offered; did you mean 'connect_four'?"),
            ("chess", "no environment 'chess' is offered; start one with `dovetail env chess`"),
        ):
            with pytest.raises(DovetailError, match=f"^{re.escape(line)}$"):
                experiment.run(name, [first])
        with pytest.raises(
            DovetailError, match="no agent type 'tdd' is offered; did you mean 'td'"
        ):
            experiment.create("tdd")
        with pytest.raises(DovetailError) as caught:
            experiment.expect(["sized", "sizes", "chess"], ["first", "my-first"], timeout=0)
        assert str(caught.value) == (
            "timed out after 0 s: "
            "no connected program offers environment 'sizes' (did you mean 'sized'?), 'chess'; "
            "environments on offer: 'sized'; "
            "no connected program offers agent 'my-first' (did you mean 'first'?); "
            "agents on offer: 'first'"
        )
        for options, line in (
            (
                {"mode": "train"},
                "run, option 'mode': it must be one of learn, evaluate, not 'train'",
            ),
            ({"episodes": "2"}, "run, option 'episodes': it must be an integer, not '2'"),
            (
                {"modes": ["learn", "x"]},
                "run, option 'modes[1]': it must be one of learn, evaluate",
            ),
        ):
            with pytest.raises(DovetailError, match=f"^{re.escape(line)}"):
                experiment.run("sized", [first], **options)
        with pytest.raises(
            DovetailError, match="must be bytes, as `save` returns them, not 'out/x:y'"
        ):
            experiment.create("first", state="out/x:y")  # type: ignore[arg-type]
        with pytest.raises(DovetailError, match=r"^create, option 'seed': it must be an integer"):
            experiment.create("first", seed="x")  # type: ignore[arg-type]
        with pytest.raises(DovetailError, match="no option 'depth'"):
            experiment.create("first", parameters={"depth": 3})
        assert outcomes(experiment, "sized", first) == "terminated: "


def test_an_address_in_place_of_a_connection_is_one_line() -> None:
    with pytest.raises(DovetailError, match=r"use Experiment\.connect\('tcp://127\.0\.0\.1:1'\)"):
        Experiment("tcp://127.0.0.1:1")  # type: ignore[arg-type]
