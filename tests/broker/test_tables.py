"""Every message, and every event of the broker's own, in every state: the broker does what the
tables say.

A cell is a state and something that happens there.  What happens is a chain of the table's events.
If the table does not name the first one in that state, nothing at all may change; if it does, the
machine must be where the whole chain leads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.states import MATCH, RUN, SEAT, SESSION, Machine

Table = Mapping[Any, Mapping[str, Any]]
TIMEOUT = 5.0


class World(Conversation):
    """A stepwise run of a game in which both seats act at once: nothing moves by itself."""

    def __init__(self, *steps: Callable[[World], None], **run: Any) -> None:
        opens = run.pop("opens", True)
        super().__init__(**{"stepwise": True, "episodes": 3, "answer_timeout": TIMEOUT, **run})
        if opens:
            self.opens()
        self.request = 1
        [self.running] = self.core.runs
        [self.match] = self.running.matches.values()
        self.peer = self.core.broker.connections[self.agents[0].address]
        for step in steps:
            step(self)

    def asks(self, kind: Any, *fields: Any, **named: Any) -> None:
        """Have the experiment ask for something about its run."""
        self.request += 1
        self.experiment.says(kind(self.request, self.run, *fields, **named))

    def seen(self) -> tuple[str, ...]:
        """Return the states of all machines."""
        machines: list[Machine[Any]] = [self.running.machine, self.match.machine]
        machines += [seat.machine for seat in self.match.seats]
        machines += [peer.machine for peer in self.core.broker.sessions.values()]
        return tuple(machine.state for machine in machines)


# -- how to come into a state ----------------------------------------------------------------------


def begin(world: World) -> None:
    world.asks(m.ExperimentStart)
    world.environment.hears(m.EnvironmentStart)
    for agent in world.agents:
        agent.hears(m.Init)


def turn(world: World) -> None:
    world.environment.turns(0, 1)


def ask(world: World) -> None:
    world.asks(m.ExperimentStep)
    for agent in world.agents:
        agent.hears(m.AgentStart)


def act(world: World) -> None:
    world.agents[0].acts(0)


def pause(world: World) -> None:
    world.asks(m.Pause)


def drain(world: World) -> None:
    world.asks(m.Drain)


def cancel(world: World) -> None:
    world.asks(m.Cancel)


def lose(world: World) -> None:
    world.core.lost(world.agents[0].address, world.now)


def leave(world: World) -> None:
    world.agents[0].says(m.Bye())


SITUATIONS: dict[str, dict[str, Callable[[], World]]] = {
    "match": {
        "opening": lambda: World(opens=False),
        "idle": World,
        "transition": lambda: World(begin),
        "decision": lambda: World(begin, turn, ask),
        "closed": lambda: World(cancel),
    },
    "seat": {
        "free": World,
        "seated": lambda: World(begin),
        "deciding": lambda: World(begin, turn, ask),
        "waiting": lambda: World(begin, turn, ask, act),
    },
    "run": {
        "running": lambda: World(begin, episodes=1),
        "paused": lambda: World(begin, pause, episodes=1),
        "draining": lambda: World(begin, drain, episodes=1),
        "over": lambda: World(cancel, episodes=1),
    },
    "session": {
        "ready": World,
        "away": lambda: World(lose),
        "gone": lambda: World(leave),
    },
}
TABLES: dict[str, tuple[Table, Callable[[World], str]]] = {
    "match": (MATCH, lambda world: world.match.machine.state),
    "seat": (
        SEAT,
        lambda world: world.match.seats[0].machine.state if world.match.seats else "free",
    ),
    "run": (RUN, lambda world: world.running.machine.state),
    "session": (SESSION, lambda world: world.peer.machine.state),
}

# -- what may happen -------------------------------------------------------------------------------


def episode(world: World) -> int:
    plays = list(world.running.playing.values())
    return plays[0].episode.number if plays else 99


def number(world: World) -> int:
    plays = list(world.running.playing.values())
    return plays[0].episode.turn if plays else -1


def env_turn(world: World, step: int = 1, *to_act: int, **fields: Any) -> None:
    views = [m.View(0, 0, [0, 1]), m.View(1, 0, [0, 1])]
    said = m.Turn(episode(world), number(world) + step, list(to_act), views, **fields)
    world.environment.says(said)


def env_error(world: World, code: str = "crashed", **fields: Any) -> None:
    plays = list(world.running.playing.values())
    asked = plays[0].asked if plays else world.match.asked
    world.environment.says(m.Error(code, "no", **{"answers": asked, **fields}))


def unreadable(voice: Voice, kind: str, **about: int) -> None:
    error = ProtocolError("invalid", "no", kind, about)
    voice.table.core.refuse(voice.address, error, voice.table.now)
    voice.table.carry()


def agent_error(world: World, what: str) -> None:
    seats = world.match.seats
    answers = {"init": 1, "decision": seats[0].asked if seats else 0, "nothing": 77}[what]
    world.agents[0].says(m.Error("crashed", "no", answers=answers))


def action(world: World, by: int = 0, step: int = 0, value: int = 0) -> None:
    world.agents[by].says(m.Action(episode(world), max(0, number(world)) + step, 0, value))


def both_act(world: World) -> None:
    for seat, agent in enumerate(world.agents):
        agent.says(m.Action(episode(world), number(world), seat, 0))


def first_decision(world: World) -> None:
    env_turn(world, 1, 0, 1)
    world.asks(m.ExperimentStep)


def next_decision(world: World) -> None:
    both_act(world)
    env_turn(world, 1, 0, 1)
    world.asks(m.ExperimentStep)


def last_turn(world: World) -> None:
    both_act(world)
    env_turn(world, terminated=True)


def overdue(world: World) -> None:
    world.at(world.now + TIMEOUT + 0.1)


def grace_over(world: World) -> None:
    world.at(world.now + 11.0)


def newcomer(world: World) -> None:
    hello = m.Hello(m.VERSION, "agent", "p0")
    world.core.receive("elsewhere", hello, world.now)


def hello(world: World, **fields: Any) -> None:
    world.agents[0].says(m.Hello(m.VERSION, "agent", "other", **fields))


def silence(world: World) -> None:
    world.core.tick(world.now + 31.0)


OVER = {
    "opening": "close",
    "idle": "close",
    "transition": "give up,close",
    "decision": "give up,close",
}
LEFT = {"seated": "end,leave", "deciding": "end,leave", "waiting": "end,leave"}
NOTHING = ""

HAPPENINGS: dict[str, dict[str, tuple[Callable[[World], object], str | dict[str, str]]]] = {
    "match": {
        "spec": (lambda w: w.environment.says(w.spec), "spec"),
        "spec of another game": (
            lambda w: w.environment.says(m.Spec(match=w.match.number, seats=3)),
            "spec,close",
        ),
        "spec of no match": (lambda w: w.environment.says(m.Spec(match=99)), NOTHING),
        "unreadable spec": (
            lambda w: unreadable(w.environment, "spec", match=w.match.number),
            {"opening": "error"},
        ),
        "turn": (lambda w: env_turn(w, 1, 0, 1), "turn"),
        "last turn": (lambda w: env_turn(w, terminated=True), "last turn"),
        "turn said before": (lambda w: env_turn(w, 0, 0, 1), NOTHING),
        "turn to come": (lambda w: env_turn(w, 2, 0, 1), NOTHING),
        "turn of no episode": (lambda w: w.environment.says(m.Turn(98, 0)), NOTHING),
        "turn that contradicts itself": (lambda w: env_turn(w, 1), {"transition": "give up"}),
        "unreadable turn": (
            lambda w: unreadable(w.environment, "turn", episode=episode(w), turn=number(w) + 1),
            {"transition": "error"},
        ),
        "unreadable turn said before": (
            lambda w: unreadable(w.environment, "turn", episode=episode(w), turn=number(w)),
            NOTHING,
        ),
        "error": (env_error, "error"),
        "error, illegal": (lambda w: env_error(w, "illegal", seat=0), "error"),
        "error that answers nothing": (lambda w: env_error(w, answers=77), NOTHING),
        "error without a reference": (lambda w: env_error(w, answers=None), NOTHING),
        "error about no request": (lambda w: env_error(w, id=77), NOTHING),
        "reply to nothing": (lambda w: w.environment.says(m.Reply(77)), NOTHING),
        "ping": (lambda w: w.environment.says(m.Ping(1)), NOTHING),
        "pong": (lambda w: w.environment.says(m.Pong(1, 99)), NOTHING),
        "start": (lambda w: w.asks(m.ExperimentStart), "start"),
        "the seats act": (both_act, "step"),
        "overdue": (
            overdue,
            {"opening": "close", "transition": "give up,close", "decision": "give up"},
        ),
        "abandoned": (
            lambda w: w.asks(m.ExperimentStart, abandon=True),
            {"idle": "start", "transition": "give up,start", "decision": "give up,start"},
        ),
        "the run is cancelled": (cancel, OVER),
        "bye": (lambda w: w.environment.says(m.Bye()), OVER),
        "lost": (lambda w: w.core.lost(w.environment.address, w.now), NOTHING),
    },
    "seat": {
        "init": (lambda w: w.asks(m.ExperimentStart), {"free": "init"}),
        "first decision": (
            first_decision,
            {"seated": "start"},
        ),
        "next decision": (
            next_decision,
            {"seated": "start", "deciding": "action,step", "waiting": "step"},
        ),
        "action": (action, "action"),
        "illegal action": (lambda w: action(w, value=9), "action,end"),
        "action of another turn": (lambda w: action(w, step=1), NOTHING),
        "action of another agent": (lambda w: action(w, by=1), NOTHING),
        "action of no episode": (lambda w: w.agents[0].says(m.Action(98, 0, 0, 0)), NOTHING),
        "unreadable action": (
            lambda w: unreadable(w.agents[0], "action", episode=episode(w), turn=0, seat=0),
            "error,end",
        ),
        "unreadable action of another agent": (
            lambda w: unreadable(w.agents[1], "action", episode=episode(w), turn=0, seat=0),
            NOTHING,
        ),
        "unreadable action of another turn": (
            lambda w: unreadable(w.agents[0], "action", episode=episode(w), turn=5, seat=0),
            NOTHING,
        ),
        "error": (lambda w: agent_error(w, "decision"), "error,end"),
        "error that answers init": (
            lambda w: agent_error(w, "init"),
            {"seated": "end,leave", "deciding": "end,leave"},
        ),
        "error that answers nothing": (lambda w: agent_error(w, "nothing"), NOTHING),
        "reply to nothing": (lambda w: w.agents[0].says(m.Reply(77)), NOTHING),
        "saved for nothing": (lambda w: w.agents[0].says(m.Saved(77, b"")), NOTHING),
        "lookahead": (
            lambda w: w.agents[0].says(m.AgentLookahead(1, episode(w), 0, 0, [])),
            NOTHING,
        ),
        "ping": (lambda w: w.agents[0].says(m.Ping(1)), NOTHING),
        "pong": (lambda w: w.agents[0].says(m.Pong(1)), NOTHING),
        "overdue": (
            overdue,
            {"seated": "end,leave", "deciding": "overdue,end", "waiting": "end"},
        ),
        "the last turn": (
            last_turn,
            {"seated": "end", "deciding": "action,end", "waiting": "end"},
        ),
        "the run is cancelled": (cancel, LEFT),
        "bye": (leave, LEFT),
        "lost": (lose, NOTHING),
    },
    "run": {
        "pause": (pause, "pause"),
        "unpause": (lambda w: w.asks(m.Pause, paused=False), "unpause"),
        "drain": (drain, "drain"),
        "cancel": (cancel, "cancel"),
        "cancel of no request": (
            lambda w: w.experiment.says(m.Cancel(50, request=49)),
            NOTHING,
        ),
        "cancel of nothing": (lambda w: w.experiment.says(m.Cancel(51)), NOTHING),
        "start in an episode": (lambda w: w.asks(m.ExperimentStart), NOTHING),
        "step before the turn": (lambda w: w.asks(m.ExperimentStep), NOTHING),
        "create": (lambda w: w.experiment.says(m.ExperimentCreate(52, "none")), NOTHING),
        "save": (lambda w: w.experiment.says(m.Save(53, 77)), NOTHING),
        "load": (lambda w: w.experiment.says(m.Load(54, 77)), NOTHING),
        "cleanup": (lambda w: w.experiment.says(m.Cleanup(55, 77)), NOTHING),
        "message": (lambda w: w.experiment.says(m.ExperimentMessage(56)), NOTHING),
        "catalogue": (lambda w: w.experiment.says(m.Catalogue(57)), NOTHING),
        "watch": (lambda w: w.experiment.says(m.Watch(58)), NOTHING),
        "error": (lambda w: w.experiment.says(m.Error("crashed", "no")), NOTHING),
        "unreadable request": (lambda w: unreadable(w.experiment, "pause", id=59), NOTHING),
        "the last turn": (last_turn, "finished"),
        "the agent refuses its seat": (lambda w: agent_error(w, "init"), "failed"),
        "an agent leaves": (leave, "failed"),
        "the environment leaves": (lambda w: w.environment.says(m.Bye()), "failed"),
        "the experiment leaves": (lambda w: w.experiment.says(m.Bye()), "cancel"),
        "the broker leaves": (lambda w: w.core.close(w.now), "cancel"),
        "the broker stops": (lambda w: w.core.stop(w.now), "drain"),
    },
    "session": {
        "hello to resume": (lambda w: w.agents[0].returns(), "hello"),
        "another hello": (hello, NOTHING),
        "ping": (lambda w: w.agents[0].says(m.Ping(1)), NOTHING),
        "pong": (lambda w: w.agents[0].says(m.Pong(1)), NOTHING),
        "error": (lambda w: w.agents[0].says(m.Error("crashed", "no")), NOTHING),
        "action": (lambda w: w.agents[0].says(m.Action(98, 0, 0, 0)), NOTHING),
        "bye": (leave, "bye"),
        "lost": (lose, "lost"),
        "silence": (silence, {"ready": "lost", "away": "grace over"}),
        "grace over": (grace_over, "grace over"),
        "a newcomer of its name": (newcomer, "replaced"),
        "the broker leaves": (lambda w: w.core.close(w.now), "bye"),
    },
}
CELLS = [
    pytest.param(machine, state, what, id=f"{machine}, {state}: {what}")
    for machine, happenings in HAPPENINGS.items()
    for state in SITUATIONS[machine]
    for what in happenings
]
OTHERS = {"hello to resume", "another hello", "a newcomer of its name"}
"""Messages that begin another session, in a state in which they are not about this one."""


def chain(machine: str, state: str, what: str) -> list[str]:
    """Return the events of a cell."""
    _, events = HAPPENINGS[machine][what]
    text = events if isinstance(events, str) else events.get(state, "")
    return text.split(",") if text else []


@pytest.mark.rule("S10.1")
@pytest.mark.parametrize(("machine", "state", "what"), CELLS)
def test_the_broker_does_what_the_table_says(machine: str, state: str, what: str) -> None:
    table, of = TABLES[machine]
    assert of(SITUATIONS[machine][state]()) == state
    world = SITUATIONS[machine][state]()
    events, before = chain(machine, state, what), world.seen()
    HAPPENINGS[machine][what][0](world)
    if not events or events[0] not in table[state]:
        assert of(world) == state
        quiet = HAPPENINGS[machine][what][1] == NOTHING
        if quiet and what not in ("lost", *OTHERS):
            assert world.seen() == before
        return
    for event in events:
        state = table[state][event]
    assert of(world) == state


def test_a_seat_may_change_hands() -> None:
    world = World(begin, turn, ask, episodes=2, rotate=True)
    last_turn(world)
    first = world.match.seats[0]
    assert first.machine.state == "seated"
    holder = first.instance
    world.asks(m.ExperimentStart)
    assert (first.machine.state, first.instance is holder) == ("seated", False)


@pytest.mark.rule("S10.1")
@pytest.mark.parametrize(
    ("steps", "before", "after"),
    [
        ((begin,), "seated", "seated"),
        ((begin, turn, ask), "deciding", "deciding"),
        ((begin, turn, ask, act), "waiting", "seated"),
    ],
)
def test_a_seat_may_change_hands_in_an_episode(
    steps: tuple[Callable[[World], None], ...], before: str, after: str
) -> None:
    world = World(*steps, on_agent_lost="substitute", substitutes=["spare"])
    first = world.match.seats[0]
    assert first.machine.state == before
    leave(world)
    assert (first.machine.state, first.instance.agent) == (after, "spare")
    state = before
    for event in ("leave", "init", *(["start"] if before == "deciding" else [])):
        state = SEAT[state][event]
    assert state == after


@pytest.mark.parametrize(
    "message",
    [
        *(m.Ping(), m.Pong(), m.Bye(), m.Error("crashed", "no"), m.Catalogue(1), m.Reply(1)),
        *(m.Action(1, 0, 0), m.Turn(1), m.Spec(1), m.Run(1, "game", ["p0"]), m.Saved(1, b"")),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_new_connection_may_only_say_hello(message: m.Message) -> None:
    world = World()
    before = world.seen()
    world.core.receive("new", message, 0.0)
    _, [(address, answer)] = world.core.take()
    assert (address, answer.code) == ("new", "hello-first")  # type: ignore[attr-defined]
    assert world.seen() == before
    world.core.receive("new", m.Hello(m.VERSION, "observer"), 0.0)
    assert world.core.broker.connections["new"].machine.state == SESSION["new"]["hello"]


@pytest.mark.rule("S10.1")
def test_every_row_of_every_table_is_tried() -> None:
    tried = {("seat", "seated", "init")}  # by changing hands, and so are the next two
    tried |= {("seat", state, "leave") for state in ("deciding", "waiting")}
    tried.add(("session", "new", "hello"))  # by every peer
    for machine, happenings in HAPPENINGS.items():
        table = TABLES[machine][0]
        for now in SITUATIONS[machine]:
            for what in happenings:
                state = now
                for event in chain(machine, state, what):
                    if event not in table[state]:
                        break
                    tried.add((machine, state, event))
                    state = table[state][event]
    for machine, (table, _) in TABLES.items():
        for state, row in table.items():
            assert {(machine, state, event) for event in row} <= tried
