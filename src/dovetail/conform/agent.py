"""The cases for agent programs."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from dovetail.conform import sessions, values
from dovetail.conform.case import Failed
from dovetail.conform.program import ANY, Fields, Program, brief, holds, require, same
from dovetail.conform.values import bits, f8, i4, i8, u8
from dovetail.protocol import codec, tensors
from dovetail.protocol.messages import Reason

SPEC: Fields = {
    "type": "spec",
    "match": 1,
    "name": "trial",
    "seats": 2,
    "observation_spaces": [{"space": "Discrete", "n": 100}],
    "action_spaces": [{"space": "Discrete", "n": 3}],
}


def create(p: Program, instance: int = 1, **fields: Any) -> None:
    """Create an instance."""
    p.reply("create", instance=instance, agent="conformer", **fields)


def init(match: int = 1, seat: int = 0, instance: int = 1, **spec: Any) -> Fields:
    """Return an ``init``."""
    about = {**SPEC, "match": match, **spec}
    taken = {"type": "init", "match": match, "seat": seat, "instance": instance, "spec": about}
    return {**taken, "agent": "conformer"}


def start(episode: int, match: int = 1, seat: int = 0, turn: int = 0, **more: Any) -> Fields:
    """Return the first decision of an episode, with three legal actions by default."""
    first = {"type": "start", "episode": episode, "match": match, "seat": seat, "turn": turn}
    return {**first, "seed": 5, "observation": 0, "legal": [0, 1, 2], **more}


def step(episode: int, turn: int, seat: int = 0, **more: Any) -> Fields:
    """Return a later decision."""
    later = {"type": "step", "episode": episode, "seat": seat, "turn": turn}
    return {**later, "observation": 0, "legal": [0, 1, 2], **more}


def end(episode: int, seat: int = 0, match: int = 1, **more: Any) -> Fields:
    """Return an ``end``."""
    return {"type": "end", "episode": episode, "seat": seat, "match": match, **more}


def acts(p: Program, episode: int, turn: int, action: Any = 2) -> None:
    """Check that the next message is this action."""
    p.expect("action", episode=episode, turn=turn, seat=0, action=action)


def decides(p: Program, decision: Fields, action: Any = 2) -> list[Fields]:
    """Send a decision, which must be answered with this action; return it as sent."""
    sent = p.send(decision)
    acts(p, decision["episode"], decision["turn"], action)
    return sent


def message(number: int, body: Any) -> Fields:
    """Return a ``message`` to instance 1."""
    return {"type": "message", "id": number, "instance": 1, "body": body}


def counters(
    p: Program,
    decisions: int,
    ends: int,
    reward: float,
    instance: int = 1,
    *allowed: tuple[str, Fields],
) -> None:
    """Check an instance's counters; only what is allowed may come before."""
    found = p.only("message", {"instance": instance, "body": "counters"}, *allowed)
    wanted = {"decisions": decisions, "ends": ends, "reward": reward}
    require(same(found, wanted), f"counters {brief(wanted)}", found)


def seated(p: Program, *seats: int, **fields: Any) -> None:
    """Create instance 1 and seat it in match 1."""
    create(p, **fields)
    p.send(*(init(seat=seat) for seat in seats or (0,)))


def begun(p: Program, **more: Any) -> list[Fields]:
    """Seat instance 1 and let it act in episode 1; return the decision as sent."""
    seated(p)
    sent = decides(p, start(1, **more))
    return sent


FIRST: Fields = {"starts": i4(0, 1), "episodes": i8(7, 8), "seeds": u8(5, 6)}


def grouped(p: Program) -> None:
    """Create instance 1 and seat it in a group of two slots."""
    create(p)
    p.send({**init(), "slots": 2})


def steps(batch: int, *slots: int, **more: Any) -> Fields:
    """Return decisions of seat 0 in some slots, with three legal actions by default."""
    about = {"type": "steps", "match": 1, "instance": 1, "batch": batch, "slots": i4(*slots)}
    named = {"seats": i4(*[0] * len(slots)), "turns": i4(*[2 * batch] * len(slots))}
    masks = bits(*[7] * len(slots))
    return {**about, **named, "observations": [0] * len(slots), "legal": masks, **more}


LINES = [[[0]], [[1], [2]], []]

PREVIEWS = [
    {"to_act": [1], "rewards": [0.5, 0.0], "applied": 1},
    {"rewards": [1.0, -1.0], "applied": 2, "terminated": True, "outcome": [1.0, 0.0]},
    {"to_act": [0], "rewards": [0.0, 0.0], "seats": [{"seat": 0, "observation": 3}]},
]

REWARDS = [each["rewards"] for each in PREVIEWS]


def looking(p: Program, episode: int = 1) -> tuple[Fields, Fields]:
    """Send a decision that makes the program ask; return the decision and the question."""
    [decision] = p.send(start(episode, legal=None, observation={"look": LINES}))
    asked: Fields = {"episode": episode, "seat": 0, "turn": 0, "lines": LINES}
    return decision, p.expect("lookahead", id=ANY, **asked)


class AgentCases(sessions.HostCases):
    """The cases for agent programs."""

    def works(self, p: Program) -> None:
        """Check that the program makes an agent which plays an episode."""
        instance = 1000 + len(p.said)  # what was not used yet
        create(p, instance)
        p.send(init(instance, 0, instance), start(instance, instance))
        acts(p, instance, 0)
        p.send(end(instance, match=instance), {"type": "leave", "match": instance})
        counters(p, 1, 1, 0.0, instance)

    # -- connections -------------------------------------------------------------------------------

    def a_pending_decision_after_resumption(self, p: Program) -> None:
        """S5.2 S5.5, level 2: After `resumed` true a repeated decision gets its answer again, and
        is not decided twice."""
        sent = begun(p)
        sessions.renewed(p, resumed=True)
        p.send(*sent)
        acts(p, 1, 0)
        decides(p, step(1, 1))
        counters(p, 2, 0, 0.0)

    def a_decision_that_was_lost(self, p: Program) -> None:
        """S5.4 S5.5, level 2: `hello.seen` does not count a lost frame: the program accepts it when
        it is repeated."""
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

    def numbers_may_skip(self, p: Program) -> None:
        """S5.1: `seq` rises, perhaps with gaps."""
        seated(p)
        p.seq += 1000
        decides(p, start(1))
        p.expect("pong", number=p.ping(), seen=p.seq)
        p.seq += 2**33
        p.send(end(1))
        counters(p, 1, 1, 0.0)
        p.expect("pong", number=p.ping(), seen=p.seq)

    def a_welcome_that_comes_again(self, p: Program) -> None:
        """S4.6, level 2: A second, equal `welcome`, in answer to a repeated `hello`, changes
        nothing."""
        begun(p)
        p.send(p.welcome, step(1, 1))
        acts(p, 1, 1)
        counters(p, 2, 0, 0.0)

    def everything_is_gone_after_a_lost_session(self, p: Program) -> None:
        """S4.13, level 2: After `resumed` false all episodes, instances and seats are gone; old
        numbers mean nothing."""
        seated(p)
        p.send(start(1), message(5000, "old"))
        acts(p, 1, 0)
        p.expect("reply", id=5000, body="old")
        sessions.renewed(p, resumed=False)
        for stray in (step(1, 1), start(2)):
            p.rejects(stray, code="unknown")
        p.refused("message", instance=1, body="counters")
        seated(p)
        p.send(start(1), message(5000, "new"))
        acts(p, 1, 0)
        p.expect("reply", id=5000, body="new")
        counters(p, 1, 0, 0.0)

    def a_decision_through_a_long_silence(self, p: Program) -> None:
        """S5.2 S4.11, before the welcome, level 2: After silence and a new connection, the repeated
        decision gets the same action."""
        p.greet(heartbeat=0.1)
        sent = begun(p, reward=0.5)
        p.resumes(patience=p.patience + 5)
        p.greet(p.session, resumed=True, heartbeat=30.0)
        p.send(*sent, step(1, 1))
        acts(p, 1, 0)
        acts(p, 1, 1)
        counters(p, 2, 0, 0.5)

    # -- episodes ----------------------------------------------------------------------------------

    def an_episode(self, p: Program) -> None:
        """S6.4: Each decision is answered by an `action` that names episode, turn and seat; `end`
        is not answered."""
        seated(p)
        decides(p, start(7, reward=0.25))
        decides(p, step(7, 2, reward=1.5))
        decides(p, step(7, 5, reward=-1, legal=[1]), 1)
        p.send(end(7, reward=2, outcome=[1.0, 0.0], total=2.75, decisions=3))
        p.quiet("end is not answered")
        counters(p, 3, 1, 2.75)

    def defaults_may_be_sent_or_left_out(self, p: Program) -> None:
        """S3.7: A field with a default may be omitted; sending the default means the same."""
        create(p, parameters={}, seed=0, state=None)
        p.send({**init(), "lookahead": False, "agent": ""})
        least = {"type": "start", "episode": 1, "match": 1, "seat": 0, "turn": 0, "seed": 0}
        p.send(least)
        acts(p, 1, 0, action=None)
        unseen: Fields = dict.fromkeys(
            ("observation", "legal", "afterstates", "text", "scene", "clock")
        )
        p.send(step(1, 1, reward=0.0, **unseen))
        acts(p, 1, 1, action=None)
        p.send({"type": "end", "episode": 1, "seat": 0})
        counters(p, 2, 1, 0.0)

    def unknown_fields_in_a_decision(self, p: Program) -> None:
        """S3.7: Unknown fields are ignored, even inside nested maps."""
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

    def thoughts_change_nothing(self, p: Program) -> None:
        """S7.16: `think` does not change the action; thoughts, if the library supports them, are
        sent only with it."""
        seated(p)
        p.send(start(1, think=True))
        found = p.expect("action", episode=1, turn=0, seat=0, action=2).get("thoughts")
        wanted = {"values": [0.0, 1.0, 2.0], "text": "turn 0"}
        if found is not None:
            holds(found, **wanted)
        answer = p.answer_to(step(1, 1), "action", episode=1, turn=1, seat=0, action=2)
        require(answer.get("thoughts") is None, "no thoughts without `think`", answer)

    def resigning(self, p: Program) -> None:
        """S6.4: An agent may resign its episode, and report its measurements since its last
        answer."""
        begun(p)
        p.send(step(1, 1, observation="resign", reward=0.5))
        resigned = {"resign": True, "measures": {"regret": 0.5}}
        holds(p.hear("the action that resigns"), type="action", episode=1, turn=1, **resigned)
        p.send(end(1, reason="terminated", blame=0))
        counters(p, 2, 1, 0.5)

    def legal_actions_as_list_mask_or_nil(self, p: Program) -> None:
        """S8.3: Legal actions are action numbers or a bit mask: bit n mod 8, from the lowest, of
        byte n div 8."""
        seated(p)
        wrong = []
        for number, (what, legal, highest) in enumerate(values.LEGAL):
            p.send(start(number + 1, legal=legal))
            found = p.expect("action", episode=number + 1).get("action")
            if not same(found, highest):
                wrong.append(f"{what}: {found}, not {highest}")
        if wrong:
            raise Failed("the highest legal action", "; ".join(wrong))
        decides(p, start(99, legal=None, observation=17), 17)

    def values_of_every_kind(self, p: Program) -> None:
        """S8.2 S3.9: Observations and actions may be any value, and survive decoding and
        encoding."""
        seated(p)
        wrong = []
        for number, (what, value) in enumerate(values.values()):
            p.send(start(number + 1, legal=None, observation=value), end(number + 1))
            answer = p.hear(f"the observation, {what}, as action")
            if answer["type"] != "action" or not same(answer.get("action"), value):
                wrong.append(f"{what}: {brief(answer)[:120]}")
        if wrong:
            raise Failed("the same values back", "; ".join(wrong[:5]))

    def values_in_any_encoding(self, p: Program) -> None:
        """S3.6: Any well-formed MessagePack encoding of a value is accepted."""
        seated(p)
        for number, (what, data, value) in enumerate(values.encodings()):
            head = codec.encode({**start(number + 1), "legal": None})
            head = head.replace(b"\xabobservation\x00", b"\xabobservation" + data)
            answer = p.answer_to(head, "action", episode=number + 1)
            require(same(answer.get("action"), value), f"{brief(value)} for {what}", answer)

    def the_largest_observation(self, p: Program) -> None:
        """S11.1: A frame may contain 16 MiB, and 100,000 values."""
        seated(p)
        for number, value in enumerate((b"\x07" * ((1 << 24) - 512), [1] * 99_900)):
            p.send(start(number + 1, legal=None, observation=value))
            answer = p.expect("action", episode=number + 1)
            if not same(answer.get("action"), value):
                raise Failed("the same value back", "another")

    def spaces_of_every_kind(self, p: Program) -> None:
        """S8.1: Spaces are decoded and encoded without loss."""
        create(p)
        kinds = "observation_spaces", "action_spaces"
        about: Fields = dict.fromkeys(kinds, values.SENT_SPACES)
        p.send(init(seats=len(values.SENT_SPACES), **about))
        found = p.reply("message", instance=1, body="spec")
        for kind in about:
            for wanted, got in zip(values.SENT_SPACES, (found or {}).get(kind, []), strict=False):
                require(values.covers(wanted, got), f"the space {brief(wanted)}", got)
            if len((found or {}).get(kind, [])) != len(values.SENT_SPACES):
                raise Failed(f"{len(values.SENT_SPACES)} spaces", brief(found))

    def clock_text_mode_and_seed(self, p: Program) -> None:
        """S6.11 S3.9: A decision has the clock, the requested extras, and the mode; seeds go up to
        2^63-1."""
        seated(p)
        seed = 2**63 - 1
        clock = {"decision": 2.5, "left": 60.0, "last": 0.125}
        decides(p, start(1, seed=seed, clock=clock, text="turn 0", mode="evaluate"))
        wanted = {"clock": clock, "text": "turn 0", "mode": "evaluate", "seed": seed}
        holds(p.reply("message", instance=1, body="last"), **wanted)
        decides(p, step(1, 1, clock={"left": -0.5}))
        wanted = {"clock": {"decision": None, "left": -0.5, "last": None}, "seed": seed}
        holds(p.reply("message", instance=1, body="last"), **wanted)

    def afterstates_and_scenes(self, p: Program) -> None:
        """S8.4: A decision has the requested afterstates and scene: any values, unchanged."""
        seated(p)
        scene = {"width": 2.0, "cells": [{"x": 0.5, "y": 1.0}], "caption": "turn 0", "mood": 1}
        for turn, afterstates in enumerate((values.AFTER, [[1, 2], [3, 4], [5, 6]], [])):
            wanted: Fields = {"afterstates": afterstates, "scene": scene}
            p.send(start(1, **wanted) if turn == 0 else step(1, turn, **wanted))
            acts(p, 1, turn)
            holds(p.reply("message", instance=1, body="last"), **wanted)

    def evaluate_changes_nothing(self, p: Program) -> None:
        """S6.10: An agent must not change in an episode whose `start` says `evaluate`."""
        seated(p)
        p.send(start(1), end(1))
        acts(p, 1, 0)
        p.send(start(2, mode="evaluate", reward=1), step(2, 1, reward=1))
        p.send(end(2, reward=1, mode="evaluate"))
        p.expect_all([("action", {"turn": 0}), ("action", {"turn": 1})])
        p.send(end(3, mode="evaluate"))
        counters(p, 1, 1, 0.0)
        decides(p, start(4, mode="learn"))
        counters(p, 2, 1, 0.0)

    def several_frames_in_a_message(self, p: Program) -> None:
        """S3.3 S3.4: Bundling frames does not change their meaning."""
        seated(p)
        p.send(*(start(episode) for episode in range(1, 33)))
        p.expect_all([("action", {"episode": episode, "action": 2}) for episode in range(1, 33)])
        frames = []
        for episode in range(1, 33):
            frames += [step(episode, 1, reward=1), {"type": "ping", "number": episode}]
        p.send(*frames, *(end(episode) for episode in range(1, 33)))
        p.expect_all([("action", {"episode": episode, "turn": 1}) for episode in range(1, 33)])
        counters(p, 64, 32, 32.0)

    def several_seats_and_simultaneous_turns(self, p: Program) -> None:
        """S6.4: An agent may hold several seats; in a simultaneous turn it gets one decision for
        each."""
        seated(p, 0, 1, 2)
        p.send(*(start(1, seat=seat, legal=list(range(seat + 1))) for seat in range(3)))
        p.expect_all([("action", {"seat": seat, "turn": 0, "action": seat}) for seat in range(3)])
        p.send(step(1, 1, 2), step(1, 1, 0))
        p.expect_all([("action", {"seat": seat, "turn": 1}) for seat in (0, 2)])
        p.send(*(end(1, seat=seat, reward=seat) for seat in range(3)))
        counters(p, 5, 3, 3.0)

    def an_end_without_a_decision(self, p: Program) -> None:
        """S6.7: A seat that never moved gets an `end` without a `start`; `match` identifies it."""
        seated(p)
        p.send(end(1, reward=-1.0, reason="cancelled"))
        counters(p, 0, 1, -1.0)

    def an_end_instead_of_a_turn(self, p: Program) -> None:
        """S6.7: A seat always gets one `end`, even while it owes an answer; the next episode is
        unaffected."""
        seated(p)
        p.send(start(1), end(1, reason="cancelled"), start(2))
        heard = [p.hear("actions")]
        if heard[0]["episode"] == 1:
            heard.append(p.hear("the action of episode 2"))
        p.check(heard[-1], "action", {"episode": 2, "turn": 0, "action": 2})
        p.send(end(2, reason="illegal-action", blame=0))
        found = p.reply("message", instance=1, body="counters")
        require(found["ends"] == 2, "two ends heard", found)

    def every_reason(self, p: Program) -> None:
        """S6.14: Every `reason` reaches the agent."""
        seated(p)
        reasons = get_args(Reason)
        for number, reason in enumerate(reasons):
            decides(p, start(number + 1))
            p.send(end(number + 1, reason=reason, outcome=None, blame=1))
        counters(p, len(reasons), len(reasons), 0.0)

    # -- failures and saved states -----------------------------------------------------------------

    def a_game_that_it_cannot_play(self, p: Program) -> None:
        """S6.8: An agent that cannot play answers `init` with an `error` `unavailable` that
        `answers` it."""
        create(p, parameters={"refuse": True})
        p.rejects(init(4, 1), code="unavailable", id=None, message=ANY)
        self.works(p)

    def an_agent_that_crashes(self, p: Program) -> None:
        """S6.8 S12.1: An agent that fails at a decision sends an `error` `crashed` that `answers`
        it."""
        begun(p)
        p.rejects(step(1, 1, observation="crash", reward=1.0), code="crashed", id=None, message=ANY)
        p.send(end(1, reason="crashed", blame=0), start(2))
        acts(p, 2, 0)
        counters(p, 2, 1, 0.0)

    def a_crash_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated decision that failed gets the same `error`."""
        seated(p)
        sent = p.send(start(1, observation="crash"))
        for _ in range(2):
            p.expect("error", code="crashed", answers=sent[0]["seq"], message=ANY)
            p.send(*sent)
        p.expect("error", code="crashed", answers=sent[0]["seq"])
        counters(p, 0, 0, 0.0)

    def a_crash_among_others(self, p: Program) -> None:
        """S6.8: Decisions in the same message as a failing one are answered."""
        seated(p)
        _, failing, _ = p.send(start(1), start(2, observation="crash"), start(3))
        crashed = {"code": "crashed", "answers": failing["seq"]}
        p.expect_all([("action", {"episode": 1}), ("error", crashed), ("action", {"episode": 3})])

    def an_end_that_shows_what_cannot_be_read(self, p: Program) -> None:
        """S6.7, level 2: An `end` counts, also if its `observation` or `scene` cannot be read."""
        begun(p)
        broken = msgspec.msgpack.Ext(tensors.EXTENSION, codec.encode(("int16", [2, 2], b"")))
        p.send(end(1, observation=broken), start(2), end(2, scene={"a": broken}))
        acts(p, 2, 0)
        p.quiet("end is not answered")
        counters(p, 2, 2, 0.0)

    def save_and_load(self, p: Program) -> None:
        """S7.7: `save` and `load` transfer an instance's state as bytes; `create` may start from
        one."""
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

    # -- groups ------------------------------------------------------------------------------------

    def a_group(self, p: Program) -> None:
        """S16.1 S16.3 S16.7 S16.10, groups: Decisions of a batch are answered together, row by row;
        `ends` is not answered."""
        grouped(p)
        p.send(steps(0, 0, 1, rewards=f8([0.25, 0]), **FIRST))
        same_rows: Fields = {"slots": i4(0, 1), "seats": i4(0, 0)}
        p.expect("actions", match=1, instance=1, batch=0, **same_rows, actions=i8(2, 2))
        p.send(steps(1, 1, rewards=f8([1.5]), legal=bits(2)))
        p.expect("actions", batch=1, slots=i4(1), seats=i4(0), actions=i8(1))
        ends = {"type": "ends", "match": 1, "instance": 1, "slots": i4(0, 1), "seats": i4(0, 0)}
        sums = {"rewards": f8([2, 0]), "totals": f8([2.25, 1.5]), "decisions": i4(1, 2)}
        p.send({**ends, "episodes": i8(7, 8), **sums, "reasons": ["terminated", "truncated"]})
        p.quiet("ends is not answered")
        counters(p, 3, 2, 3.75)

    def a_decision_of_a_group_that_fails(self, p: Program) -> None:
        """S16.7, groups: A decision at which the agent fails is listed in `faults`; the others are
        answered."""
        grouped(p)
        p.send(steps(0, 0, 1, observations=["crash", 0], **FIRST))
        found = p.expect("actions", batch=0, slots=i4(0, 1), faults=ANY)
        if [each.get("slot") for each in found["faults"]] != [0]:
            raise Failed("one of `faults`, of slot 0", brief(found))
        require(same(found["actions"][1:], i8(2)), "action 2 in the other row", found)

    def resigning_in_a_group(self, p: Program) -> None:
        """S16.7, groups: A row that resigns is listed in `resigns`; the others are answered.
        `measures` has a map for each row."""
        grouped(p)
        p.send(steps(0, 0, 1, observations=[0, "resign"], **FIRST))
        wanted: Fields = {"resigns": [1], "measures": [{}, {"regret": 0.5}]}
        found = p.expect("actions", batch=0, slots=i4(0, 1), actions=ANY, **wanted)
        require(same(found["actions"][:1], i8(2)), "action 2 in the other row", found)
        counters(p, 2, 0, 0.0)

    def a_batch_without_an_agent(self, p: Program) -> None:
        """S16.4 S6.8, groups: A batch for an instance without a seat in the group gets an `error`
        that `answers` it."""
        grouped(p)
        p.send({**steps(0, 0, **{**FIRST, "starts": i4(0)}), "match": 7})
        p.expect("error", answers=p.seq, code="unknown", message=ANY)
        self.works(p)

    def a_batch_that_comes_again(self, p: Program) -> None:
        """S5.2, groups, level 2: Repeated decisions get the same `actions`, and nothing is decided
        twice."""
        grouped(p)
        again = p.send(steps(0, 0, 1, **FIRST))
        p.expect("actions", batch=0, actions=i8(2, 2))
        p.send(*again)
        p.expect("actions", batch=0, actions=i8(2, 2))
        counters(p, 2, 0, 0.0)

    # -- offers and instances ----------------------------------------------------------------------

    def offers(self, p: Program) -> None:
        """S7.5, before the welcome: `hello.offers` names the agents on offer: those of
        docs/reference/conformer.md."""
        found = p.greeted.get("offers", [])
        wanted = [each for each in found if each.get("name") == "conformer"]
        require(len(wanted) == 1, "an offer named conformer", found)
        offer = wanted[0]
        if offer.get("capacity", 1) != 0 or offer.get("instance", False):
            raise Failed("capacity 0 and no instance", brief(offer))
        if sorted(offer.get("wants", [])) != ["afterstates", "scene", "text"]:
            raise Failed("wants afterstates, scene and text", brief(offer))
        require("refuse" in offer.get("parameters", {}), "a parameter refuse", offer)
        if offer["parameters"]["refuse"].get("type") != "boolean":
            raise Failed("JSON Schema of the parameter, type boolean", brief(offer["parameters"]))

    def create_and_message(self, p: Program) -> None:
        """S7.3: `create` makes an instance, `message` reaches it; each answer has the request's
        `id`."""
        create(p, 3)
        for body in ("hello", 5, None, {"a": [1]}):
            p.expect("reply", id=p.request("message", instance=3, body=body), body=body)

    def create_with_a_wrong_parameter(self, p: Program) -> None:
        """S7.3: A request that fails gets an `error` with its `id`, and creates nothing."""
        p.refused("create", instance=1, agent="conformer", parameters={"colour": 1})
        p.refused("create", instance=2, agent="conformer", parameters={"refuse": "yes"})
        p.refused("message", instance=1, body=1)
        self.works(p)

    def create_of_an_unknown_type(self, p: Program) -> None:
        """S7.3: A type that the program does not offer cannot be created."""
        p.refused("create", instance=1, agent="chess-player")
        self.works(p)

    def requests_about_unknown_instances(self, p: Program) -> None:
        """S7.3: A request about an unknown instance fails; the program keeps working."""
        p.refused("message", instance=9, body=1)
        p.refused("save", instance=9)
        p.refused("load", instance=9, state=b"1 2 3.0")
        self.works(p)

    def requests_that_come_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated `create`, `message` or `save` gets the same answer, and is not
        carried out twice."""
        made = {"type": "create", "id": 1001, "instance": 1, "agent": "conformer"}
        ask = message(1002, "counters")
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
        require(set(answers) == {1001, 1002, 1003}, "answers to 1001, 1002 and 1003", heard)
        if not same(answers[1002]["body"], before):
            raise Failed(f"the old answer {brief(before)} to the repeated message", brief(heard))
        if answers[1003]["state"].split()[0] != b"1":
            raise Failed("the old state to the repeated save", repr(answers[1003]["state"]))
        counters(p, 2, 0, 0.0)

    def answers_are_kept_until_they_are_settled(self, p: Program) -> None:
        """S5.3, level 2: A peer keeps every answer until a `ping` says that it is settled, however
        many there are."""
        create(p)
        bodies = list(range(200))
        sent = p.send(*(message(2000 + i, i) for i in bodies))
        for i in bodies:
            p.expect("reply", id=2000 + i, body=i)
        for i in (0, 150):
            p.answer_to(sent[i], "reply", id=2000 + i, body=i)

    def settled_answers_are_forgotten(self, p: Program) -> None:
        """S5.3, level 2: A frame up to `ping.settled` is not repeated, so the peer drops its answer
        and keeps the others."""
        create(p)
        sent = p.send(message(2001, 2001), message(2002, 2002))
        p.expect("reply", id=2001)
        p.expect("reply", id=2002)
        p.quiet("nothing was asked", settled=sent[0]["seq"])
        p.send(sent[0])
        p.quiet("what is settled is not answered again")
        p.answer_to(sent[1], "reply", id=2002, body=2002)

    def several_instances(self, p: Program) -> None:
        """S7.5: Instances do not share memory."""
        create(p, 1)
        create(p, 2)
        p.send(init(1, 0, 1), init(1, 1, 2), start(1, seat=0), start(1, seat=1, turn=1))
        p.expect_all([("action", {"seat": 0, "turn": 0}), ("action", {"seat": 1, "turn": 1})])
        decides(p, step(1, 2, 0, reward=0.5))
        counters(p, 2, 0, 0.5, 1)
        counters(p, 1, 0, 0.0, 2)

    def cleanup(self, p: Program) -> None:
        """S7.5: `cleanup` releases an instance; the others remain."""
        create(p, 1)
        create(p, 2)
        p.reply("cleanup", instance=1)
        p.refused("message", instance=1, body=1)
        p.reply("message", instance=2, body=1)

    def a_message_that_fails(self, p: Program) -> None:
        """S7.3: An agent that fails at a request sends an `error` with its `id`, and keeps
        working."""
        create(p)
        p.refused("message", instance=1, body="crash")
        counters(p, 0, 0, 0.0)

    # -- lookahead ---------------------------------------------------------------------------------

    def lookahead(self, p: Program) -> None:
        """S6.15: An agent may send `lookahead` within a decision; the `reply` with its `id` has a
        preview for each line."""
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
        require(ids[0] < ids[1], "ids that rise", ids)
        counters(p, 2, 2, 0.0)

    def a_lookahead_that_is_refused(self, p: Program) -> None:
        """S6.17: A `lookahead` may get an `error` with its `id`; the agent must still answer the
        decision."""
        create(p)
        p.send({**init(), "lookahead": True})
        _, question = looking(p)
        no = {"type": "error", "code": "unavailable", "message": "no", "id": question["id"]}
        p.send(no)
        acts(p, 1, 0, action="refused")
        counters(p, 1, 0, 0.0)

    def an_end_during_a_lookahead(self, p: Program) -> None:
        """S6.17: An episode may end while its seat waits for a `reply`; a later reply is
        ignored."""
        create(p)
        p.send({**init(), "lookahead": True})
        _, question = looking(p)
        p.send(end(1, reason="timeout", blame=0))
        p.send({"type": "reply", "id": question["id"], "body": PREVIEWS})
        p.quiet("the episode is over")
        self.works(p)

    def a_lookahead_through_a_broken_connection(self, p: Program) -> None:
        """S5.6, level 2: After `resumed` true an agent repeats its unanswered `lookahead`, with the
        same `id`; the repeated decision waits for it."""
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

    # -- repeats -----------------------------------------------------------------------------------

    def a_decision_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated decision gets the same `action`, without deciding or learning
        twice."""
        seated(p)
        first = decides(p, start(1, legal=None, observation="once"), "once")
        p.send(*first)
        acts(p, 1, 0, action="once")
        later = p.send(step(1, 3, reward=2.0))
        p.send(*later)
        acts(p, 1, 3)
        acts(p, 1, 3)
        counters(p, 2, 0, 2.0)

    def an_older_decision(self, p: Program) -> None:
        """S5.2 S5.3, level 2: An earlier decision gets its old answer, or none once a later
        decision has arrived."""
        older = begun(p)
        older += decides(p, step(1, 2, legal=[1]), 1)
        decides(p, step(1, 4))
        p.send(*older)
        answers = [("action", {"turn": 0, "action": 2}), ("action", {"turn": 2, "action": 1})]
        counters(p, 3, 0, 0.0, 1, *answers)

    def what_comes_again_after_the_end(self, p: Program) -> None:
        """S5.2, level 2: Repeated frames do not restart an ended episode; it ends once."""
        sent = begun(p)
        sent += p.send(end(1, reward=1.0))
        p.send(*sent)
        p.send(*sent)
        counters(p, 1, 1, 1.0, 1, ("action", {"episode": 1, "turn": 0, "action": 2}))

    def a_decision_for_a_seat_that_it_does_not_hold(self, p: Program) -> None:
        """S6.8, level 2: A decision for an unknown seat or episode gets an `error` `unknown` that
        `answers` it."""
        seated(p)
        for stray in (step(42, 3), start(43, match=9), start(44, seat=1)):
            p.rejects(stray, code="unknown", message=ANY)
        self.works(p)

    def an_init_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated `init` is ignored, even after the seat has passed to another
        instance."""
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

    def a_seat_that_changes_hands(self, p: Program) -> None:
        """S7.6: An `init` for an occupied seat passes the seat to the new instance."""
        create(p, 1)
        create(p, 2)
        p.send(init(), start(1))
        acts(p, 1, 0)
        p.send(end(1), init(instance=2), start(2))
        acts(p, 2, 0)
        p.send(end(2))
        counters(p, 1, 1, 0.0, 1)
        counters(p, 1, 1, 0.0, 2)

    def leave(self, p: Program) -> None:
        """S7.6: After `leave` the match's seats are free; a `leave` for an unknown match is
        ignored."""
        seated(p, 0, 1)
        p.send(*({"type": "leave", "match": match} for match in (1, 1, 9)))
        p.send(init(2, 0), start(5, 2))
        acts(p, 5, 0)
        counters(p, 1, 0, 0.0)
