"""Groups: decisions of many episodes as columns."""

from __future__ import annotations

from typing import Any

from dovetail.conform.agent.talk import case, counters, create, init, works
from dovetail.conform.case import Failed
from dovetail.conform.columns import bits, f8, groups, i4, i8, u8
from dovetail.conform.program import ANY, Program, brief, same

FIRST: dict[str, Any] = {"starts": i4(0, 1), "episodes": i8(7, 8), "seeds": u8(5, 6)}


def seated(p: Program) -> None:
    """Create instance 1 and seat it in a group of two slots."""
    create(p)
    p.send({**init(), "slots": 2})


def steps(batch: int, *slots: int, **more: Any) -> dict[str, Any]:
    """Return decisions of seat 0 in some slots, with three legal actions by default."""
    about = {"type": "steps", "match": 1, "instance": 1, "batch": batch, "slots": i4(*slots)}
    named = {"seats": i4(*[0] * len(slots)), "turns": i4(*[2 * batch] * len(slots))}
    masks = bits(*[7] * len(slots))
    return {**about, **named, "observations": [0] * len(slots), "legal": masks, **more}


@case("S16.1 S16.3 S16.7 S16.10")
def a_group(p: Program) -> None:
    """Decisions of a batch are answered together, row by row; `ends` is not answered."""
    if not groups(p):
        return
    seated(p)
    p.send(steps(0, 0, 1, rewards=f8([0.25, 0]), **FIRST))
    same_rows: dict[str, Any] = {"slots": i4(0, 1), "seats": i4(0, 0)}
    p.expect("actions", match=1, instance=1, batch=0, **same_rows, actions=i8(2, 2))
    p.send(steps(1, 1, rewards=f8([1.5]), legal=bits(2)))
    p.expect("actions", batch=1, slots=i4(1), seats=i4(0), actions=i8(1))
    ends = {"type": "ends", "match": 1, "instance": 1, "slots": i4(0, 1), "seats": i4(0, 0)}
    sums = {"rewards": f8([2, 0]), "totals": f8([2.25, 1.5]), "decisions": i4(1, 2)}
    p.send({**ends, "episodes": i8(7, 8), **sums, "reasons": ["terminated", "truncated"]})
    p.quiet("ends is not answered")
    counters(p, 3, 2, 3.75)


@case("S16.7")
def a_decision_of_a_group_that_fails(p: Program) -> None:
    """A decision at which the agent fails is listed in `faults`; the others are answered."""
    if not groups(p):
        return
    seated(p)
    p.send(steps(0, 0, 1, observations=["crash", 0], **FIRST))
    found = p.expect("actions", batch=0, slots=i4(0, 1), faults=ANY)
    if [each.get("slot") for each in found["faults"]] != [0]:
        raise Failed("one of `faults`, of slot 0", brief(found))
    if not same(found["actions"][1:], i8(2)):
        raise Failed("action 2 in the other row", brief(found))


@case("S16.7")
def resigning_in_a_group(p: Program) -> None:
    """A row that resigns is listed in `resigns`; the others are answered. `measures` has a map for
    each row."""
    if not groups(p):
        return
    seated(p)
    p.send(steps(0, 0, 1, observations=[0, "resign"], **FIRST))
    wanted: dict[str, Any] = {"resigns": [1], "measures": [{}, {"regret": 0.5}]}
    found = p.expect("actions", batch=0, slots=i4(0, 1), actions=ANY, **wanted)
    if not same(found["actions"][:1], i8(2)):
        raise Failed("action 2 in the other row", brief(found))
    counters(p, 2, 0, 0.0)


@case("S16.4 S6.8")
def a_batch_without_an_agent(p: Program) -> None:
    """A batch for an instance without a seat in the group gets an `error` that `answers` it."""
    if not groups(p):
        return
    seated(p)
    p.send({**steps(0, 0, **{**FIRST, "starts": i4(0)}), "match": 7})
    p.expect("error", answers=p.seq, code="unknown", message=ANY)
    works(p)


@case("S5.2", level=2)
def a_batch_that_comes_again(p: Program) -> None:
    """Repeated decisions get the same `actions`, and nothing is decided twice."""
    if not groups(p):
        return
    seated(p)
    again = p.send(steps(0, 0, 1, **FIRST))
    p.expect("actions", batch=0, actions=i8(2, 2))
    p.send(*again)
    p.expect("actions", batch=0, actions=i8(2, 2))
    counters(p, 2, 0, 0.0)
