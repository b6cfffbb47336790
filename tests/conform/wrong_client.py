"""Clients with one mistake each: the conformer on a library that was broken on purpose.

python wrong_client.py MISTAKE ROLE
"""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

sys.path.insert(0, str(Path(__file__).parent))
import conformer

from dovetail.agent_servers.host import AgentHost
from dovetail.env_servers.host import EnvironmentHost
from dovetail.experiments.client import Experiment
from dovetail.peer import link as link_module
from dovetail.peer.link import Link
from dovetail.peer.session import Session
from dovetail.protocol import codec, tensors
from dovetail.protocol import messages as m

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


# -- sessions ------------------------------------------------------------------------------------------


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

    link_module.zmq.Context = Fixed  # type: ignore[misc, assignment]


@mistake("agent", "pings-are-answered")
def answers_pings_with_zero() -> None:
    def around(method: Any, self: Any, frames: Any, now: float) -> Any:
        messages, out = method(self, frames, now)
        return messages, [codec.encode(m.Pong()) if b"pong" in each else each for each in out]

    wrap(Session, "receive", around)


@mistake("environment", "goodbye-of-the-program")
def leaves_without_goodbye() -> None:
    wrap(Link, "close", lambda method, self, goodbye=True: method(self, goodbye=False))


@mistake("environment", "goodbye-of-the-broker")
def stays_when_the_broker_leaves() -> None:
    Link.departed = property(lambda self: False)  # type: ignore[assignment]


@mistake("agent", "refused-access")
def tries_again_when_it_is_refused() -> None:
    import dovetail.peer.session as session

    session.FATAL = set()


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


@mistake("agent", "limits")
def reads_anything_however_deep() -> None:
    import dovetail.protocol.limits as limits

    limits.check = lambda frame, limits: None


# -- agents --------------------------------------------------------------------------------------------


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
    def around(method: Any, self: Any, message: m.End, out: Any) -> None:
        if (message.episode, message.seat) in self._playing:
            method(self, message, out)

    wrap(AgentHost, "_end", around)


@mistake("agent", "a-decision-that-comes-again")
def decides_anew_when_asked_again() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        play = self._playing.get((message.episode, message.seat))
        if play is not None:
            play.turn = -1
        method(self, message, out)

    wrap(AgentHost, "_decision", around)


@mistake("agent", "what-comes-after-the-end")
def begins_an_ended_episode_again() -> None:
    wrap(
        AgentHost,
        "_end",
        lambda method, self, message, out: (method(self, message, out), self._ended.clear()),
    )


@mistake("agent", "an-older-decision")
def answers_older_decisions() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        play = self._playing.get((message.episode, message.seat))
        if play is not None and message.turn < play.turn:
            play.turn = message.turn - 1
        method(self, message, out)

    wrap(AgentHost, "_decision", around)


@mistake("agent", "requests-that-come-again")
def does_requests_again() -> None:
    AgentHost._remember = lambda self, key, answer: None  # type: ignore[method-assign]


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
    import dovetail.agent_servers.host as host

    host.unmask = lambda mask: [
        8 * i + bit for i, byte in enumerate(mask) for bit in range(8) if byte >> (7 - bit) & 1
    ]


@mistake("agent", "values-of-every-kind")
def reads_tensors_as_doubles() -> None:
    wrap(tensors, "unpack", lambda method, data: method(data).astype(float))


@mistake("agent", "clock-text-mode-and-seed")
def reads_seeds_as_doubles() -> None:
    def around(method: Any, self: Any, *args: Any) -> None:
        method(self, *args)
        self.seed = int(float(self.seed))

    import dovetail.agent_servers.host as host

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
def refuses_without_the_seat() -> None:
    answers(AgentHost, lambda each: changed(each, m.Error, seat=None))


@mistake("agent", "save-and-load")
def saves_nothing() -> None:
    answers(AgentHost, lambda each: changed(each, m.Saved, state=b""))


@mistake("agent", "everything-is-gone-after-a-lost-session")
def keeps_what_a_lost_session_had() -> None:
    AgentHost._reset = lambda self, out: None  # type: ignore[method-assign]


@mistake("agent", "an-init-that-comes-again")
def keeps_a_seat_that_changed_hands() -> None:
    def around(method: Any, self: Any, message: m.Init, out: Any) -> None:
        if (message.match, message.seat) not in self._seats:
            method(self, message, out)

    wrap(AgentHost, "_init", around)


# -- environments --------------------------------------------------------------------------------------


@mistake("environment", "a-step-that-comes-again")
def steps_again_when_asked_again() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        place = self._episodes.get(message.episode)
        if place is not None and isinstance(place.answer, m.Turn):
            place.answer.turn = message.turn
        method(self, message, out)

    wrap(EnvironmentHost, "_step", around)


@mistake("environment", "a-start-that-comes-again")
def begins_again_when_asked_again() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        message.seed += len(self._episodes)
        place = self._open.get(message.match)
        if place is not None:
            place.episode = 0
        method(self, message, out)

    wrap(EnvironmentHost, "_start", around)


@mistake("environment", "an-open-that-comes-again")
def makes_a_new_environment_when_asked_again() -> None:
    wrap(
        EnvironmentHost,
        "_make",
        lambda method, self, message: (self._close(message.match), method(self, message))[1],
    )


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


@mistake("environment", "text-for-seats-and-watchers")
def ignores_wants() -> None:
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        message.wants = []
        method(self, message, out)

    wrap(EnvironmentHost, "_start", around)


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
    def around(method: Any, self: Any, message: Any, out: Any) -> None:
        before = dict(self._answers)
        method(self, message, out)
        if isinstance(message, m.Welcome):
            self._answers.update(before)

    wrap(EnvironmentHost, "_other", around)


# -- experiments ---------------------------------------------------------------------------------------


@mistake("experiment", "a-result-that-comes-again")
def counts_results_twice() -> None:
    class Never(set[int]):
        def __contains__(self, key: object) -> bool:
            return False

    wrap(
        conformer.Told,
        "__init__",
        lambda method, self, link: (method(self, link), setattr(self, "seen", Never()))[0],
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
            each.id = random.randrange(1000, 2000)  # type: ignore[attr-defined]
        method(self, welcome)

    wrap(Experiment, "_greeted", around)


@mistake("experiment", "requests-and-replies")
def uses_the_same_id_twice() -> None:
    import itertools

    wrap(
        Experiment,
        "__init__",
        lambda method, self, link: (method(self, link), setattr(self, "_ids", itertools.repeat(1)))[
            0
        ],
    )


@mistake("experiment", "a-run-with-every-field")
def drops_a_field_of_run() -> None:
    wrap(
        Experiment,
        "_exchange",
        lambda method, self, each: method(self, changed(each, m.Run, first=0)),
    )


if __name__ == "__main__":
    MISTAKES[sys.argv[1]][2]()
    sys.exit(conformer.main(sys.argv[2]))
