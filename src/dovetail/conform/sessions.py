"""The cases of every role: hello, heartbeats, refusals, bad frames, resumption and `bye`."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from functools import partialmethod
from typing import Any

from dovetail.conform.case import Failed
from dovetail.conform.malformed import Malformed, malformed
from dovetail.conform.program import TOKEN, Fields, Program

HELLO_FIRST = {"type": "error", "code": "hello-first", "message": "who are you?"}


def renewed(p: Program, *, resumed: bool = True) -> None:
    """Break the connection; welcome the program again, in its session or in a new one."""
    p.send(HELLO_FIRST)
    p.resumes()
    p.greet(p.session if resumed else "", resumed=resumed)


def welcomed(p: Program, **more: Any) -> None:
    """Welcome a program that has said ``hello``."""
    p.greet(**more)
    if p.role == "experiment":
        p.line("welcome")


def bad_frames() -> Iterator[Malformed]:
    """Yield frames that no peer can read; an environment gets only those that name no role."""
    for vector in malformed():
        if vector.receiver == "environment" and vector.limits is None:
            yield vector


def answer_to_bad(p: Program, vector: Malformed, what: str) -> Fields:
    """Send a bad frame and a ping; return the first answer, an ``error`` or at once the pong."""
    p.send(vector.frame)
    number = p.ping()
    answer = p.hear(what.format(number=number, name=vector.name), pongs=True)
    if answer["type"] == "error":
        p.expect("pong", number=number)
    return answer


def nested(depth: int) -> object:
    """Return an array of that depth."""
    return [nested(depth - 1)] if depth else 0


class SessionCases:
    """The cases of every role.

    A method is a case if its docstring begins with rules of SPEC.md, as ``cases`` reads it.
    """

    def works(self, p: Program) -> None:
        """Check that the program does its job: one request or episode."""
        raise NotImplementedError

    def listen(self, p: Program) -> None:
        """Make the program listen to the broker."""

    def hello(self, p: Program) -> None:
        """S4.1, before the welcome: The first frame is `hello` with version 1, the role, and the
        access token."""
        p.check(
            p.greeted,
            "hello",
            {"version": 1, "role": p.role, "token": TOKEN, "resume": None, "seen": 0},
        )

    def no_fixed_routing_identity(self, p: Program) -> None:
        """S3.2, before the welcome: A peer must not set a fixed routing identity; ZeroMQ's own
        begin with a zero byte."""
        if p.routing_id[:1] != b"\0":
            raise Failed("an identity that ZeroMQ chose", repr(p.routing_id))

    def features(self, p: Program) -> None:
        """S14.2, before the welcome: Unknown features in `welcome` are ignored; a peer announces
        only features that it supports."""
        welcomed(p, features=["example.org/dance"])
        self.works(p)

    def _refused(self, p: Program, code: str) -> None:
        """S4.2, before the welcome: `version`, `access` and `name-taken` in answer to `hello` are
        final: one line on standard error, status 1."""
        p.send({"type": "error", "code": code, "message": "you may not come in"})
        p.exits(1)
        lines = p.stderr().strip().splitlines()
        if len(lines) != 1 or "you may not come in" not in lines[0]:
            raise Failed("one line with the broker's text on standard error", repr(p.stderr()))

    refused_version = partialmethod(_refused, code="version")
    refused_access = partialmethod(_refused, code="access")
    refused_name_taken = partialmethod(_refused, code="name-taken")

    def pings_are_answered(self, p: Program) -> None:
        """S4.9: A peer must answer each `ping` with a `pong` of the same number."""
        self.listen(p)
        p.send({"type": "ping", "number": 7}, {"type": "ping", "number": 9})
        p.expect("pong", number=7)
        p.expect("pong", number=9)
        p.answer_to({"type": "ping"}, "pong", number=0)
        p.answer_to({"type": "ping", "number": 2**40}, "pong", number=2**40)

    def pongs_say_what_has_arrived(self, p: Program) -> None:
        """S5.4: `pong.seen` is the highest `seq` that has arrived, and nothing beyond it."""
        self.listen(p)
        self.works(p)
        self.listen(p)
        for _ in range(2):
            p.expect("pong", number=p.ping(), seen=p.seq)

    def bad_frames_do_no_harm(self, p: Program) -> None:
        """S3.4 S15.1: An unreadable frame is refused or ignored, and does no harm."""
        self.listen(p)
        for vector in bad_frames():
            answer_to_bad(p, vector, "pong {number} after {name}")
        self.works(p)

    def bad_frames_are_refused(self, p: Program) -> None:
        """S12.3, level 2: An unreadable frame gets an `error` with the right code, and does no
        harm."""
        self.listen(p)
        wrong = []
        for vector in bad_frames():
            answer = answer_to_bad(p, vector, f"error {vector.code} for {{name}}")
            found = answer.get("code", answer["type"])
            if found != vector.code:
                wrong.append(f"{vector.name.split(', at')[0]}: {found}, not {vector.code}")
        if wrong:
            raise Failed("the codes of vectors/malformed.json", "; ".join(wrong))
        self.works(p)

    def a_bad_frame_does_not_spoil_its_neighbours(self, p: Program) -> None:
        """S3.4: Frames are read in order and separately: a bad frame does not affect the others."""
        self.listen(p)
        p.send({"type": "ping", "number": 1}, b"\xc1", {"type": "ping", "number": 2})
        pongs: list[int] = []
        while len(pongs) < 2:
            heard = p.hear("pongs 1 and 2", pongs=True)
            if heard["type"] == "pong":
                pongs.append(heard.get("number", 0))
            else:
                p.check(heard, "error", {"code": "malformed"})
        if pongs != [1, 2]:
            raise Failed("pongs 1 and 2", str(pongs))
        p.quiet("one bad frame, one error at most", ("error", {"code": "malformed"}))
        self.works(p)

    def frames_within_the_limits(self, p: Program) -> None:
        """S11.1: A peer reads every frame within the limits: 16 MiB, 32 levels, 100,000 values."""
        self.listen(p)
        extras = ([0] * 99_990, nested(31), bytes((1 << 24) - 64))
        for number, extra in enumerate(extras, 1):
            p.answer_to({"type": "ping", "number": number, "extra": extra}, "pong", number=number)

    def frames_beyond_the_limits(self, p: Program) -> None:
        """S11.2, level 2: A frame beyond the limits gets an `error` `limit`."""
        self.listen(p)
        for extra in ([0] * 100_001, nested(32), bytes(1 << 24)):
            p.answer_to({"type": "ping", "number": 1, "extra": extra}, "error", code="limit")

    def unknown_types_do_no_harm(self, p: Program) -> None:
        """S9.1 S15.1: A type that is not in the receiver's row is refused or ignored, and does no
        harm."""
        self.listen(p)
        p.send({"type": "dance"}, {"type": "turns", "episodes": 1})
        p.quiet("refused or ignored", ("error", {"code": "unknown-type"}))
        self.works(p)

    def unknown_types(self, p: Program) -> None:
        """S9.1, level 2: A type that is not in the receiver's row gets an `error` `unknown-type`,
        and does no harm."""
        self.listen(p)
        foreign = {"type": "hello", "version": 1, "role": "agent"}
        for message in ({"type": "dance"}, {"type": "turns", "episodes": 1}, foreign):
            p.answer_to(message, "error", code="unknown-type")
        self.works(p)

    def unknown_fields_are_ignored(self, p: Program) -> None:
        """S3.7: Unknown fields are ignored."""
        self.listen(p)
        p.send({"type": "ping", "number": 3, "mood": {"a": [1, None]}, "ping": 1})
        p.expect("pong", number=3)

    def any_well_formed_encoding_will_do(self, p: Program) -> None:
        """S3.6: Keys may come in any order, the last of two equal keys counts, and headers need not
        be the shortest."""
        self.listen(p)
        p.answer_to(b"\x82\xa6number\x03\xa4type\xa4ping", "pong", number=3)
        p.answer_to(b"\x83\xa4type\xa4ping\xa6number\x01\xa6number\x02", "pong", number=2)
        p.send(b"\xde\x00\x02\xa4type\xd9\x04ping\xa6number\xcf\x00\x00\x00\x00\x00\x00\x00\x05")
        p.expect("pong", number=5)

    def errors_are_never_answered_with_errors(self, p: Program) -> None:
        """S12.2: An `error` is never answered with an `error`; an unknown code counts as
        `unavailable`."""
        self.listen(p)
        p.send(
            {"type": "error", "code": "unavailable", "message": "no"},
            {"type": "error", "code": "dance", "message": "no", "id": 99, "answers": 3, "seat": 1},
            {"type": "error", "code": "invalid", "message": "no", "answers": 77},
            {"type": "pong", "number": 12},
        )
        p.quiet("errors and pongs are not answered")
        self.works(p)

    def hello_first_asks_for_the_session_again(self, p: Program) -> None:
        """S4.11 S4.3, level 2: After `hello-first` a peer sends `hello` with `resume`, `seen` and
        its own name on the same socket."""
        self.works(p)
        self.listen(p)
        before = p.routing_id
        p.send(HELLO_FIRST)
        p.resumes()
        if p.routing_id != before:
            raise Failed("hello on the same connection", "a new connection")
        p.greet(p.session, resumed=True)
        self.works(p)

    def hello_first_while_a_hello_is_under_way(self, p: Program) -> None:
        """S4.11, level 2: A peer ignores `hello-first` while its own `hello` is unanswered."""
        self.listen(p)
        p.send(HELLO_FIRST, HELLO_FIRST)
        p.resumes()
        p.send(HELLO_FIRST)
        p.greet(p.session, resumed=True)
        self.works(p)

    def silence_makes_a_new_connection(self, p: Program) -> None:
        """S4.11, before the welcome, level 2: After 4 heartbeats of silence, at least 2 s, a peer
        opens a new connection and sends `hello` with `resume`."""
        welcomed(p, heartbeat=0.1)
        self.listen(p)
        before = p.routing_id
        p.resumes(patience=p.patience + 5)
        if p.routing_id == before:
            raise Failed("hello from a new connection", "hello on the old one")
        p.greet(p.session, resumed=True)
        self.works(p)

    def a_session_that_is_heard_stays(self, p: Program) -> None:
        """S4.11, before the welcome: A peer that receives pings keeps its connection."""
        welcomed(p, heartbeat=0.75)
        self.listen(p)
        for number in range(14):  # for longer than the 3 s of silence that would be too long
            p.answer_to({"type": "ping", "number": number}, "pong", number=number)
            time.sleep(0.25)
        self.works(p)


class HostCases(SessionCases):
    """The cases of the roles that serve: environments and agents."""

    def hello_first_is_heard(self, p: Program) -> None:
        """S15.1: After `hello-first` a peer sends `hello` again, or ends with a nonzero status."""
        self.works(p)
        p.send(HELLO_FIRST)
        try:
            p.hello()
        except Failed:
            if not p.process.poll():
                raise
            return
        p.greet(resumed=False)
        self.works(p)

    def a_lost_session_is_begun_again(self, p: Program) -> None:
        """S4.13, before the welcome, level 2: After `resumed` false a new session begins without
        anything of the old one; the program keeps working."""
        p.greet()
        self.works(p)
        renewed(p, resumed=False)
        self.works(p)
        p.send(HELLO_FIRST)
        p.resumes()  # of the new session, counting from its beginning

    def sent_away(self, p: Program) -> None:
        """S13.6: After an unsolicited `error` `access` and a `bye`, the program shows the text and
        ends with status 1."""
        self.works(p)
        text = "the key 'ann' was revoked"
        p.send({"type": "error", "code": "access", "message": text}, {"type": "bye"})
        p.exits(1)
        if text not in p.stderr():
            raise Failed("the broker's text on standard error", repr(p.stderr()))

    def goodbye_of_the_broker(self, p: Program) -> None:
        """S4.8: `bye` is not answered; the program ends."""
        self.works(p)
        p.send({"type": "bye", "reason": "the broker is shutting down"})
        p.departs(0)

    def goodbye_of_the_program(self, p: Program) -> None:
        """S4.8: A program that is told to stop sends `bye` and ends."""
        self.listen(p)
        p.process.send_signal(signal.SIGTERM)
        p.expect("bye")
        p.exits(0)

    def the_broker_is_gone_for_five_seconds(self, p: Program) -> None:
        """S4.11, before the welcome, level 2: A broker restarted at the same address gets a `hello`
        with `resume`."""
        p.greet(heartbeat=0.75)  # three seconds of silence: seen in five, and not on a busy machine
        self.works(p)
        p.vanish(5)
        p.resumes(patience=p.patience + 5)
        p.greet(p.session, resumed=True)
        self.works(p)
