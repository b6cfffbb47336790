"""Any messages in any order: no exception leaves the core, and every start has one end."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
from hypothesis import event, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dovetail.broker.core import Core, Settings
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Discrete, Space

CONNECTIONS = 6
small = st.integers(-1, 14)
seat = st.integers(-1, 3)
text = st.sampled_from(["", "a", "game", "player"])
number = st.one_of(st.floats(), st.floats(-2, 2))
legal = st.one_of(st.none(), st.lists(st.integers(-1, 3), max_size=3), st.binary(max_size=1))
views = st.lists(
    st.builds(m.View, seat=st.integers(0, 3), observation=small, legal=legal, reward=number),
    max_size=3,
)
offers = st.lists(
    st.builds(
        m.Offer,
        name=text,
        capacity=st.integers(0, 2),
        instance=st.booleans(),
        wants=st.lists(st.sampled_from(["afterstates", "text"]), max_size=2),
    ),
    max_size=2,
)
scores = st.none() | st.lists(number, max_size=3)
messages = st.one_of(
    st.builds(m.Ping, small.filter(lambda n: n >= 0)),
    st.builds(m.Pong, small.filter(lambda n: n >= 0), small.filter(lambda n: n >= 0)),
    st.builds(m.Bye),
    st.builds(
        m.Error,
        text,
        text,
        st.none() | small,
        st.none() | small,
        st.none() | seat,
    ),
    st.builds(
        m.Spec,
        small,
        text,
        st.integers(1, 3),
        st.lists(st.just(Discrete(3)), max_size=2),
        st.lists(st.just(Discrete(3)), max_size=2),
        forfeit=st.none() | st.just((-1.0, 1.0)),
    ),
    st.builds(
        m.Turn,
        small,
        st.integers(0, 3),
        st.lists(seat, max_size=3),
        views,
        st.booleans(),
        st.booleans(),
        scores,
    ),
    st.builds(m.Reply, small),
    st.builds(m.Action, small, seat, seat, small),
    st.builds(m.Saved, small, st.binary(max_size=2)),
    st.builds(
        m.Run,
        small,
        text,
        st.lists(small | text, max_size=2),
        episodes=st.integers(1, 3),
        concurrency=st.integers(1, 3),
        rotate=st.booleans(),
        seeds=st.none() | st.lists(small, max_size=2),
        clock=st.builds(m.ClockRule, st.none() | st.just(1.0), st.none() | st.just(2.0)),
        answer_timeout=st.none() | st.just(3.0),
        max_turns=st.none() | st.just(2),
        on_timeout=st.sampled_from(["forfeit", "random", "truncate"]),
        on_illegal=st.sampled_from(["forfeit", "random", "truncate"]),
        check=st.booleans(),
        stepwise=st.booleans(),
    ),
    st.builds(m.Pause, small, small, st.booleans()),
    st.builds(m.Drain, small, small),
    st.builds(m.Cancel, small, st.none() | small, st.none() | small),
    st.builds(m.ExperimentStart, small, small, st.booleans()),
    st.builds(m.ExperimentStep, small, small),
    st.builds(m.Catalogue, small),
    st.builds(m.Watch, small, st.none() | small, st.booleans()),
    st.builds(m.ExperimentCreate, small, text, state_name=st.none() | text),
    st.builds(m.Save, small, small, st.none() | text),
    st.builds(m.Load, small, small, state_name=st.none() | text),
    st.builds(m.Cleanup, small, small),
    st.builds(m.ExperimentMessage, small, st.none() | small, st.none() | small),
)


class Anarchy(RuleBasedStateMachine):
    """Six connections on which anything is said, and now and then what would be right."""

    def __init__(self) -> None:
        super().__init__()
        self.core = Core(Settings(grace=2.0, peer_timeout=4.0), b"")
        self.now = 0.0
        self.requests = 100
        self.waiting: dict[int, list[m.Message]] = {c: [] for c in range(CONNECTIONS)}
        self.sessions: dict[int, str] = {}
        self.resumed: set[str] = set()
        self.started: Counter[tuple[str, int, int]] = Counter()
        self.ended: Counter[tuple[str, int, int]] = Counter()

    def take(self) -> None:
        _, out = self.core.take()
        for connection, message in out:
            frame = codec.encode(message)
            assert isinstance(connection, int)
            self.waiting[connection].append(message)
            if isinstance(message, m.Welcome):
                self.sessions[connection] = message.session
                if message.resumed:
                    self.resumed.add(message.session)
            session = self.sessions.get(connection, "")
            if isinstance(message, m.AgentStart):
                self.started[session, message.episode, message.seat] += 1
            elif isinstance(message, m.End):
                self.ended[session, message.episode, message.seat] += 1
            assert frame

    def say(self, connection: int, message: m.Message) -> None:
        self.core.receive(connection, message, self.now)
        self.take()

    @rule(connection=st.integers(0, CONNECTIONS - 1), message=messages)
    def say_anything(self, connection: int, message: m.Message) -> None:
        self.say(connection, message)

    @rule(
        connection=st.integers(0, CONNECTIONS - 1),
        role=st.sampled_from(["environment", "agent", "experiment", "observer"]),
        name=text,
        offers=offers,
    )
    def hello(self, connection: int, role: m.Role, name: str, offers: list[m.Offer]) -> None:
        self.say(connection, m.Hello(m.VERSION, role, name, offers))

    @rule()
    def set_up(self) -> None:
        """Greet as everybody should, so that runs do begin."""
        peers: list[tuple[m.Role, list[m.Offer]]] = [
            ("environment", [m.Offer("game")]),
            ("agent", [m.Offer("player", capacity=0)]),
            ("experiment", []),
        ]
        for connection, (role, offers) in enumerate(peers):
            self.say(connection, m.Hello(m.VERSION, role, offers=offers))
        self.say(2, m.ExperimentCreate(self.request(), "player"))
        self.sensible()
        made: list[int | str] = [i.number for i in self.core.instances if i.ready]
        if made:
            self.say(2, m.Run(self.request(), "game", made[:1] * 2, episodes=5, concurrency=2))

    def request(self) -> int:
        self.requests += 1
        return self.requests

    @rule()
    def sensible(self) -> None:
        """Answer what was asked, as a well-behaved peer would."""
        for connection, waiting in self.waiting.items():
            messages, waiting[:] = list(waiting), []
            for message in messages:
                match message:
                    case m.Open():
                        spaces: list[Space] = [Discrete(3)]
                        self.say(connection, m.Spec(message.match, "game", 2, spaces, spaces))
                    case m.EnvironmentStart() | m.EnvironmentStep():
                        step = message.turn + 1 if isinstance(message, m.EnvironmentStep) else 0
                        turn = m.Turn(message.episode, step)
                        if step == 3:
                            turn.terminated = True
                        else:
                            turn.to_act = [step % 2]
                            turn.seats = [m.View(step % 2, 1, [0, 1])]
                        self.say(connection, turn)
                    case m.AgentStart() | m.AgentStep():
                        self.say(
                            connection, m.Action(message.episode, message.turn, message.seat, 1)
                        )
                    case m.Create() | m.Load() | m.Cleanup() | m.AgentMessage():
                        self.say(connection, m.Reply(message.id))
                    case m.Save():
                        self.say(connection, m.Saved(message.id, b"x"))
                    case m.Ping():
                        self.say(connection, m.Pong(message.number))

    @rule(connection=st.integers(0, CONNECTIONS - 1))
    def lose(self, connection: int) -> None:
        self.core.lost(connection, self.now)
        self.take()

    @rule(connection=st.integers(0, CONNECTIONS - 1), rubbish=st.binary(max_size=20))
    def rubbish(self, connection: int, rubbish: bytes) -> None:
        role = self.core.role(connection)
        decoder: codec.Decoder[m.Message] = codec.Decoder(
            m.Hello if role is None else codec.AT_BROKER[role]
        )
        try:
            message = decoder.decode(rubbish)
        except ProtocolError as error:
            self.core.refuse(connection, error, self.now)
            self.take()
        else:
            self.say(connection, message)

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.core.tick(self.now)
        self.take()

    @rule()
    def resume(self) -> None:
        for connection, session in list(self.sessions.items()):
            if self.core.role(connection) is None and session in self.core.tables.sessions:
                role = self.core.tables.sessions[session].role
                self.say(connection, m.Hello(m.VERSION, role, resume=session))

    @invariant()
    def books_balance(self) -> None:
        for instance in self.core.instances:
            playing = {
                play.episode.number
                for run in self.core.runs
                for play in run.playing.values()
                for sitter in play.match.sitters
                if sitter.instance is instance
            }
            assert instance.busy == len(playing)
        for run in self.core.runs:
            for match in run.matches.values():
                busy = match.machine.state in ("transition", "decision")
                assert busy == (match in run.playing)
                assert (match.machine.state == "idle") == (match in run.idle)

    def teardown(self) -> None:
        present = {self.sessions[c] for c in self.sessions if self.core.role(c) is not None}
        self.core.close(self.now)
        self.take()
        assert self.core.idle
        for key in self.started:
            if key[0] in present:
                assert self.ended[key] >= 1, f"{key} never heard its end"
        for key, count in self.ended.items():
            if key[0] not in self.resumed:  # a resumption sends again what may have been lost
                assert count == 1, f"{key} heard {count} ends"
        event(f"episodes: {min(self.core.tables.counters['episodes'], 5)}")


TestAnarchy = Anarchy.TestCase
TestAnarchy.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
