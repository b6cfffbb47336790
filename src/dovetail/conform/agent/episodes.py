"""Episodes: decisions, values, rewards, ends."""

from __future__ import annotations

from typing import Any

from dovetail.conform import values
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
)
from dovetail.conform.case import Failed
from dovetail.conform.program import Program, brief, same
from dovetail.protocol import codec


@case("S6.4")
def an_episode(p: Program) -> None:
    """Each decision is answered by an `action` that names episode, turn and seat; `end` is not
    answered."""
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


@case("S3.7")
def defaults_may_be_sent_or_left_out(p: Program) -> None:
    """A field with a default may be omitted; sending the default means the same."""
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


@case("S3.7")
def unknown_fields_in_a_decision(p: Program) -> None:
    """Unknown fields are ignored, even inside nested maps."""
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


@case("S7.16")
def thoughts_change_nothing(p: Program) -> None:
    """`think` does not change the action; thoughts, if the library supports them, are sent only
    with it."""
    seated(p)
    p.send(start(1, think=True))
    found = p.expect("action", episode=1, turn=0, seat=0, action=2).get("thoughts")
    wanted = {"values": [0.0, 1.0, 2.0], "text": "turn 0"}
    if found is not None and not all(same(found.get(key), wanted[key]) for key in wanted):
        raise Failed(f"thoughts {brief(wanted)}", brief(found))
    p.send(step(1, 1))
    answer = p.expect("action", episode=1, turn=1, seat=0, action=2)
    if answer.get("thoughts") is not None:
        raise Failed("no thoughts without `think`", brief(answer))


@case("S6.4")
def resigning(p: Program) -> None:
    """An agent may resign its episode, and report its measurements since its last answer."""
    begun(p)
    p.send(step(1, 1, observation="resign", reward=0.5))
    found = p.hear("the action that resigns")
    said = {"type": "action", "episode": 1, "turn": 1, "resign": True, "measures": {"regret": 0.5}}
    if not all(same(found.get(key), value) for key, value in said.items()):
        raise Failed(f"{brief(said)}, with any action", brief(found))
    p.send(end(1, reason="terminated", blame=0))
    counters(p, 2, 1, 0.5)


@case("S8.3")
def legal_actions_as_list_mask_or_nil(p: Program) -> None:
    """Legal actions are action numbers or a bit mask: bit n mod 8, from the lowest, of byte n div
    8."""
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


@case("S8.2 S3.9")
def values_of_every_kind(p: Program) -> None:
    """Observations and actions may be any value, and survive decoding and encoding."""
    seated(p)
    wrong = []
    for number, (what, value) in enumerate(values.values()):
        p.send(start(number + 1, legal=None, observation=value), end(number + 1))
        answer = p.hear(f"the observation, {what}, as action")
        if answer["type"] != "action" or not same(answer.get("action"), value):
            wrong.append(f"{what}: {brief(answer)[:120]}")
    if wrong:
        raise Failed("the same values back", "; ".join(wrong[:5]))


@case("S3.6")
def values_in_any_encoding(p: Program) -> None:
    """Any well-formed MessagePack encoding of a value is accepted."""
    seated(p)
    for number, (what, data, value) in enumerate(values.encodings()):
        head = codec.encode({**start(number + 1), "legal": None})
        head = head.replace(b"\xabobservation\x00", b"\xabobservation" + data)
        p.send(head)
        answer = p.expect("action", episode=number + 1)
        if not same(answer.get("action"), value):
            raise Failed(f"{brief(value)} for {what}", brief(answer))


@case("S11.1")
def the_largest_observation(p: Program) -> None:
    """A frame may contain 16 MiB, and 100,000 values."""
    seated(p)
    for number, value in enumerate((b"\x07" * ((1 << 24) - 512), [1] * 99_900)):
        p.send(start(number + 1, legal=None, observation=value))
        answer = p.expect("action", episode=number + 1)
        if not same(answer.get("action"), value):
            raise Failed("the same value back", "another")


@case("S8.1")
def spaces_of_every_kind(p: Program) -> None:
    """Spaces are decoded and encoded without loss."""
    create(p)
    about: dict[str, Any] = {
        "observation_spaces": values.SENT_SPACES,
        "action_spaces": values.SENT_SPACES,
    }
    p.send(init(seats=len(values.SENT_SPACES), **about))
    found = p.reply("message", instance=1, body="spec")
    for kind in about:
        for wanted, got in zip(values.SENT_SPACES, (found or {}).get(kind, []), strict=False):
            if not values.covers(wanted, got):
                raise Failed(f"the space {brief(wanted)}", brief(got))
        if len((found or {}).get(kind, [])) != len(values.SENT_SPACES):
            raise Failed(f"{len(values.SENT_SPACES)} spaces", brief(found))


@case("S6.11 S3.9")
def clock_text_mode_and_seed(p: Program) -> None:
    """A decision has the clock, the requested extras, and the mode; seeds go up to 2^63-1."""
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


@case("S8.4")
def afterstates_and_scenes(p: Program) -> None:
    """A decision has the requested afterstates and scene: any values, unchanged."""
    seated(p)
    scene = {"width": 2.0, "cells": [{"x": 0.5, "y": 1.0}], "caption": "turn 0", "mood": 1}
    for turn, afterstates in enumerate((values.AFTER, [[1, 2], [3, 4], [5, 6]], [])):
        wanted: dict[str, Any] = {"afterstates": afterstates, "scene": scene}
        p.send(start(1, **wanted) if turn == 0 else step(1, turn, **wanted))
        acts(p, 1, turn)
        found = p.reply("message", instance=1, body="last")
        got = {key: (found or {}).get(key) for key in wanted}
        if not same(got, wanted):
            raise Failed(brief(wanted), brief(got))


@case("S6.10")
def evaluate_changes_nothing(p: Program) -> None:
    """An agent must not change in an episode whose `start` says `evaluate`."""
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


@case("S3.3 S3.4")
def several_frames_in_a_message(p: Program) -> None:
    """Bundling frames does not change their meaning."""
    seated(p)
    p.send(*(start(episode) for episode in range(1, 33)))
    p.expect_all([("action", {"episode": episode, "action": 2}) for episode in range(1, 33)])
    frames = []
    for episode in range(1, 33):
        frames += [step(episode, 1, reward=1), {"type": "ping", "number": episode}]
    p.send(*frames, *(end(episode) for episode in range(1, 33)))
    p.expect_all([("action", {"episode": episode, "turn": 1}) for episode in range(1, 33)])
    counters(p, 64, 32, 32.0)


@case("S6.4")
def several_seats_and_simultaneous_turns(p: Program) -> None:
    """An agent may hold several seats; in a simultaneous turn it gets one decision for each."""
    seated(p, 0, 1, 2)
    p.send(*(start(1, seat=seat, legal=list(range(seat + 1))) for seat in range(3)))
    p.expect_all([("action", {"seat": seat, "turn": 0, "action": seat}) for seat in range(3)])
    p.send(step(1, 1, 2), step(1, 1, 0))
    p.expect_all([("action", {"seat": seat, "turn": 1}) for seat in (0, 2)])
    p.send(*(end(1, seat=seat, reward=seat) for seat in range(3)))
    counters(p, 5, 3, 3.0)


@case("S6.7")
def an_end_without_a_decision(p: Program) -> None:
    """A seat that never moved gets an `end` without a `start`; `match` identifies it."""
    seated(p)
    p.send(end(1, reward=-1.0, reason="cancelled"))
    counters(p, 0, 1, -1.0)


@case("S6.7")
def an_end_instead_of_a_turn(p: Program) -> None:
    """A seat always gets one `end`, even while it owes an answer; the next episode is
    unaffected."""
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


@case("S6.14")
def every_reason(p: Program) -> None:
    """Every `reason` reaches the agent."""
    seated(p)
    reasons = ["terminated", "truncated", "illegal-action", "timeout", "stalled", "disconnected"]
    reasons += ["crashed", "cancelled", "environment-failed"]
    for number, reason in enumerate(reasons):
        p.send(start(number + 1))
        acts(p, number + 1, 0)
        p.send(end(number + 1, reason=reason, outcome=None, blame=1))
    counters(p, len(reasons), len(reasons), 0.0)
