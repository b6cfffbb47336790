"""Questions within a decision."""

from __future__ import annotations

from typing import Any

from dovetail.conform import sessions
from dovetail.conform.agent.talk import acts, case, counters, create, end, init, start, works
from dovetail.conform.case import Failed
from dovetail.conform.program import ANY, Program, brief, same

LINES = [[[0]], [[1], [2]], []]
PREVIEWS = [
    {"to_act": [1], "rewards": [0.5, 0.0], "applied": 1},
    {"rewards": [1.0, -1.0], "applied": 2, "terminated": True, "outcome": [1.0, 0.0]},
    {"to_act": [0], "rewards": [0.0, 0.0], "seats": [{"seat": 0, "observation": 3}]},
]
REWARDS = [each["rewards"] for each in PREVIEWS]


def looking(p: Program, episode: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Send a decision that makes the program ask; return the decision and the question."""
    [decision] = p.send(start(episode, legal=None, observation={"look": LINES}))
    question = p.expect("lookahead", episode=episode, seat=0, turn=0, id=ANY)
    lines = question.get("lines")
    if not same(lines, LINES):
        raise Failed(f"lines {brief(LINES)}", brief(lines))
    return decision, question


@case("S6.15")
def lookahead(p: Program) -> None:
    """An agent may send `lookahead` within a decision; the `reply` with its `id` has a preview for
    each line."""
    create(p)
    p.send({**init(), "lookahead": True})
    ids = []
    for episode in (1, 2):
        _, question = looking(p, episode)
        p.quiet("the agent waits for the reply")
        p.send({"type": "reply", "id": question["id"], "body": PREVIEWS})
        acts(p, episode, 0, action=REWARDS)
        p.send(end(episode))
        ids.append(question["id"])
    if not ids[0] < ids[1]:
        raise Failed("ids that rise", brief(ids))
    counters(p, 2, 2, 0.0)


@case("S6.17")
def a_lookahead_that_is_refused(p: Program) -> None:
    """A `lookahead` may get an `error` with its `id`; the agent must still answer the decision."""
    create(p)
    p.send({**init(), "lookahead": True})
    _, question = looking(p)
    no = {"type": "error", "code": "unavailable", "message": "no", "id": question["id"]}
    p.send(no)
    acts(p, 1, 0, action="refused")
    counters(p, 1, 0, 0.0)


@case("S6.17")
def an_end_during_a_lookahead(p: Program) -> None:
    """An episode may end while its seat waits for a `reply`; a later reply is ignored."""
    create(p)
    p.send({**init(), "lookahead": True})
    _, question = looking(p)
    p.send(end(1, reason="timeout", blame=0))
    p.send({"type": "reply", "id": question["id"], "body": PREVIEWS})
    p.quiet("the episode is over")
    works(p)


@case("S5.6", level=2)
def a_lookahead_through_a_broken_connection(p: Program) -> None:
    """After `resumed` true an agent repeats its unanswered `lookahead`, with the same `id`; the
    repeated decision waits for it."""
    create(p)
    p.send({**init(), "lookahead": True})
    decision, question = looking(p)
    p.send(decision)
    p.quiet("the decision is being thought about")
    sessions.renewed(p, resumed=True)
    p.expect("lookahead", id=question["id"], episode=1, seat=0, turn=0, lines=LINES)
    p.send(decision, {"type": "reply", "id": question["id"], "body": PREVIEWS})
    acts(p, 1, 0, action=REWARDS)
    p.send(decision)
    acts(p, 1, 0, action=REWARDS)
    counters(p, 1, 0, 0.0)
