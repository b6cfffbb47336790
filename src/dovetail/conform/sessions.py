"""The cases of every role: hello, heartbeats, refusals, bad frames, resumption and `bye`."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from dovetail.conform.case import Cases, Failed
from dovetail.conform.malformed import Malformed, malformed
from dovetail.conform.program import TOKEN, Program

Part = Callable[[Program], None]
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


def add(cases: Cases, works: Part, listen: Part) -> None:
    """Add the cases of a session to those of a role.

    Args:
        cases: those of the role.
        works: checks that the program does its job: one request or episode.
        listen: makes the program listen to the broker.
    """
    role = cases.role
    case = cases.case

    @case("S4.1", greet=False)
    def hello(p: Program) -> None:
        """The first frame is `hello` with version 1, the role, and the access token."""
        p.check(
            p.greeted,
            "hello",
            {"version": 1, "role": role, "token": TOKEN, "resume": None, "seen": 0},
        )

    @case("S3.2", greet=False)
    def no_fixed_routing_identity(p: Program) -> None:
        """A peer must not set a fixed routing identity; ZeroMQ's own begin with a zero byte."""
        if p.routing_id[:1] != b"\0":
            raise Failed("an identity that ZeroMQ chose", repr(p.routing_id))

    @case("S14.2", greet=False)
    def features(p: Program) -> None:
        """Unknown features in `welcome` are ignored; a peer announces only features that it
        supports."""
        welcomed(p, features=["example.org/dance"])
        works(p)

    for code in ("version", "access", "name-taken"):

        @case("S4.2", f"refused-{code}", greet=False)
        def refused(p: Program, code: str = code) -> None:
            """`version`, `access` and `name-taken` in answer to `hello` are final: one line on
            standard error, status 1."""
            p.send({"type": "error", "code": code, "message": "you may not come in"})
            p.exits(1)
            lines = p.stderr().strip().splitlines()
            if len(lines) != 1 or "you may not come in" not in lines[0]:
                raise Failed("one line with the broker's text on standard error", repr(p.stderr()))

    @case("S4.9")
    def pings_are_answered(p: Program) -> None:
        """A peer must answer each `ping` with a `pong` of the same number."""
        listen(p)
        p.send({"type": "ping", "number": 7}, {"type": "ping", "number": 9})
        p.expect("pong", number=7)
        p.expect("pong", number=9)
        p.send({"type": "ping"})
        p.expect("pong", number=0)
        p.send({"type": "ping", "number": 2**40})
        p.expect("pong", number=2**40)

    @case("S5.4")
    def pongs_say_what_has_arrived(p: Program) -> None:
        """`pong.seen` is the highest `seq` that has arrived, and nothing beyond it."""
        listen(p)
        works(p)
        listen(p)
        for _ in range(2):
            p.expect("pong", number=p.ping(), seen=p.seq)

    @case("S3.4 S15.1")
    def bad_frames_do_no_harm(p: Program) -> None:
        """An unreadable frame is refused or ignored, and does no harm."""
        listen(p)
        for vector in bad_frames():
            p.send(vector.frame)
            number = p.ping()
            answer = p.hear(f"pong {number} after {vector.name}", pongs=True)
            if answer["type"] == "error":
                p.expect("pong", number=number)
        works(p)

    @case("S12.3", level=2)
    def bad_frames_are_refused(p: Program) -> None:
        """An unreadable frame gets an `error` with the right code, and does no harm."""
        listen(p)
        wrong = []
        for vector in bad_frames():
            p.send(vector.frame)
            number = p.ping()
            answer = p.hear(f"error {vector.code} for {vector.name}", pongs=True)
            if answer["type"] == "error":
                p.expect("pong", number=number)
            found = answer.get("code", answer["type"])
            if found != vector.code:
                wrong.append(f"{vector.name.split(', at')[0]}: {found}, not {vector.code}")
        if wrong:
            raise Failed("the codes of vectors/malformed.json", "; ".join(wrong))
        works(p)

    @case("S3.4")
    def a_bad_frame_does_not_spoil_its_neighbours(p: Program) -> None:
        """Frames are read in order and separately: a bad frame does not affect the others."""
        listen(p)
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
        works(p)

    @case("S11.1")
    def frames_within_the_limits(p: Program) -> None:
        """A peer reads every frame within the limits: 16 MiB, 32 levels, 100,000 values."""
        listen(p)
        deep: object = 0
        for _ in range(31):
            deep = [deep]
        extras = ([0] * 99_990, deep, bytes((1 << 24) - 64))
        for number, extra in enumerate(extras, 1):
            p.send({"type": "ping", "number": number, "extra": extra})
            p.expect("pong", number=number)

    @case("S11.2", level=2)
    def frames_beyond_the_limits(p: Program) -> None:
        """A frame beyond the limits gets an `error` `limit`."""
        listen(p)
        deep: object = 0
        for _ in range(32):
            deep = [deep]
        for extra in ([0] * 100_001, deep, bytes(1 << 24)):
            p.send({"type": "ping", "number": 1, "extra": extra})
            p.expect("error", code="limit")

    @case("S9.1 S15.1")
    def unknown_types_do_no_harm(p: Program) -> None:
        """A type that is not in the receiver's row is refused or ignored, and does no harm."""
        listen(p)
        p.send({"type": "dance"}, {"type": "turns", "episodes": 1})
        p.quiet("refused or ignored", ("error", {"code": "unknown-type"}))
        works(p)

    @case("S9.1", level=2)
    def unknown_types(p: Program) -> None:
        """A type that is not in the receiver's row gets an `error` `unknown-type`, and does no
        harm."""
        listen(p)
        foreign = {"type": "hello", "version": 1, "role": "agent"}
        for message in ({"type": "dance"}, {"type": "turns", "episodes": 1}, foreign):
            p.send(message)
            p.expect("error", code="unknown-type")
        works(p)

    @case("S3.7")
    def unknown_fields_are_ignored(p: Program) -> None:
        """Unknown fields are ignored."""
        listen(p)
        p.send({"type": "ping", "number": 3, "mood": {"a": [1, None]}, "ping": 1})
        p.expect("pong", number=3)

    @case("S3.6")
    def any_well_formed_encoding_will_do(p: Program) -> None:
        """Keys may come in any order, the last of two equal keys counts, and headers need not be
        the shortest."""
        listen(p)
        p.send(b"\x82\xa6number\x03\xa4type\xa4ping")
        p.expect("pong", number=3)
        p.send(b"\x83\xa4type\xa4ping\xa6number\x01\xa6number\x02")
        p.expect("pong", number=2)
        p.send(b"\xde\x00\x02\xa4type\xd9\x04ping\xa6number\xcf\x00\x00\x00\x00\x00\x00\x00\x05")
        p.expect("pong", number=5)

    @case("S12.2")
    def errors_are_never_answered_with_errors(p: Program) -> None:
        """An `error` is never answered with an `error`; an unknown code counts as `unavailable`."""
        listen(p)
        p.send(
            {"type": "error", "code": "unavailable", "message": "no"},
            {"type": "error", "code": "dance", "message": "no", "id": 99, "answers": 3, "seat": 1},
            {"type": "error", "code": "invalid", "message": "no", "answers": 77},
            {"type": "pong", "number": 12},
        )
        p.quiet("errors and pongs are not answered")
        works(p)

    @case("S4.11 S4.3", level=2)
    def hello_first_asks_for_the_session_again(p: Program) -> None:
        """After `hello-first` a peer sends `hello` with `resume`, `seen` and its own name on the
        same socket."""
        works(p)
        listen(p)
        before = p.routing_id
        p.send(HELLO_FIRST)
        p.resumes()
        if p.routing_id != before:
            raise Failed("hello on the same connection", "a new connection")
        p.greet(p.session, resumed=True)
        works(p)

    @case("S4.11", level=2)
    def hello_first_while_a_hello_is_under_way(p: Program) -> None:
        """A peer ignores `hello-first` while its own `hello` is unanswered."""
        listen(p)
        p.send(HELLO_FIRST, HELLO_FIRST)
        p.resumes()
        p.send(HELLO_FIRST)
        p.greet(p.session, resumed=True)
        works(p)

    @case("S4.11", greet=False, level=2)
    def silence_makes_a_new_connection(p: Program) -> None:
        """After 4 heartbeats of silence, at least 2 s, a peer opens a new connection and sends
        `hello` with `resume`."""
        welcomed(p, heartbeat=0.1)
        listen(p)
        before = p.routing_id
        p.resumes(patience=p.patience + 5)
        if p.routing_id == before:
            raise Failed("hello from a new connection", "hello on the old one")
        p.greet(p.session, resumed=True)
        works(p)

    @case("S4.11", greet=False)
    def a_session_that_is_heard_stays(p: Program) -> None:
        """A peer that receives pings keeps its connection."""
        welcomed(p, heartbeat=0.75)
        listen(p)
        for number in range(14):  # for longer than the 3 s of silence that would be too long
            p.send({"type": "ping", "number": number})
            p.expect("pong", number=number)
            time.sleep(0.25)
        works(p)

    if role != "experiment":

        @case("S15.1")
        def hello_first_is_heard(p: Program) -> None:
            """After `hello-first` a peer sends `hello` again, or ends with a nonzero status."""
            works(p)
            p.send(HELLO_FIRST)
            try:
                p.hello()
            except Failed:
                if not p.process.poll():
                    raise
                return
            p.greet(resumed=False)
            works(p)

        @case("S4.13", greet=False, level=2)
        def a_lost_session_is_begun_again(p: Program) -> None:
            """After `resumed` false a new session begins without anything of the old one; the
            program keeps working."""
            p.greet()
            works(p)
            p.send(HELLO_FIRST)
            p.resumes()
            p.greet(resumed=False)
            works(p)
            p.send(HELLO_FIRST)
            p.resumes()  # of the new session, counting from its beginning

        @case("S13.6")
        def sent_away(p: Program) -> None:
            """After an unsolicited `error` `access` and a `bye`, the program shows the text and
            ends with status 1."""
            works(p)
            text = "the key 'ann' was revoked"
            p.send({"type": "error", "code": "access", "message": text}, {"type": "bye"})
            p.exits(1)
            if text not in p.stderr():
                raise Failed("the broker's text on standard error", repr(p.stderr()))

        @case("S4.8")
        def goodbye_of_the_broker(p: Program) -> None:
            """`bye` is not answered; the program ends."""
            works(p)
            p.send({"type": "bye", "reason": "the broker is shutting down"})
            p.departs(0)

        @case("S4.8")
        def goodbye_of_the_program(p: Program) -> None:
            """A program that is told to stop sends `bye` and ends."""
            listen(p)
            p.process.send_signal(signal.SIGTERM)
            p.expect("bye")
            p.exits(0)

        @case("S4.11", greet=False, level=2)
        def the_broker_is_gone_for_five_seconds(p: Program) -> None:
            """A broker restarted at the same address gets a `hello` with `resume`."""
            p.greet(
                heartbeat=0.75
            )  # three seconds of silence: seen in five, and not on a busy machine
            works(p)
            p.vanish(5)
            p.resumes(patience=p.patience + 5)
            p.greet(p.session, resumed=True)
            works(p)
