"""Connections that break, and sessions that are resumed or lost."""

from __future__ import annotations

from dovetail.conform import sessions
from dovetail.conform.agent.talk import acts, begun, case, counters, end, seated, start, step
from dovetail.conform.program import Program


@case("S5.2 S5.5", level=2)
def a_pending_decision_after_resumption(p: Program) -> None:
    """After `resumed` true a repeated decision gets its answer again, and is not decided twice."""
    sent = begun(p)
    sessions.renewed(p, resumed=True)
    p.send(*sent)
    acts(p, 1, 0)
    p.send(step(1, 1))
    acts(p, 1, 1)
    counters(p, 2, 0, 0.0)


@case("S5.4 S5.5", level=2)
def a_decision_that_was_lost(p: Program) -> None:
    """`hello.seen` does not count a lost frame: the program accepts it when it is repeated."""
    seated(p)
    before = p.seq
    p.seq += 1  # of a frame that is lost
    p.send(sessions.HELLO_FIRST)
    p.hello()
    p.check(p.greeted, "hello", {"resume": p.session, "seen": before})
    p.greet(p.session, resumed=True)
    p.send({**start(1), "seq": before + 1})
    acts(p, 1, 0)
    counters(p, 1, 0, 0.0)


@case("S5.1")
def numbers_may_skip(p: Program) -> None:
    """`seq` rises, perhaps with gaps."""
    seated(p)
    p.seq += 1000
    p.send(start(1))
    acts(p, 1, 0)
    p.expect("pong", number=p.ping(), seen=p.seq)
    p.seq += 2**33
    p.send(end(1))
    counters(p, 1, 1, 0.0)
    p.expect("pong", number=p.ping(), seen=p.seq)


@case("S4.6", level=2)
def a_welcome_that_comes_again(p: Program) -> None:
    """A second, equal `welcome`, in answer to a repeated `hello`, changes nothing."""
    begun(p)
    p.send(p.welcome, step(1, 1))
    acts(p, 1, 1)
    counters(p, 2, 0, 0.0)


@case("S4.13", level=2)
def everything_is_gone_after_a_lost_session(p: Program) -> None:
    """After `resumed` false all episodes, instances and seats are gone; old numbers mean
    nothing."""
    seated(p)
    p.send(start(1), {"type": "message", "id": 5000, "instance": 1, "body": "old"})
    acts(p, 1, 0)
    p.expect("reply", id=5000, body="old")
    sessions.renewed(p, resumed=False)
    for stray in (step(1, 1), start(2)):
        p.send(stray)
        p.expect("error", code="unknown", answers=p.seq)
    p.refused("message", instance=1, body="counters")
    seated(p)
    p.send(start(1), {"type": "message", "id": 5000, "instance": 1, "body": "new"})
    acts(p, 1, 0)
    p.expect("reply", id=5000, body="new")
    counters(p, 1, 0, 0.0)


@case("S5.2 S4.11", greet=False, level=2)
def a_decision_through_a_long_silence(p: Program) -> None:
    """After silence and a new connection, the repeated decision gets the same action."""
    p.greet(heartbeat=0.1)
    sent = begun(p, reward=0.5)
    p.resumes(patience=p.patience + 5)
    p.greet(p.session, resumed=True, heartbeat=30.0)
    p.send(*sent, step(1, 1))
    acts(p, 1, 0)
    acts(p, 1, 1)
    counters(p, 2, 0, 0.5)
