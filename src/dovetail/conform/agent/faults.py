"""Games that it cannot play, failures, saved states."""

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


@case("S6.8")
def a_game_that_it_cannot_play(p: Program) -> None:
    """An agent that cannot play answers `init` with an `error` `unavailable` that `answers` it."""
    create(p, parameters={"refuse": True})
    p.send(init(4, 1))
    p.expect("error", code="unavailable", answers=p.seq, id=None, message=ANY)
    works(p)


@case("S6.8 S12.1")
def an_agent_that_crashes(p: Program) -> None:
    """An agent that fails at a decision sends an `error` `crashed` that `answers` it."""
    begun(p)
    p.send(step(1, 1, observation="crash", reward=1.0))
    p.expect("error", code="crashed", answers=p.seq, id=None, message=ANY)
    p.send(end(1, reason="crashed", blame=0), start(2))
    acts(p, 2, 0)
    counters(p, 2, 1, 0.0)


@case("S5.2", level=2)
def a_crash_that_comes_again(p: Program) -> None:
    """A repeated decision that failed gets the same `error`."""
    seated(p)
    sent = p.send(start(1, observation="crash"))
    for _ in range(2):
        p.expect("error", code="crashed", answers=sent[0]["seq"], message=ANY)
        p.send(*sent)
    p.expect("error", code="crashed", answers=sent[0]["seq"])
    counters(p, 0, 0, 0.0)


@case("S6.8")
def a_crash_among_others(p: Program) -> None:
    """Decisions in the same message as a failing one are answered."""
    seated(p)
    _, failing, _ = p.send(start(1), start(2, observation="crash"), start(3))
    p.expect_all(
        [
            ("action", {"episode": 1}),
            ("error", {"code": "crashed", "answers": failing["seq"]}),
            ("action", {"episode": 3}),
        ]
    )


@case("S7.7")
def save_and_load(p: Program) -> None:
    """`save` and `load` transfer an instance's state as bytes; `create` may start from one."""
    seated(p)
    p.send(start(1, reward=0.5), end(1))
    acts(p, 1, 0)
    number = p.request("save", instance=1)
    state = p.expect("saved", id=number, state=b"1 1 0.5")["state"]
    create(p, 2, state=state)
    counters(p, 1, 1, 0.5, 2)
    p.send(start(2), end(2))
    acts(p, 2, 0)
    p.reply("load", instance=1, state=state)
    counters(p, 1, 1, 0.5)
    p.refused("load", instance=1, state=b"\xff\x00 no state")
    p.refused("create", instance=3, agent="conformer", state=b"no")
    counters(p, 1, 1, 0.5)
