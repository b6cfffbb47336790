"""Clients with one mistake each: the conformer on a library that was broken on purpose.

python wrong_client.py MISTAKE ROLE
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import zmq

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.conform import conformer

from dovetail import transport
from dovetail.client.client import Experiment
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.inbox import Inbox
from dovetail.peer.link import Link
from dovetail.peer.session import Session
from dovetail.protocol import codec, tensors
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, ProtocolError

MISTAKES: dict[str, tuple[str, str, Callable[[], None]]] = {}
"""By name: the role, the case that must catch it, and what breaks the library."""


def mistake(role: str, case: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(breaks: Callable[[], None]) -> Callable[[], None]:
        MISTAKES[breaks.__name__.replace("_", "-")] = (role, case, breaks)
        return breaks

    return add


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace a method by a function of the method and its arguments."""
    method = getattr(owner, name)

    def replaced(*args: Any, **more: Any) -> Any:
        try:
            return around(method, *args, **more)
        except (TypeError, AttributeError):  # wrong in another way than it is meant to be
            traceback.print_exc()
            raise

    setattr(owner, name, replaced)


def answers(host: Any, change: Callable[[m.Message], m.Message | None]) -> None:
    """Change each answer of a host, or drop it."""

    def around(method: Any, self: Any, incoming: Any, *_: Any) -> list[m.Message]:
        return [new for each in method(self, incoming) if (new := change(each)) is not None]

    wrap(host, "handle", around)


def ignoring(host: Any, *kinds: type) -> None:
    """Have a host not hear some messages."""
    wrap(
        host,
        "handle",
        lambda method, self, incoming, *more: method(
            self, [each for each in incoming if not isinstance(each, kinds)], *more
        ),
    )


def changed(message: Any, kind: type, **fields: Any) -> Any:
    if isinstance(message, kind):
        for name, value in fields.items():
            setattr(message, name, value(getattr(message, name)) if callable(value) else value)
    return message


def says(change: Callable[[Any], Any]) -> None:
    """Change each answer that a session itself gives."""

    def around(method: Any, self: Any, frames: Any, now: float) -> Any:
        messages, out = method(self, frames, now)
        reader: codec.Decoder[m.Message] = codec.Decoder(codec.AT_BROKER[self.hello.role])
        return messages, [codec.encode(change(reader.decode(each))) for each in out]

    wrap(Session, "receive", around)


def takes_everything_for_new() -> None:
    """Have nothing known that came before."""

    def around(method: Any, self: Any, seq: int, out: Any) -> bool:
        self.seen = max(self.seen, seq)
        return True

    wrap(Inbox, "take", around)


# -- sessions --------------------------------------------------------------------------------------


@mistake("agent", "hello")
def forgets_the_access_token() -> None:
    def around(method: Any, self: Any, hello: m.Hello) -> None:
        hello.token = None
        method(self, hello)

    wrap(Session, "__init__", around)


@mistake("agent", "hello-first-asks-for-the-session-again")
def forgets_the_session_token() -> None:
    def around(method: Any, self: Any, now: float) -> bytes:
        self.welcome = None
        return bytes(method(self, now))

    wrap(Session, "greet", around)


@mistake("environment", "silence-makes-a-new-connection")
def waits_for_ever_in_silence() -> None:
    Session.silent = lambda self, now: False  # type: ignore[method-assign]


@mistake("agent", "a-session-that-is-heard-stays")
def reconnects_all_the_time() -> None:
    Session.silent = lambda self, now: True  # type: ignore[method-assign]
    wrap(Link, "receive", lambda method, self, timeout: method(self, 0.05))


@mistake("agent", "no-fixed-routing-identity")
def sets_a_routing_identity() -> None:
    class Fixed(zmq.Context):  # type: ignore[type-arg]
        def socket(self, *args: Any, **more: Any) -> Any:
            made = super().socket(*args, **more)
            made.setsockopt(zmq.IDENTITY, b"me")
            return made

    os.environ[transport.VARIABLE] = "libzmq"  # our own sockets cannot have one
    zmq.Context = Fixed  # type: ignore[misc]


@mistake("agent", "pings-are-answered")
def answers_pings_with_zero() -> None:
    says(lambda each: changed(each, m.Pong, number=0))


@mistake("environment", "pongs-say-what-has-arrived")
def never_says_what_has_arrived() -> None:
    says(lambda each: changed(each, m.Pong, seen=0))


@mistake("experiment", "pongs-say-what-has-arrived")
def says_that_more_has_arrived_than_has() -> None:
    says(lambda each: changed(each, m.Pong, seen=lambda seen: seen + 1))


@mistake("agent", "hello-first-asks-for-the-session-again")
def does_not_say_what_it_has_seen() -> None:
    def around(method: Any, self: Any, now: float) -> bytes:
        seen, self.seen = self.seen, 0
        frame = bytes(method(self, now))
        self.seen = seen
        return frame

    wrap(Session, "greet", around)


@mistake("experiment", "hello-first-asks-for-the-session-again")
def takes_the_name_that_it_was_given() -> None:
    def around(method: Any, self: Any, now: float) -> bytes:
        if self.welcome is not None:
            self.hello.name = self.welcome.name
        return bytes(method(self, now))

    wrap(Session, "greet", around)


@mistake("agent", "hello-first-while-a-hello-is-under-way")
def says_hello_as_often_as_it_is_asked() -> None:
    def around(method: Any, self: Any, frames: Any, now: float) -> Any:
        self._unanswered = 0.0
        out: list[bytes] = []
        messages: list[m.Message] = []
        for frame in frames:
            self._unanswered = 0.0
            more, answers = method(self, [frame], now)
            messages += more
            out += answers
        return messages, out

    wrap(Session, "receive", around)


@mistake("agent", "a-welcome-that-comes-again")
def begins_again_at_every_welcome() -> None:
    def around(method: Any, self: Any, welcome: m.Welcome) -> bool:
        method(self, welcome)
        return True

    wrap(Session, "_begins", around)


@mistake("environment", "goodbye-of-the-program")
def leaves_without_goodbye() -> None:
    wrap(Link, "close", lambda method, self, goodbye=True: method(self, goodbye=False))


@mistake("environment", "goodbye-of-the-broker")
def stays_when_the_broker_leaves() -> None:
    Link.departed = property(lambda self: False)  # type: ignore[assignment]


@mistake("agent", "goodbye-of-the-broker")
def answers_goodbye_with_goodbye() -> None:
    def around(method: Any, self: Any, goodbye: bool = True) -> None:
        self.session.departed = False
        method(self, goodbye=True)

    wrap(Link, "close", around)


@mistake("agent", "refused-access")
def tries_again_when_it_is_refused() -> None:
    import dovetail.peer.session as session

    session.FATAL = set()
    session._expels = lambda error: False


@mistake("agent", "bad-frames-are-refused")
def calls_every_bad_frame_invalid() -> None:
    def around(method: Any, self: Any, frames: Any, now: float) -> Any:
        messages, out = method(self, frames, now)
        swap = codec.encode("malformed"), codec.encode("invalid")
        return messages, [each.replace(*swap) for each in out]

    wrap(Session, "receive", around)


@mistake("experiment", "unknown-types")
def swallows_unknown_types() -> None:
    def around(method: Any, self: Any, frames: Any, now: float) -> Any:
        messages, out = method(self, frames, now)
        return messages, [each for each in out if b"unknown-type" not in each]

    wrap(Session, "receive", around)


@mistake("agent", "errors-are-never-answered-with-errors")
def answers_errors_with_errors() -> None:
    def around(method: Any, self: Any, incoming: Any, *_: Any) -> Any:
        wrong = [m.Error("invalid", "what?") for each in incoming if isinstance(each, m.Error)]
        return method(self, incoming) + wrong

    wrap(AgentHost, "handle", around)


@mistake("agent", "a-bad-frame-does-not-spoil-its-neighbours")
def drops_the_message_of_a_bad_frame() -> None:
    def around(method: Any, self: Any, frames: Any, now: float) -> Any:
        messages, out = method(self, frames, now)
        bad = [each for each in out if b"error" in each]
        return ([], bad) if bad else (messages, out)

    wrap(Session, "receive", around)


@mistake("environment", "several-frames-in-a-message")
def reads_the_first_frame_only() -> None:
    wrap(
        Session,
        "receive",
        lambda method, self, frames, now: method(self, list(frames)[:1], now),
    )


@mistake("agent", "bad-frames-do-no-harm")
def leaves_at_a_bad_frame() -> None:
    def around(method: Any, self: Any, frames: Any, now: float) -> Any:
        messages, out = method(self, frames, now)
        if any(b"malformed" in each for each in out):
            raise DovetailError("the broker speaks nonsense")
        return messages, out

    wrap(Session, "receive", around)


@mistake("environment", "unknown-types-do-no-harm")
def answers_unknown_types_with_another_code() -> None:
    says(lambda each: changed(each, m.Error, code="unknown"))


@mistake("experiment", "frames-within-the-limits")
def reads_small_frames_only() -> None:
    def around(method: Any, self: Any, hello: m.Hello) -> None:
        method(self, hello)
        self._decoder.limit(m.Limits(frame=1 << 20))

    wrap(Session, "__init__", around)
    wrap(
        Session,
        "_begins",
        lambda method, self, welcome: (
            changed(welcome, m.Welcome, limits=m.Limits(frame=1 << 20)),
            method(self, welcome),
        )[1],
    )


@mistake("agent", "frames-beyond-the-limits")
def reads_anything_however_deep() -> None:
    def around(method: Any, self: Any, welcome: m.Welcome) -> Any:
        new = method(self, welcome)
        self._decoder.limit(codec.UNLIMITED)
        return new

    wrap(Session, "_begins", around)


@mistake("environment", "bad-frames-are-refused")
def speaks_level_1_only() -> None:
    """Ignore what cannot be read, resume nothing, keep no answers."""

    def receive(method: Any, self: Any, frames: Any, now: float) -> Any:
        messages, out = method(self, frames, now)
        return messages, [each for each in out if b"\xa4type\xa5error" not in each]

    def greet(method: Any, self: Any, now: float) -> bytes:
        self.welcome, self.seen = None, 0
        return bytes(method(self, now))

    wrap(Session, "receive", receive)
    wrap(Session, "greet", greet)
    wrap(Inbox, "keep", lambda method, self, seq, answer, before=0: None)


# -- agents ----------------------------------------------------------------------------------------


@mistake("agent", "an-episode")
def answers_the_wrong_turn() -> None:
    answers(AgentHost, lambda each: changed(each, m.Action, turn=lambda turn: turn + 1))


@mistake("agent", "several-seats-and-simultaneous-turns")
def answers_for_seat_zero_only() -> None:
    answers(AgentHost, lambda each: changed(each, m.Action, seat=0))


@mistake("agent", "an-episode")
def ignores_the_end() -> None:
    ignoring(AgentHost, m.End)


@mistake("agent", "an-end-without-a-decision")
def ignores_an_end_without_a_start() -> None:
    def around(method: Any, self: Any, message: m.End) -> None:
        if (message.episode, message.seat) in self._playing:
            method(self, message)

    wrap(AgentHost, "_end", around)


@mistake("agent", "an-end-that-shows-what-cannot-be-read")
def ignores_an_end_that_it_cannot_read() -> None:
    def around(method: Any, self: Any, message: m.End) -> None:
        with suppress(ProtocolError):
            codec.opened(message.observation)
            method(self, message)

    wrap(AgentHost, "_end", around)


@mistake("agent", "a-decision-that-comes-again")
def is_silent_when_asked_again() -> None:
    wrap(Inbox, "keep", lambda method, self, seq, answer, before=0: None)


@mistake("agent", "what-comes-again-after-the-end")
def begins_an_ended_episode_again() -> None:
    takes_everything_for_new()


@mistake("agent", "an-older-decision")
def decides_anew_when_asked_again() -> None:
    takes_everything_for_new()


@mistake("agent", "requests-that-come-again")
def does_requests_again() -> None:
    takes_everything_for_new()


@mistake("agent", "answers-are-kept-until-they-are-settled")
def keeps_64_answers() -> None:
    def around(method: Any, self: Any, seq: int, answer: Any, before: int = 0) -> None:
        method(self, seq, answer, before)
        self.settle(seq - 64)

    wrap(Inbox, "keep", around)


@mistake("agent", "settled-answers-are-forgotten")
def keeps_answers_for_ever() -> None:
    Inbox.settle = lambda self, settled: None  # type: ignore[method-assign]


@mistake("environment", "settled-answers-are-forgotten")
def forgets_more_than_is_settled() -> None:
    wrap(Inbox, "settle", lambda method, self, settled: method(self, settled and settled + 1))


@mistake("agent", "a-decision-for-a-seat-that-it-does-not-hold")
def ignores_what_it_does_not_know() -> None:
    def change(each: m.Message) -> m.Message | None:
        return None if isinstance(each, m.Error) and each.code == "unknown" else each

    answers(AgentHost, change)


@mistake("agent", "numbers-may-skip")
def waits_for_the_next_number() -> None:
    def around(method: Any, self: Any, seq: int, out: Any) -> bool:
        return bool(method(self, seq, out)) if seq <= self.seen + 1 else False

    wrap(Inbox, "take", around)


@mistake("agent", "a-decision-that-was-lost")
def says_that_it_has_seen_what_never_came() -> None:
    def around(method: Any, self: Any, now: float) -> bytes:
        self.seen += self.welcome is not None
        return bytes(method(self, now))

    wrap(Session, "greet", around)


@mistake("agent", "lookahead")
def reads_one_preview_only() -> None:
    import dovetail.peer.agents.host as host

    wrap(host, "_answered", lambda method, message, thought: method(message, thought)[:1])


@mistake("agent", "a-lookahead-that-is-refused")
def waits_for_a_refused_lookahead() -> None:
    ignoring(AgentHost, m.Error)


@mistake("agent", "a-lookahead-through-a-broken-connection")
def forgets_what_it_has_asked() -> None:
    def around(method: Any, self: Any, incoming: Any, *_: Any) -> Any:
        out = method(self, incoming)
        again = any(isinstance(each, m.Welcome) for each in incoming)
        return [each for each in out if not (again and isinstance(each, m.AgentLookahead))]

    wrap(AgentHost, "handle", around)


@mistake("agent", "afterstates-and-scenes")
def drops_the_scene() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        message.scene = None
        method(self, message, out)

    wrap(AgentHost, "_decision", around)


@mistake("agent", "evaluate-changes-nothing")
def learns_in_evaluate_mode() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        if isinstance(message, m.AgentStart):
            message.mode = "learn"
        method(self, message, out)

    wrap(AgentHost, "_decision", around)


@mistake("agent", "defaults-may-be-sent-or-left-out")
def takes_no_legal_actions_for_none() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        message.legal = message.legal or [0]
        method(self, message, out)

    wrap(AgentHost, "_decision", around)


@mistake("agent", "legal-actions-as-list-mask-or-nil")
def reads_masks_from_the_highest_bit() -> None:
    import dovetail.peer.agents.host as host

    def unmask(mask: bytes) -> list[int]:
        bits = range(8)
        return [8 * i + bit for i, byte in enumerate(mask) for bit in bits if byte >> (7 - bit) & 1]

    vars(host)["unmask"] = unmask


@mistake("agent", "values-of-every-kind")
def reads_tensors_as_doubles() -> None:
    wrap(tensors, "unpack", lambda method, data: method(data).astype(float))


@mistake("agent", "clock-text-mode-and-seed")
def reads_seeds_as_doubles() -> None:
    def around(method: Any, self: Any, *args: Any) -> None:
        method(self, *args)
        self.seed = int(float(self.seed))

    import dovetail.peer.agents.host as host

    wrap(host._Play, "__init__", around)


@mistake("agent", "clock-text-mode-and-seed")
def drops_the_clock() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        message.clock = None
        method(self, message, out)

    wrap(AgentHost, "_decision", around)


@mistake("agent", "an-agent-that-crashes")
def falls_silent_when_the_agent_crashes() -> None:
    AgentHost._crashed = lambda *args: None  # type: ignore[method-assign]


@mistake("agent", "a-game-that-it-cannot-play")
def refuses_without_saying_what() -> None:
    answers(AgentHost, lambda each: changed(each, m.Error, answers=None))


@mistake("agent", "save-and-load")
def saves_nothing() -> None:
    answers(AgentHost, lambda each: changed(each, m.Saved, state=b""))


@mistake("agent", "everything-is-gone-after-a-lost-session")
def keeps_what_a_lost_session_had() -> None:
    AgentHost._reset = lambda self: None  # type: ignore[method-assign]


@mistake("agent", "everything-is-gone-after-a-lost-session")
def goes_on_counting_in_another_session() -> None:
    Inbox.begin = lambda self, welcome: None  # type: ignore[method-assign]


@mistake("agent", "an-init-that-comes-again")
def takes_a_seat_again() -> None:
    takes_everything_for_new()


@mistake("agent", "a-seat-that-changes-hands")
def keeps_a_seat_that_changed_hands() -> None:
    def around(method: Any, self: Any, message: m.Init, out: Any) -> None:
        if (message.match, message.seat) not in self._seats:
            method(self, message, out)

    wrap(AgentHost, "_init", around)


# -- environments ----------------------------------------------------------------------------------


@mistake("environment", "a-step-that-comes-again")
def steps_again_when_asked_again() -> None:
    takes_everything_for_new()


@mistake("environment", "a-start-that-comes-again")
def begins_again_when_asked_again() -> None:
    takes_everything_for_new()


@mistake("environment", "an-open-that-comes-again")
def makes_a_new_environment_when_asked_again() -> None:
    takes_everything_for_new()
    wrap(
        EnvironmentHost,
        "_make",
        lambda method, self, message: (self._close(message.match), method(self, message))[1],
    )


@mistake("environment", "a-message-that-comes-again")
def answers_a_message_once() -> None:
    wrap(Inbox, "keep", lambda method, self, seq, answer, before=0: None)


@mistake("environment", "a-step-ahead-of-its-turn")
def steps_whatever_the_turn() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        place = self._episodes.get(message.episode)
        if place is not None:
            place.turn = message.turn
        method(self, message, out)

    wrap(EnvironmentHost, "_step", around)


@mistake("environment", "a-step-after-the-close")
def ignores_what_it_does_not_have() -> None:
    def change(each: m.Message) -> m.Message | None:
        return None if isinstance(each, m.Error) and each.code == "unknown" else each

    answers(EnvironmentHost, change)


@mistake("environment", "lookahead")
def looks_ahead_in_the_episode_itself() -> None:
    import copy

    import dovetail.peer.environments.lookahead as lookahead

    conformer.ConformerGame.fork = lambda self, seat, seed: self  # type: ignore[method-assign]
    same = {"deepcopy": staticmethod(lambda each: each), "copy": copy.copy}
    vars(lookahead)["copy"] = type("Same", (), same)


@mistake("environment", "a-lookahead-at-another-turn")
def looks_ahead_from_any_turn() -> None:
    def around(method: Any, self: Any, message: Any) -> Any:
        place = self._episodes.get(message.episode) or next(iter(self._episodes.values()))
        message.episode, message.turn = place.episode, place.turn
        return method(self, message)

    wrap(EnvironmentHost, "_lookahead", around)


@mistake("environment", "afterstates")
def adds_afterstates_unasked() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        message.wants = [["afterstates"]] * 2
        method(self, message, out)

    wrap(EnvironmentHost, "_start", around)


@mistake("environment", "scenes")
def draws_the_same_scene_in_every_turn() -> None:
    def around(method: Any, self: Any, seat: Any = None) -> Any:
        scene = method(self, seat)
        scene.caption = "turn 0"
        return scene

    wrap(conformer.ConformerGame, "scene", around)


@mistake("environment", "an-episode")
def drops_the_rewards() -> None:
    def change(each: m.Message) -> m.Message:
        if isinstance(each, m.Turn):
            for view in each.seats:
                view.reward = 0.0
        return each

    answers(EnvironmentHost, change)


@mistake("environment", "an-episode")
def drops_the_outcome() -> None:
    answers(EnvironmentHost, lambda each: changed(each, m.Turn, outcome=None))


@mistake("environment", "truncated")
def calls_every_end_terminated() -> None:
    def change(each: m.Message) -> m.Message:
        if isinstance(each, m.Turn) and each.truncated:
            each.truncated, each.terminated = False, True
        return each

    answers(EnvironmentHost, change)


@mistake("environment", "an-action-that-the-rules-refuse")
def does_not_say_who_played_illegally() -> None:
    answers(EnvironmentHost, lambda each: changed(each, m.Error, seat=None))


@mistake("environment", "rules-that-fail")
def does_not_say_what_failed() -> None:
    answers(EnvironmentHost, lambda each: changed(each, m.Error, answers=None))


@mistake("environment", "a-failure-that-comes-again")
def steps_again_after_a_failure() -> None:
    def around(method: Any, self: Any, seq: int, answer: Any, out: Any) -> None:
        method(self, 0 if isinstance(answer, m.Error) else seq, answer, out)

    wrap(Inbox, "answer", around)


@mistake("environment", "text-for-seats-and-watchers")
def ignores_wants() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        message.wants = []
        method(self, message, out)

    wrap(EnvironmentHost, "_start", around)


@mistake("environment", "a-group")
def forgets_a_slot() -> None:
    answers(EnvironmentHost, lambda each: changed(each, m.Turns, slots=lambda slots: slots[:1]))


@mistake("environment", "a-batch-that-cannot-be-played")
def does_not_say_which_batch() -> None:
    answers(EnvironmentHost, lambda each: changed(each, m.Error, answers=None))


@mistake("environment", "a-slot-that-fails-alone")
def hides_what_failed_in_a_slot() -> None:
    answers(EnvironmentHost, lambda each: changed(each, m.Turns, faults=[]))


@mistake("agent", "a-group")
def answers_in_another_order() -> None:
    answers(
        AgentHost, lambda each: changed(each, m.Actions, slots=lambda slots: slots[::-1].copy())
    )


@mistake("agent", "a-decision-of-a-group-that-fails")
def hides_what_failed_in_a_row() -> None:
    answers(AgentHost, lambda each: changed(each, m.Actions, faults=[]))


@mistake("agent", "a-batch-without-an-agent")
def does_not_say_which_batch_is_for_nobody() -> None:
    answers(AgentHost, lambda each: changed(each, m.Error, answers=None))


@mistake("agent", "a-batch-that-comes-again")
def does_not_keep_the_actions_of_a_batch() -> None:
    def around(method: Any, self: Any, seq: int, answer: Any, before: int = 0) -> None:
        method(self, 0 if isinstance(answer, m.Actions) else seq, answer, before)

    wrap(Inbox, "keep", around)


@mistake("environment", "close")
def keeps_closed_matches() -> None:
    ignoring(EnvironmentHost, m.Close)


@mistake("environment", "a-new-start-abandons-the-old-episode")
def goes_on_with_an_abandoned_episode() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        before = dict(self._episodes)
        method(self, message, out)
        self._episodes = {**before, **self._episodes}

    wrap(EnvironmentHost, "_start", around)

    def step(method: Any, self: Any, message: Any, out: Any) -> None:
        place = self._episodes.get(message.episode)
        if place is not None:
            place.episode = message.episode
        method(self, message, out)

    wrap(EnvironmentHost, "_step", step)


@mistake("environment", "everything-is-gone-after-a-lost-session")
def keeps_the_answers_of_a_lost_session() -> None:
    Inbox.begin = lambda self, welcome: None  # type: ignore[method-assign]


# -- experiments -----------------------------------------------------------------------------------


@mistake("experiment", "a-result-that-comes-again")
def counts_results_twice() -> None:
    takes_everything_for_new()


@mistake("experiment", "a-request-that-ends-without-an-answer")
def drops_the_timeout() -> None:
    wrap(
        Experiment,
        "_exchange",
        lambda method, self, each: method(self, changed(each, m.ExperimentCreate, timeout=120.0)),
    )


@mistake("experiment", "every-request")
def cannot_give_up_a_request() -> None:
    wrap(
        Experiment,
        "_exchange",
        lambda method, self, each: method(self, changed(each, m.Cancel, request=None)),
    )


@mistake("experiment", "answers-of-others")
def takes_any_answer() -> None:
    def around(method: Any, self: Any, message: Any) -> None:
        if isinstance(message, m.Reply) and self._open:
            message.id = next(iter(self._open))
        method(self, message)

    wrap(Experiment, "_take", around)


@mistake("experiment", "a-request-through-a-broken-connection")
def forgets_unanswered_requests() -> None:
    Experiment._greeted = lambda self, welcome: None  # type: ignore[method-assign]


@mistake("experiment", "a-request-through-a-broken-connection")
def numbers_requests_anew_after_a_break() -> None:
    def around(method: Any, self: Any, welcome: Any) -> None:
        for each in self._open.values():
            each.id += 1000
        method(self, welcome)

    wrap(Experiment, "_greeted", around)


@mistake("experiment", "requests-and-replies")
def uses_the_same_id_twice() -> None:
    import itertools

    def around(method: Any, self: Any, link: Any) -> None:
        method(self, link)
        self._ids = itertools.repeat(1)

    wrap(Experiment, "__init__", around)


@mistake("experiment", "requests-and-replies")
def counts_its_requests_down() -> None:
    import itertools

    def around(method: Any, self: Any, link: Any) -> None:
        method(self, link)
        self._ids = itertools.count(1000, -1)

    wrap(Experiment, "__init__", around)


@mistake("experiment", "goodbye-of-the-broker")
def experiments_that_answer_goodbye() -> None:
    answers_goodbye_with_goodbye()


@mistake("experiment", "a-run-with-every-field")
def drops_a_field_of_run() -> None:
    wrap(
        Experiment,
        "_exchange",
        lambda method, self, each: method(self, changed(each, m.Run, first_index=0)),
    )


def main(name: str, role: str) -> int:
    MISTAKES[name][2]()
    return conformer.main(role)


PROGRAMS: dict[str, Callable[..., int]] = {"conformer": conformer.main, "wrong_client": main}
"""Programs that ``tests.forking`` can start."""

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
