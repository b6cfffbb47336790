"""Repeated frames, and seats that change hands."""

from __future__ import annotations

from dovetail.conform.agent.talk import (
    acts,
    begun,
    case,
    counters,
    create,
    end,
    init,
    seated,
    start,
    step,
    works,
)
from dovetail.conform.program import ANY, Program


@case("S5.2", level=2)
def a_decision_that_comes_again(p: Program) -> None:
    """A repeated decision gets the same `action`, without deciding or learning twice."""
    seated(p)
    first = p.send(start(1, legal=None, observation="once"))
    acts(p, 1, 0, action="once")
    p.send(*first)
    acts(p, 1, 0, action="once")
    later = p.send(step(1, 3, reward=2.0))
    p.send(*later)
    acts(p, 1, 3)
    acts(p, 1, 3)
    counters(p, 2, 0, 2.0)


@case("S5.2 S5.3", level=2)
def an_older_decision(p: Program) -> None:
    """An earlier decision gets its old answer, or none once a later decision has arrived."""
    older = begun(p)
    older += p.send(step(1, 2, legal=[1]))
    acts(p, 1, 2, action=1)
    p.send(step(1, 4))
    acts(p, 1, 4)
    p.send(*older)
    answers = [("action", {"turn": 0, "action": 2}), ("action", {"turn": 2, "action": 1})]
    counters(p, 3, 0, 0.0, 1, *answers)


@case("S5.2", level=2)
def what_comes_again_after_the_end(p: Program) -> None:
    """Repeated frames do not restart an ended episode; it ends once."""
    sent = begun(p)
    sent += p.send(end(1, reward=1.0))
    p.send(*sent)
    p.send(*sent)
    counters(p, 1, 1, 1.0, 1, ("action", {"episode": 1, "turn": 0, "action": 2}))


@case("S6.8", level=2)
def a_decision_for_a_seat_that_it_does_not_hold(p: Program) -> None:
    """A decision for an unknown seat or episode gets an `error` `unknown` that `answers` it."""
    seated(p)
    for stray in (step(42, 3), start(43, match=9), start(44, seat=1)):
        p.send(stray)
        p.expect("error", code="unknown", answers=p.seq, message=ANY)
    works(p)


@case("S5.2", level=2)
def an_init_that_comes_again(p: Program) -> None:
    """A repeated `init` is ignored, even after the seat has passed to another instance."""
    create(p, 1)
    create(p, 2)
    again = p.send(init())
    p.send(*again, start(1))
    acts(p, 1, 0)
    again += p.send(end(1), init(instance=2))
    p.send(*again, start(2))
    acts(p, 2, 0)
    p.send(end(2))
    counters(p, 1, 1, 0.0, 1)
    counters(p, 1, 1, 0.0, 2)


@case("S7.6")
def a_seat_that_changes_hands(p: Program) -> None:
    """An `init` for an occupied seat passes the seat to the new instance."""
    create(p, 1)
    create(p, 2)
    p.send(init(), start(1))
    acts(p, 1, 0)
    p.send(end(1), init(instance=2), start(2))
    acts(p, 2, 0)
    p.send(end(2))
    counters(p, 1, 1, 0.0, 1)
    counters(p, 1, 1, 0.0, 2)


@case("S7.6")
def leave(p: Program) -> None:
    """After `leave` the match's seats are free; a `leave` for an unknown match is ignored."""
    seated(p, 0, 1)
    p.send(
        {"type": "leave", "match": 1}, {"type": "leave", "match": 1}, {"type": "leave", "match": 9}
    )
    p.send(init(2, 0), start(5, 2))
    acts(p, 5, 0)
    counters(p, 1, 0, 0.0)
