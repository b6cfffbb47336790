"""What an agent program must do."""

from __future__ import annotations

from typing import Any

from dovetail.conform import sessions, values
from dovetail.conform.case import Cases, Failed
from dovetail.conform.program import ANY, Program, brief, same
from dovetail.protocol import codec, examples

CASES = Cases("agent")
case = CASES.case

SPEC: dict[str, Any] = {
    "type": "spec",
    "match": 1,
    "name": "trial",
    "seats": 2,
    "observation_spaces": [{"space": "Discrete", "n": 100}],
    "action_spaces": [{"space": "Discrete", "n": 3}],
}


def create(p: Program, instance: int = 1, **fields: Any) -> None:
    """Have an instance made."""
    p.reply("create", instance=instance, agent="conformer", **fields)


def init(match: int = 1, seat: int = 0, instance: int = 1, **spec: Any) -> dict[str, Any]:
    """Return an ``init``."""
    about = {**SPEC, "match": match, **spec}
    taken = {"type": "init", "match": match, "seat": seat, "instance": instance, "spec": about}
    return {**taken, "agent": "conformer"}


def start(
    episode: int, match: int = 1, seat: int = 0, turn: int = 0, **more: Any
) -> dict[str, Any]:
    """Return the first decision of an episode, with three legal actions unless told otherwise."""
    first = {"type": "start", "episode": episode, "match": match, "seat": seat, "turn": turn}
    return {**first, "seed": 5, "observation": 0, "legal": [0, 1, 2], **more}


def step(episode: int, turn: int, seat: int = 0, **more: Any) -> dict[str, Any]:
    """Return a later decision."""
    later = {"type": "step", "episode": episode, "seat": seat, "turn": turn}
    return {**later, "observation": 0, "legal": [0, 1, 2], **more}


def end(episode: int, seat: int = 0, match: int = 1, **more: Any) -> dict[str, Any]:
    """Return an ``end``."""
    return {"type": "end", "episode": episode, "seat": seat, "match": match, **more}


def acts(p: Program, episode: int, turn: int, seat: int = 0, action: Any = 2) -> None:
    """Hold that the next message is this action."""
    p.expect("action", episode=episode, turn=turn, seat=seat, action=action)


def counters(
    p: Program,
    decisions: int,
    ends: int,
    reward: float,
    instance: int = 1,
    *allowed: tuple[str, dict[str, Any]],
) -> None:
    """Hold what an instance has counted; nothing but what is allowed may come before."""
    found = p.only("message", {"instance": instance, "body": "counters"}, *allowed)
    wanted = {"decisions": decisions, "ends": ends, "reward": reward}
    if not same(found, wanted):
        raise Failed(f"counters {brief(wanted)}", brief(found))


def seated(p: Program, *seats: int, **fields: Any) -> None:
    """Have instance 1 made and take seats of match 1."""
    create(p, **fields)
    p.send(*(init(seat=seat) for seat in seats or (0,)))


def works(p: Program) -> None:
    """Hold that the program makes an agent which plays an episode."""
    instance = 1000 + len(p.said)  # what was not used yet
    create(p, instance)
    p.send(init(instance, 0, instance), start(instance, instance))
    acts(p, instance, 0)
    p.send(end(instance, match=instance), {"type": "leave", "match": instance})
    counters(p, 1, 1, 0.0, instance)


sessions.add(CASES, works, lambda p: None)


@case("4", greet=False)
def offers(p: Program) -> None:
    """`hello.offers` says what the program can make: the conformer, as docs/conformance.md has it."""
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


# -- instances -----------------------------------------------------------------------------------------


@case("6")
def create_and_message(p: Program) -> None:
    """`create` makes an instance, `message` reaches it; each answer has the request's `id`."""
    create(p, 3)
    for body in ("hello", 5, None, {"a": [1]}):
        found = p.reply("message", instance=3, body=body)
        if not same(found, body):
            raise Failed(f"a reply with body {brief(body)}", brief(found))


@case("10")
def create_with_a_wrong_parameter(p: Program) -> None:
    """A request that failed is answered with an `error` with its `id`, and makes nothing."""
    p.refused("create", instance=1, agent="conformer", parameters={"colour": 1})
    p.refused("create", instance=2, agent="conformer", parameters={"refuse": "yes"})
    p.refused("message", instance=1, body=1)
    works(p)


@case("10")
def create_of_an_unknown_type(p: Program) -> None:
    """A type that the program does not offer cannot be made."""
    p.refused("create", instance=1, agent="chess-player")
    works(p)


@case("10")
def requests_about_unknown_instances(p: Program) -> None:
    """A request about an instance that there is not fails; the program goes on."""
    p.refused("message", instance=9, body=1)
    p.refused("save", instance=9)
    p.refused("load", instance=9, state=b"1 2 3.0")
    works(p)


@case("4", level=2)
def requests_that_come_again(p: Program) -> None:
    """`create`, `message`, `save` sent again: the same answer, and not done again."""
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


@case("4", level=2)
def answers_are_kept_until_they_are_settled(p: Program) -> None:
    """A peer keeps each answer until a `ping` says that it is settled, however many there are."""
    create(p)
    bodies = list(range(200))
    sent = p.send(*({"type": "message", "id": 2000 + i, "instance": 1, "body": i} for i in bodies))
    for i in bodies:
        p.expect("reply", id=2000 + i, body=i)
    for i in (0, 150):
        p.send(sent[i])
        p.expect("reply", id=2000 + i, body=i)


@case("4", level=2)
def settled_answers_are_forgotten(p: Program) -> None:
    """A frame up to `ping.settled` is not sent again, so its answer is kept no longer; others are."""
    create(p)
    sent = p.send(*({"type": "message", "id": i, "instance": 1, "body": i} for i in (2001, 2002)))
    p.expect("reply", id=2001)
    p.expect("reply", id=2002)
    p.quiet("nothing was asked", settled=sent[0]["seq"])
    p.send(sent[0])
    p.quiet("what is settled is not answered again")
    p.send(sent[1])
    p.expect("reply", id=2002, body=2002)


@case("10")
def several_instances(p: Program) -> None:
    """Instances have memories of their own."""
    create(p, 1)
    create(p, 2)
    p.send(init(1, 0, 1), init(1, 1, 2), start(1, seat=0), start(1, seat=1, turn=1))
    p.expect_all([("action", {"seat": 0, "turn": 0}), ("action", {"seat": 1, "turn": 1})])
    p.send(step(1, 2, 0, reward=0.5))
    acts(p, 1, 2)
    counters(p, 2, 0, 0.5, 1)
    counters(p, 1, 0, 0.0, 2)


@case("10")
def cleanup(p: Program) -> None:
    """`cleanup` lets an instance go; another may get on."""
    create(p, 1)
    create(p, 2)
    p.reply("cleanup", instance=1)
    p.refused("message", instance=1, body=1)
    p.reply("message", instance=2, body=1)


@case("12")
def a_message_that_fails(p: Program) -> None:
    """An agent that fails in a request: `error` with the `id`; it lives on."""
    create(p)
    p.refused("message", instance=1, body="crash")
    counters(p, 0, 0, 0.0)


# -- episodes ------------------------------------------------------------------------------------------


@case("9")
def an_episode(p: Program) -> None:
    """Each decision is answered by an `action` that names episode, turn and seat; `end` is not answered."""
    seated(p)
    p.send(start(7, reward=0.25))
    acts(p, 7, 0)
    p.send(step(7, 2, reward=1.5))
    acts(p, 7, 2)
    p.send(step(7, 5, reward=-1, legal=[1]))
    acts(p, 7, 5, action=1)
    p.send(end(7, reward=2, outcome=[1.0, 0.0], total=2.75, decisions=3))
    p.quiet("end is not answered")
    counters(p, 3, 1, 2.75)


@case("9")
def defaults_may_be_sent_or_left_out(p: Program) -> None:
    """A field with a default may be left out; sending its default means the same."""
    create(p, parameters={}, seed=0, state=None)
    p.send({**init(), "lookahead": False, "agent": ""})
    least = {"type": "start", "episode": 1, "match": 1, "seat": 0, "turn": 0, "seed": 0}
    p.send(least)
    acts(p, 1, 0, action=None)
    full = {"observation": None, "legal": None, "afterstates": None, "text": None, "scene": None}
    p.send(
        {"type": "step", "episode": 1, "seat": 0, "turn": 1, "reward": 0.0, "clock": None, **full}
    )
    acts(p, 1, 1, action=None)
    p.send({"type": "end", "episode": 1, "seat": 0})
    counters(p, 2, 1, 0.0)


@case("3")
def unknown_fields_in_a_decision(p: Program) -> None:
    """Unknown fields are ignored, also inside of nested maps."""
    create(p, mood="good")
    about = init()
    about["spec"] = {**about["spec"], "colour": "red", "discount": 0.5}
    p.send(
        {**about, "mood": 1},
        {**start(1), "mood": {"deep": [1]}, "clock": {"decision": 1.5, "x": 2}},
    )
    acts(p, 1, 0)
    p.send({**end(1), "mood": None})
    counters(p, 1, 1, 0.0)


@case("9")
def legal_actions_as_list_mask_or_nil(p: Program) -> None:
    """Legal actions travel as action numbers or as a bit mask, bit n mod 8 (from the lowest) of byte n div 8."""
    seated(p)
    wrong = []
    for number, (what, legal, highest) in enumerate(values.LEGAL):
        p.send(start(number + 1, legal=legal))
        found = p.expect("action", episode=number + 1).get("action")
        if not same(found, highest):
            wrong.append(f"{what}: {found}, not {highest}")
    if wrong:
        raise Failed("the highest legal action", "; ".join(wrong))
    p.send(start(99, legal=None, observation=17))
    acts(p, 99, 0, action=17)


@case("8")
def values_of_every_kind(p: Program) -> None:
    """Observations and actions may be any value: what is decoded and encoded again is the same."""
    seated(p)
    wrong = []
    for number, (what, value) in enumerate(values.values()):
        p.send(start(number + 1, legal=None, observation=value), end(number + 1))
        answer = p.hear(f"the observation, {what}, as action")
        if answer["type"] != "action" or not same(answer.get("action"), value):
            wrong.append(f"{what}: {brief(answer)[:120]}")
    if wrong:
        raise Failed("the same values back", "; ".join(wrong[:5]))


@case("3")
def values_in_any_encoding(p: Program) -> None:
    """Any well-formed MessagePack encoding of a value will do."""
    seated(p)
    for number, (what, data, value) in enumerate(values.encodings()):
        head = codec.encode({**start(number + 1), "legal": None})
        head = head.replace(b"\xabobservation\x00", b"\xabobservation" + data)
        p.send(head)
        answer = p.expect("action", episode=number + 1)
        if not same(answer.get("action"), value):
            raise Failed(f"{brief(value)} for {what}", brief(answer))


@case("11")
def the_largest_observation(p: Program) -> None:
    """A frame may have 16 MiB, and 100,000 values."""
    seated(p)
    for number, value in enumerate((b"\x07" * ((1 << 24) - 512), [1] * 99_900)):
        p.send(start(number + 1, legal=None, observation=value))
        answer = p.expect("action", episode=number + 1)
        if not same(answer.get("action"), value):
            raise Failed("the same value back", "another")


@case("8")
def spaces_of_every_kind(p: Program) -> None:
    """Spaces are decoded and encoded without loss."""
    create(p)
    about: dict[str, Any] = {"observation_spaces": values.SPACES, "action_spaces": values.SPACES}
    p.send(init(seats=len(values.SPACES), **about))
    found = p.reply("message", instance=1, body="spec")
    for kind in about:
        for wanted, got in zip(values.SPACES, (found or {}).get(kind, []), strict=False):
            if not covers(wanted, got):
                raise Failed(f"the space {brief(wanted)}", brief(got))
        if len((found or {}).get(kind, [])) != len(values.SPACES):
            raise Failed(f"{len(values.SPACES)} spaces", brief(found))


def covers(wanted: Any, got: Any) -> bool:
    """Whether a space came back; fields with default values may be there or not."""
    if not isinstance(wanted, dict) or not isinstance(got, dict):
        return same(wanted, got)
    if "element" in wanted:
        rest = {key: each for key, each in wanted.items() if key != "element"}
        return covers(wanted["element"], got.get("element")) and covers(rest, got)
    if "spaces" in wanted:
        inner = wanted["spaces"]
        other = got.get("spaces")
        if isinstance(inner, dict):
            return isinstance(other, dict) and all(
                covers(inner[key], other.get(key)) for key in inner
            )
        return isinstance(other, list) and all(map(covers, inner, other))
    return all(same(got.get(key, wanted[key]), wanted[key]) for key in wanted) and (
        got.get("space") == wanted["space"]
    )


@case("9")
def clock_text_mode_and_seed(p: Program) -> None:
    """A decision has the clock, what is wanted, and the mode; seeds go up to 2^63-1."""
    seated(p)
    seed = 2**63 - 1
    clock = {"decision": 2.5, "left": 60.0, "last": 0.125}
    p.send(start(1, seed=seed, clock=clock, text="turn 0", mode="evaluate"))
    acts(p, 1, 0)
    found = p.reply("message", instance=1, body="last")
    wanted = {"clock": clock, "text": "turn 0", "mode": "evaluate", "seed": seed}
    if not isinstance(found, dict) or not same({key: found.get(key) for key in wanted}, wanted):
        raise Failed(brief(wanted), brief(found))
    p.send(step(1, 1, clock={"left": -0.5}))
    acts(p, 1, 1)
    found = p.reply("message", instance=1, body="last")
    wanted = {"decision": None, "left": -0.5, "last": None}
    if not same(found.get("clock"), wanted) or found.get("seed") != seed:
        raise Failed(f"clock {brief(wanted)}, seed {seed}", brief(found))


@case("9")
def afterstates_and_scenes(p: Program) -> None:
    """A decision has the afterstates and the scene that are wanted: any values, as they were sent."""
    seated(p)
    scene = {"width": 2.0, "cells": [{"x": 0.5, "y": 1.0}], "caption": "turn 0", "mood": 1}
    for turn, afterstates in enumerate((examples.AFTER, [[1, 2], [3, 4], [5, 6]], [])):
        wanted: dict[str, Any] = {"afterstates": afterstates, "scene": scene}
        p.send(start(1, **wanted) if turn == 0 else step(1, turn, **wanted))
        acts(p, 1, turn)
        found = p.reply("message", instance=1, body="last")
        got = {key: (found or {}).get(key) for key in wanted}
        if not same(got, wanted):
            raise Failed(brief(wanted), brief(got))


@case("10")
def evaluate_changes_nothing(p: Program) -> None:
    """An agent that is told `evaluate` in `start` must be the same after the episode as before."""
    seated(p)
    p.send(start(1), end(1))
    acts(p, 1, 0)
    p.send(
        start(2, mode="evaluate", reward=1), step(2, 1, reward=1), end(2, reward=1, mode="evaluate")
    )
    p.expect_all([("action", {"turn": 0}), ("action", {"turn": 1})])
    p.send(end(3, mode="evaluate"))
    counters(p, 1, 1, 0.0)
    p.send(start(4, mode="learn"))
    acts(p, 4, 0)
    counters(p, 2, 1, 0.0)


@case("3")
def several_frames_in_a_message(p: Program) -> None:
    """How frames are bundled never changes their meaning."""
    seated(p)
    p.send(*(start(episode) for episode in range(1, 33)))
    p.expect_all([("action", {"episode": episode, "action": 2}) for episode in range(1, 33)])
    frames = []
    for episode in range(1, 33):
        frames += [step(episode, 1, reward=1), {"type": "ping", "number": episode}]
    p.send(*frames, *(end(episode) for episode in range(1, 33)))
    p.expect_all([("action", {"episode": episode, "turn": 1}) for episode in range(1, 33)])
    counters(p, 64, 32, 32.0)


@case("14")
def several_seats_and_simultaneous_turns(p: Program) -> None:
    """An agent may hold several seats; in a simultaneous turn it gets one decision for each."""
    seated(p, 0, 1, 2)
    p.send(*(start(1, seat=seat, legal=list(range(seat + 1))) for seat in range(3)))
    p.expect_all([("action", {"seat": seat, "turn": 0, "action": seat}) for seat in range(3)])
    p.send(step(1, 1, 2), step(1, 1, 0))
    p.expect_all([("action", {"seat": seat, "turn": 1}) for seat in (0, 2)])
    p.send(*(end(1, seat=seat, reward=seat) for seat in range(3)))
    counters(p, 5, 3, 3.0)


@case("9")
def an_end_without_a_decision(p: Program) -> None:
    """A seat that never moved gets `end` without a `start`; `match` says which."""
    seated(p)
    p.send(end(1, reward=-1.0, reason="cancelled"))
    counters(p, 0, 1, -1.0)


@case("9")
def an_end_instead_of_a_turn(p: Program) -> None:
    """Whatever happened, a seat hears one `end`, also while it owes an answer; the next episode goes on."""
    seated(p)
    p.send(start(1), end(1, reason="cancelled"), start(2))
    heard = [p.hear("actions")]
    if heard[0]["episode"] == 1:
        heard.append(p.hear("the action of episode 2"))
    p.check(heard[-1], "action", {"episode": 2, "turn": 0, "action": 2})
    p.send(end(2, reason="illegal-action", blame=0))
    found = p.reply("message", instance=1, body="counters")
    if found["ends"] != 2:
        raise Failed("two ends heard", brief(found))


@case("4")
def every_reason(p: Program) -> None:
    """Endings are told apart; all of them reach the agent."""
    seated(p)
    reasons = ["terminated", "truncated", "illegal-action", "timeout", "stalled", "disconnected"]
    reasons += ["crashed", "cancelled", "environment-failed"]
    for number, reason in enumerate(reasons):
        p.send(start(number + 1))
        acts(p, number + 1, 0)
        p.send(end(number + 1, reason=reason, outcome=None, blame=1))
    counters(p, len(reasons), len(reasons), 0.0)


# -- repeats -------------------------------------------------------------------------------------------


@case("4", level=2)
def a_decision_that_comes_again(p: Program) -> None:
    """A repeated decision: the same `action` again, without deciding or learning anew."""
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


@case("4", level=2)
def an_older_decision(p: Program) -> None:
    """A decision that came before gets its old answer, or nothing once a later one has come."""
    seated(p)
    older = p.send(start(1))
    acts(p, 1, 0)
    older += p.send(step(1, 2, legal=[1]))
    acts(p, 1, 2, action=1)
    p.send(step(1, 4))
    acts(p, 1, 4)
    p.send(*older)
    answers = [("action", {"turn": 0, "action": 2}), ("action", {"turn": 2, "action": 1})]
    counters(p, 3, 0, 0.0, 1, *answers)


@case("4", level=2)
def what_comes_again_after_the_end(p: Program) -> None:
    """An ended episode is not begun again by what is sent again, and ends once."""
    seated(p)
    sent = p.send(start(1))
    acts(p, 1, 0)
    sent += p.send(end(1, reward=1.0))
    p.send(*sent)
    p.send(*sent)
    counters(p, 1, 1, 1.0, 1, ("action", {"episode": 1, "turn": 0, "action": 2}))


@case("4", level=2)
def a_decision_for_a_seat_that_it_does_not_hold(p: Program) -> None:
    """A decision for a seat or an episode that the program does not have: `error` `unknown` that `answers` it."""
    seated(p)
    for stray in (step(42, 3), start(43, match=9), start(44, seat=1)):
        p.send(stray)
        p.expect("error", code="unknown", answers=p.seq, message=ANY)
    works(p)


@case("4", level=2)
def an_init_that_comes_again(p: Program) -> None:
    """`init` sent again is ignored, also after the seat went to another instance."""
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


@case("10")
def a_seat_that_changes_hands(p: Program) -> None:
    """`init` for a seat that is taken, with another instance: the seat changes hands."""
    create(p, 1)
    create(p, 2)
    p.send(init(), start(1))
    acts(p, 1, 0)
    p.send(end(1), init(instance=2), start(2))
    acts(p, 2, 0)
    p.send(end(2))
    counters(p, 1, 1, 0.0, 1)
    counters(p, 1, 1, 0.0, 2)


@case("10")
def leave(p: Program) -> None:
    """After `leave` the match's seats are free; one for a match that it does not know is ignored."""
    seated(p, 0, 1)
    p.send(
        {"type": "leave", "match": 1}, {"type": "leave", "match": 1}, {"type": "leave", "match": 9}
    )
    p.send(init(2, 0), start(5, 2))
    acts(p, 5, 0)
    counters(p, 1, 0, 0.0)


# -- faults --------------------------------------------------------------------------------------------


@case("14")
def a_game_that_it_cannot_play(p: Program) -> None:
    """An agent that cannot play answers `init` with `error`, code `unavailable`, that `answers` it."""
    create(p, parameters={"refuse": True})
    p.send(init(4, 1))
    p.expect("error", code="unavailable", answers=p.seq, id=None, message=ANY)
    works(p)


@case("12")
def an_agent_that_crashes(p: Program) -> None:
    """An agent that failed in a decision: `error` `crashed` that `answers` it."""
    seated(p)
    p.send(start(1))
    acts(p, 1, 0)
    p.send(step(1, 1, observation="crash", reward=1.0))
    p.expect("error", code="crashed", answers=p.seq, id=None, message=ANY)
    p.send(end(1, reason="crashed", blame=0), start(2))
    acts(p, 2, 0)
    counters(p, 2, 1, 0.0)


@case("4", level=2)
def a_crash_that_comes_again(p: Program) -> None:
    """A decision that failed, sent again: the same `error` again."""
    seated(p)
    sent = p.send(start(1, observation="crash"))
    for _ in range(2):
        p.expect("error", code="crashed", answers=sent[0]["seq"], message=ANY)
        p.send(*sent)
    p.expect("error", code="crashed", answers=sent[0]["seq"])
    counters(p, 0, 0, 0.0)


@case("12")
def a_crash_among_others(p: Program) -> None:
    """Decisions that came together with one that fails are answered."""
    seated(p)
    _, failing, _ = p.send(start(1), start(2, observation="crash"), start(3))
    p.expect_all(
        [
            ("action", {"episode": 1}),
            ("error", {"code": "crashed", "answers": failing["seq"]}),
            ("action", {"episode": 3}),
        ]
    )


@case("4")
def save_and_load(p: Program) -> None:
    """`save` and `load` move an instance's state as bytes, `create` may begin from one."""
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


# -- lookahead -----------------------------------------------------------------------------------------

LINES = [[[0]], [[1], [2]], []]
PREVIEWS = [
    {"to_act": [1], "rewards": [0.5, 0.0], "applied": 1},
    {"rewards": [1.0, -1.0], "applied": 2, "terminated": True, "outcome": [1.0, 0.0]},
    {"to_act": [0], "rewards": [0.0, 0.0], "seats": [{"seat": 0, "observation": 3}]},
]
REWARDS = [each["rewards"] for each in PREVIEWS]


def looking(p: Program, episode: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the program a decision in which it asks; return the decision and the question."""
    [decision] = p.send(start(episode, legal=None, observation={"look": LINES}))
    question = p.expect("lookahead", episode=episode, seat=0, turn=0, id=ANY)
    lines = question.get("lines")
    if not same(lines, LINES):
        raise Failed(f"lines {brief(LINES)}", brief(lines))
    return decision, question


@case("9")
def lookahead(p: Program) -> None:
    """An agent may ask `lookahead` within a decision; the `reply` with that `id` has a preview for each line."""
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


@case("9")
def a_lookahead_that_is_refused(p: Program) -> None:
    """A `lookahead` may get an `error` with its `id`; the decision must be answered all the same."""
    create(p)
    p.send({**init(), "lookahead": True})
    _, question = looking(p)
    no = {"type": "error", "code": "unavailable", "message": "no", "id": question["id"]}
    p.send(no)
    acts(p, 1, 0, action="refused")
    counters(p, 1, 0, 0.0)


@case("9")
def an_end_during_a_lookahead(p: Program) -> None:
    """An episode may end while its seat waits for a `reply`; a reply that comes later is ignored."""
    create(p)
    p.send({**init(), "lookahead": True})
    _, question = looking(p)
    p.send(end(1, reason="timeout", blame=0))
    p.send({"type": "reply", "id": question["id"], "body": PREVIEWS})
    p.quiet("the episode is over")
    works(p)


@case("4", level=2)
def a_lookahead_through_a_broken_connection(p: Program) -> None:
    """After `resumed` true an agent sends its unanswered `lookahead` again, with the same `id`; the decision sent
    again waits for it."""
    create(p)
    p.send({**init(), "lookahead": True})
    decision, question = looking(p)
    p.send(decision)
    p.quiet("the decision is being thought about")
    _renewed(p, resumed=True)
    p.expect("lookahead", id=question["id"], episode=1, seat=0, turn=0, lines=LINES)
    p.send(decision, {"type": "reply", "id": question["id"], "body": PREVIEWS})
    acts(p, 1, 0, action=REWARDS)
    p.send(decision)
    acts(p, 1, 0, action=REWARDS)
    counters(p, 1, 0, 0.0)


# -- connections ---------------------------------------------------------------------------------------


def _renewed(p: Program, *, resumed: bool) -> None:
    p.send(sessions.HELLO_FIRST)
    p.resumes()
    p.greet(p.session if resumed else "", resumed=resumed)


@case("4", level=2)
def a_pending_decision_after_resumption(p: Program) -> None:
    """After `resumed` true what is sent again is answered again, and not decided anew."""
    seated(p)
    sent = p.send(start(1))
    acts(p, 1, 0)
    _renewed(p, resumed=True)
    p.send(*sent)
    acts(p, 1, 0)
    p.send(step(1, 1))
    acts(p, 1, 1)
    counters(p, 2, 0, 0.0)


@case("4", level=2)
def a_decision_that_was_lost(p: Program) -> None:
    """`hello.seen` does not count what never came: a frame that was lost is taken when it is sent again."""
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


@case("4")
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


@case("4", level=2)
def a_welcome_that_comes_again(p: Program) -> None:
    """The same `welcome` again, to a `hello` that was said twice, changes nothing."""
    seated(p)
    p.send(start(1))
    acts(p, 1, 0)
    p.send(p.welcome, step(1, 1))
    acts(p, 1, 1)
    counters(p, 2, 0, 0.0)


@case("4", level=2)
def everything_is_gone_after_a_lost_session(p: Program) -> None:
    """`resumed` false: episodes end, instances and seats go; old numbers mean nothing."""
    seated(p)
    p.send(start(1), {"type": "message", "id": 5000, "instance": 1, "body": "old"})
    acts(p, 1, 0)
    p.expect("reply", id=5000, body="old")
    _renewed(p, resumed=False)
    for stray in (step(1, 1), start(2)):
        p.send(stray)
        p.expect("error", code="unknown", answers=p.seq)
    p.refused("message", instance=1, body="counters")
    seated(p)
    p.send(start(1), {"type": "message", "id": 5000, "instance": 1, "body": "new"})
    acts(p, 1, 0)
    p.expect("reply", id=5000, body="new")
    counters(p, 1, 0, 0.0)


@case("4", greet=False, level=2)
def a_decision_through_a_long_silence(p: Program) -> None:
    """A new connection after silence: the same decision, sent again, gets the same action."""
    p.greet(heartbeat=0.1)
    seated(p)
    sent = p.send(start(1, reward=0.5))
    acts(p, 1, 0)
    p.resumes(patience=p.patience + 5)
    p.greet(p.session, resumed=True, heartbeat=30.0)
    p.send(*sent, step(1, 1))
    acts(p, 1, 0)
    acts(p, 1, 1)
    counters(p, 2, 0, 0.5)
