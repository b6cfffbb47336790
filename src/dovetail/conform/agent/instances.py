"""Offers and instances."""

from __future__ import annotations

from dovetail.conform import sessions
from dovetail.conform.agent.talk import (
    CASES,
    acts,
    case,
    counters,
    create,
    init,
    start,
    step,
    works,
)
from dovetail.conform.case import Failed
from dovetail.conform.program import ANY, Program, brief, same

sessions.add(CASES, works, lambda p: None)


@case("S7.5", greet=False)
def offers(p: Program) -> None:
    """`hello.offers` names the agents on offer: those of docs/reference/conformer.md."""
    found = p.greeted.get("offers", [])
    wanted = [each for each in found if each.get("name") == "conformer"]
    if len(wanted) != 1:
        raise Failed("an offer named conformer", brief(found))
    offer = wanted[0]
    if offer.get("capacity", 1) != 0 or offer.get("instance", False):
        raise Failed("capacity 0 and no instance", brief(offer))
    if sorted(offer.get("wants", [])) != ["afterstates", "scene", "text"]:
        raise Failed("wants afterstates, scene and text", brief(offer))
    if "refuse" not in offer.get("parameters", {}):
        raise Failed("a parameter refuse", brief(offer))
    if offer["parameters"]["refuse"].get("type") != "boolean":
        raise Failed("JSON Schema of the parameter, type boolean", brief(offer["parameters"]))


@case("S7.3")
def create_and_message(p: Program) -> None:
    """`create` makes an instance, `message` reaches it; each answer has the request's `id`."""
    create(p, 3)
    for body in ("hello", 5, None, {"a": [1]}):
        found = p.reply("message", instance=3, body=body)
        if not same(found, body):
            raise Failed(f"a reply with body {brief(body)}", brief(found))


@case("S7.3")
def create_with_a_wrong_parameter(p: Program) -> None:
    """A request that fails gets an `error` with its `id`, and creates nothing."""
    p.refused("create", instance=1, agent="conformer", parameters={"colour": 1})
    p.refused("create", instance=2, agent="conformer", parameters={"refuse": "yes"})
    p.refused("message", instance=1, body=1)
    works(p)


@case("S7.3")
def create_of_an_unknown_type(p: Program) -> None:
    """A type that the program does not offer cannot be created."""
    p.refused("create", instance=1, agent="chess-player")
    works(p)


@case("S7.3")
def requests_about_unknown_instances(p: Program) -> None:
    """A request about an unknown instance fails; the program keeps working."""
    p.refused("message", instance=9, body=1)
    p.refused("save", instance=9)
    p.refused("load", instance=9, state=b"1 2 3.0")
    works(p)


@case("S5.2", level=2)
def requests_that_come_again(p: Program) -> None:
    """A repeated `create`, `message` or `save` gets the same answer, and is not carried out
    twice."""
    made = {"type": "create", "id": 1001, "instance": 1, "agent": "conformer"}
    ask = {"type": "message", "id": 1002, "instance": 1, "body": "counters"}
    save = {"type": "save", "id": 1003, "instance": 1}
    again = p.send(made)
    p.expect("reply", id=1001)
    p.send(init(), start(1))
    acts(p, 1, 0)
    again += p.send(ask, save)
    before = p.expect("reply", id=1002)["body"]
    p.expect("saved", id=1003, state=ANY)
    p.send(step(1, 1), *again)
    heard = [p.hear("an action and three answers") for _ in range(4)]
    answers = {each["id"]: each for each in heard if "id" in each}
    if set(answers) != {1001, 1002, 1003}:
        raise Failed("answers to 1001, 1002 and 1003", brief(heard))
    if not same(answers[1002]["body"], before):
        raise Failed(f"the old answer {brief(before)} to the repeated message", brief(heard))
    if answers[1003]["state"].split()[0] != b"1":
        raise Failed("the old state to the repeated save", repr(answers[1003]["state"]))
    counters(p, 2, 0, 0.0)


@case("S5.3", level=2)
def answers_are_kept_until_they_are_settled(p: Program) -> None:
    """A peer keeps every answer until a `ping` says that it is settled, however many there are."""
    create(p)
    bodies = list(range(200))
    sent = p.send(*({"type": "message", "id": 2000 + i, "instance": 1, "body": i} for i in bodies))
    for i in bodies:
        p.expect("reply", id=2000 + i, body=i)
    for i in (0, 150):
        p.send(sent[i])
        p.expect("reply", id=2000 + i, body=i)


@case("S5.3", level=2)
def settled_answers_are_forgotten(p: Program) -> None:
    """A frame up to `ping.settled` is not repeated, so the peer drops its answer and keeps the
    others."""
    create(p)
    sent = p.send(*({"type": "message", "id": i, "instance": 1, "body": i} for i in (2001, 2002)))
    p.expect("reply", id=2001)
    p.expect("reply", id=2002)
    p.quiet("nothing was asked", settled=sent[0]["seq"])
    p.send(sent[0])
    p.quiet("what is settled is not answered again")
    p.send(sent[1])
    p.expect("reply", id=2002, body=2002)


@case("S7.5")
def several_instances(p: Program) -> None:
    """Instances do not share memory."""
    create(p, 1)
    create(p, 2)
    p.send(init(1, 0, 1), init(1, 1, 2), start(1, seat=0), start(1, seat=1, turn=1))
    p.expect_all([("action", {"seat": 0, "turn": 0}), ("action", {"seat": 1, "turn": 1})])
    p.send(step(1, 2, 0, reward=0.5))
    acts(p, 1, 2)
    counters(p, 2, 0, 0.5, 1)
    counters(p, 1, 0, 0.0, 2)


@case("S7.5")
def cleanup(p: Program) -> None:
    """`cleanup` releases an instance; the others remain."""
    create(p, 1)
    create(p, 2)
    p.reply("cleanup", instance=1)
    p.refused("message", instance=1, body=1)
    p.reply("message", instance=2, body=1)


@case("S7.3")
def a_message_that_fails(p: Program) -> None:
    """An agent that fails at a request sends an `error` with its `id`, and keeps working."""
    create(p)
    p.refused("message", instance=1, body="crash")
    counters(p, 0, 0, 0.0)
