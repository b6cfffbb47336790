"""The cases for environment programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.conform import sessions, values
from dovetail.conform.case import Failed
from dovetail.conform.program import ANY, Fields, Program, brief, holds, require, same
from dovetail.conform.values import bits, f8, i4, i8, u8
from dovetail.protocol.legal import unmask


def opening(match: int = 1, **configuration: Any) -> Fields:
    """Return an ``open``."""
    about: Fields = {"type": "open", "match": match, "environment": "conformer"}
    return {**about, "configuration": configuration} if configuration else about


def opened(p: Program, match: int = 1, **configuration: Any) -> Fields:
    """Create an environment; return its ``spec``."""
    p.send(opening(match, **configuration))
    return p.expect("spec", match=match)


def start(episode: int, match: int = 1, seed: int = 5, **more: Any) -> Fields:
    """Return the ``start`` of an episode."""
    return {"type": "start", "match": match, "episode": episode, "seed": seed, **more}


def step(episode: int, turn: int, *actions: list[Any]) -> Fields:
    """Return a ``step``; an action is a pair of seat and action."""
    return {"type": "step", "episode": episode, "turn": turn, "actions": list(actions)}


def turn(p: Program, episode: int, number: int, to_act: list[int], **more: Any) -> Fields:
    """Return the next message, which must be this turn."""
    return p.expect("turn", episode=episode, turn=number, to_act=to_act, **more)


def message(body: Any) -> Fields:
    """Return ``message`` 5000, to match 1."""
    return {"type": "message", "id": 5000, "match": 1, "body": body}


def plays(p: Program, message: Fields, to_act: list[int], **more: Any) -> Fields:
    """Send a ``start`` or ``step``; return the answer, which must be the next turn."""
    p.send(message)
    return turn(p, message["episode"], message.get("turn", -1) + 1, to_act, **more)


def begun(p: Program, **configuration: Any) -> Fields:
    """Create an environment and start its episode 1, in which seat 0 must act first."""
    opened(p, **configuration)
    p.send(start(1))
    return turn(p, 1, 0, [0])


def view(message: Fields, seat: int, **wanted: Any) -> Fields:
    """Return the view of a seat; check its fields."""
    found = [each for each in message.get("seats", []) if each["seat"] == seat]
    require(len(found) == 1, f"one view of seat {seat}", message)
    defaults = {"reward": 0}
    for name, value in wanted.items():
        got = found[0].get(name, defaults.get(name))
        if not same(got, value):
            raise Failed(
                f"seat {seat} with {name} {brief(value)}", f"{brief(got)} in {brief(message)}"
            )
    return dict(found[0])


def episode(p: Program, number: int = 1, match: int = 1) -> None:
    """Play an episode of the default configuration to its end."""
    view(plays(p, start(number, match), [0]), 0, observation=0, legal=[0, 1, 2])
    found = plays(p, step(number, 0, [0, 2]), [1])
    view(found, 1, observation=[[0, 2]], legal=[0, 1, 2])
    view(found, 0, reward=1)
    plays(p, step(number, 1, [1, 0]), [0])
    last = plays(p, step(number, 2, [0, 1]), [], terminated=True, truncated=False, outcome=[1, 0])
    view(last, 0, observation=[[0, 1]], reward=1)
    view(last, 1, observation=[[0, 1]], reward=0)


def public(found: Fields, number: int) -> None:
    """Check the public part of a turn, if the program supports it."""
    if found.get("text") is not None:
        holds(found, text=f"turn {number}")
    if found.get("scene") is not None:
        holds(found["scene"], **{**SCENE, "caption": f"turn {number}"})


SCENE = {"width": 1.0, "height": 1.0, "caption": ""}

_DEEP: list[list[Any]] = [[1], [2], [0], [0]]
LINES = [*(_DEEP[:length] for length in (1, 2, 3, 4)), [], [[-1]], [[0, 0]]]


def ask(p: Program, number: int, **more: Any) -> list[Fields]:
    """Send a ``lookahead`` of seat 0 in an episode; return the message as sent."""
    asked = {"type": "lookahead", "id": number, "episode": 1, "seat": 0, "turn": 0, "lines": LINES}
    return p.send({**asked, **more})


def episode_goes_on(p: Program) -> None:
    """Check that the episode is still at turn 0."""
    view(plays(p, step(1, 0, [0, 2]), [1]), 1, observation=[[0, 2]])


def grouped(p: Program, **configuration: Any) -> None:
    """Create group 1 of two slots."""
    p.answer_to({**opening(**configuration), "slots": 2}, "spec", match=1)


def batch(number: int, **columns: Any) -> Fields:
    """Return the ``steps`` of group 1."""
    return {"type": "steps", "match": 1, "batch": number, **columns}


class EnvironmentCases(sessions.HostCases):
    """The cases for environment programs."""

    def works(self, p: Program) -> None:
        """Check that the program makes an environment which plays an episode."""
        number = 1000 + len(p.said)  # what was not used yet
        opened(p, number)
        episode(p, number, number)
        p.send({"type": "close", "match": number})

    def offers(self, p: Program) -> None:
        """S7.4, before the welcome: `hello.offers` describes the environments on offer, with the
        JSON Schema of each option."""
        found = [each for each in p.greeted.get("offers", []) if each.get("name") == "conformer"]
        require(len(found) == 1, "an offer named conformer", p.greeted.get("offers"))
        names = "seats turns simultaneous mask space observation truncate fail"
        options = set(names.split())
        if not options <= set(found[0].get("parameters", {})):
            raise Failed(f"parameters {', '.join(sorted(options))}", brief(found[0]))

    # -- matches -----------------------------------------------------------------------------------

    def open_and_spec(self, p: Program) -> None:
        """S7.4: `open` is answered with the `spec` of the same match."""
        spec = opened(p, 4)
        p.check(spec, "spec", {"seats": 2, "max_turns": 3, "reward_range": [0, 1]})
        require(spec.get("name", "") in ("", "conformer"), "name conformer, or none", spec)
        for name in ("observation_spaces", "action_spaces"):
            wanted = {"space": "Discrete", "n": 3}
            if not all(values.covers(wanted, each) for each in spec[name] or [None]):
                raise Failed(f"Discrete(3) in {name}", brief(spec))

    def an_open_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated `open` gets the same `spec`, and creates no environment."""
        again = p.send(opening())
        p.expect("spec", match=1)
        plays(p, start(1), [0])
        p.send(*again)
        p.expect("spec", match=1)
        plays(p, step(1, 0, [0, 0]), [1])

    def an_open_with_a_wrong_option(self, p: Program) -> None:
        """S7.4 S12.1: An environment that cannot play a match answers `open` with an `error` that
        `answers` it."""
        wrong: list[Fields] = [{"colour": 1}, {"seats": "two"}, {"seats": 0}]
        for number, options in enumerate([*wrong, {"fail": "open"}], 1):
            p.rejects(opening(number, **options), id=None, code=ANY, message=ANY)
        p.send({"type": "open", "match": 9, "environment": "chess"})
        p.expect("error", answers=p.seq, id=None, code=ANY, message=ANY)
        self.works(p)

    def spaces_of_every_kind(self, p: Program) -> None:
        """S8.1: Spaces are decoded and encoded without loss."""
        for number, space in enumerate(values.SENT_SPACES):
            spec = opened(p, number + 1, space=space)
            for name in ("observation_spaces", "action_spaces"):
                if not values.covers(space, (spec.get(name) or [None])[0]):
                    raise Failed(f"the space {brief(space)}", brief(spec.get(name)))

    def several_matches(self, p: Program) -> None:
        """S3.1: One connection serves many matches at once, each with its own environment."""
        p.send(*(opening(match, turns=match) for match in range(1, 9)))
        p.expect_all([("spec", {"match": match, "max_turns": match}) for match in range(1, 9)])
        p.send(*(start(10 + match, match) for match in range(1, 9)))
        p.expect_all([("turn", {"episode": 10 + match, "to_act": [0]}) for match in range(1, 9)])
        p.send(*(step(10 + match, 0, [0, 1]) for match in range(1, 9)))
        last = {match: {"turn": 1, "terminated": match == 1} for match in range(1, 9)}
        p.expect_all([("turn", {"episode": 10 + match, **last[match]}) for match in last])

    def close(self, p: Program) -> None:
        """S7.4: After `close` the environment is gone; no answer is sent, not even for an unknown
        match."""
        begun(p)
        p.send({"type": "close", "match": 1}, {"type": "close", "match": 7})
        p.quiet("`close` is not answered")
        p.refused("message", match=1, body=1)
        self.works(p)

    def a_step_after_the_close(self, p: Program) -> None:
        """S6.9, level 2: A frame about an unknown episode gets an `error` `unknown` that `answers`
        it."""
        begun(p)
        p.send({"type": "close", "match": 1})
        for stray in (step(1, 0, [0, 0]), step(77, 0, [0, 1]), start(5, 99)):
            p.rejects(stray, code="unknown", message=ANY)
        self.works(p)

    # -- episodes ----------------------------------------------------------------------------------

    def an_episode(self, p: Program) -> None:
        """S6.1: `start` is answered with turn 0, and the `step` of turn t with turn t + 1."""
        opened(p)
        episode(p, 1)
        episode(p, 2)

    def a_simultaneous_turn(self, p: Program) -> None:
        """S6.2: `to_act` may list several seats; each has a view, and the `step` has all their
        actions."""
        opened(p, seats=3, simultaneous=True, turns=2)
        first = plays(p, start(1), [0, 1, 2])
        for seat in range(3):
            view(first, seat, observation=0, legal=[0, 1, 2])
        second = plays(p, step(1, 0, [0, 2], [1, 1], [2, 0]), [0, 1, 2])
        for seat in range(3):
            view(second, seat, observation=[[0, 2], [1, 1], [2, 0]], reward=1)
        p.send(step(1, 1, [0, 0], [1, 0], [2, 0]))
        last = turn(p, 1, 2, [], terminated=True)
        thirds = [abs(each - 1 / 3) < 1e-9 for each in last["outcome"]]
        require(thirds == [True] * 3, "outcome 1/3 for each of three", last)

    def one_seat(self, p: Program) -> None:
        """S6.2: A single-agent task is a game with one seat."""
        begun(p, seats=1, turns=1)
        plays(p, step(1, 0, [0, 1]), [], terminated=True, outcome=[1])

    def truncated(self, p: Program) -> None:
        """S6.14: An episode that is cut short is `truncated`, not `terminated`; here it has no
        outcome."""
        begun(p, turns=1, truncate=True)
        last = plays(p, step(1, 0, [0, 1]), [], terminated=False, truncated=True, outcome=None)
        view(last, 0, observation=[[0, 1]])
        view(last, 1)

    def a_mask(self, p: Program) -> None:
        """S8.3: Legal actions may be a bit mask: action a is bit a mod 8, from the lowest, of byte
        a div 8."""
        legal = view(begun(p, mask=True, space={"space": "Discrete", "n": 11}), 0).get("legal")
        if not isinstance(legal, bytes) or unmask(legal) != list(range(11)):
            raise Failed("a mask of the actions 0 to 10", brief(legal))

    def values_of_every_kind(self, p: Program) -> None:
        """S8.2 S3.9: Configuration, observations and actions may be any value, and come back
        unchanged."""
        wrong = []
        anything = {"space": "Text", "max_length": 5}
        for number, (what, value) in enumerate(values.values()):
            if same(value, -1):
                continue  # which the conformer refuses
            match = number + 1
            p.send(opening(match, seats=1, observation=value, space=anything), start(match, match))
            p.expect("spec", match=match)
            first = p.expect("turn", episode=match).get("seats", [{}])[0].get("observation")
            p.send(step(match, 0, [0, value]), {"type": "close", "match": match})
            second = p.expect("turn", episode=match, turn=1)
            seen = [each.get("observation") for each in second.get("seats", [])]
            if not same(first, value):
                wrong.append(f"{what} in the configuration: {brief(first)[:100]}")
            elif not same(seen, [[[0, value]]]):
                wrong.append(f"{what} as action: {brief(seen)[:100]}")
        if wrong:
            raise Failed("the same values back", "; ".join(wrong[:5]))

    def seeds(self, p: Program) -> None:
        """S3.9: Seeds go up to 2^63-1 and arrive exactly."""
        opened(p, observation="seed")
        for number, seed in enumerate((0, 2**53 + 1, 2**63 - 1)):
            view(plays(p, start(number + 1, seed=seed), [0]), 0, observation=seed)

    def text_for_seats_and_watchers(self, p: Program) -> None:
        """S8.4: `wants` requests text in the views of a seat, `watched` the public text."""
        opened(p)
        found = plays(p, start(1, wants=[["text"], []], watched=False), [0], text=None)
        view(found, 0, text="turn 0")
        found = plays(p, step(1, 0, [0, 0]), [1])
        view(found, 1, text=None)
        found = plays(p, start(2, watched=True), [0], text="turn 0")
        view(found, 0, text=None)
        plays(p, step(2, 0, [0, 0]), [1], text="turn 1")

    def scenes_for_watchers(self, p: Program) -> None:
        """S8.4: `scenes`, in a `start` or a later `step`, requests the turn's public scene."""
        opened(p)
        first = plays(p, start(1), [0], text=None)
        require(first.get("scene") is None, "no scene without `scenes`", first)
        p.send({**step(1, 0, [0, 0]), "watched": True, "scenes": True})
        public(turn(p, 1, 1, [1]), 1)
        p.send(start(2, watched=True, scenes=True))
        public(turn(p, 2, 0, [0], text="turn 0"), 0)

    def afterstates(self, p: Program) -> None:
        """S8.4: `wants` requests afterstates in the views of a seat to act: one row per legal
        action, in order."""
        spec = opened(p)
        p.check(spec, "spec", {"afterstates": True})
        first = plays(p, start(1, wants=[["afterstates"], []]), [0])
        view(first, 0, afterstates=[[1, 0], [1, 1], [1, 2]])
        found = plays(p, step(1, 0, [0, 1]), [1])
        view(found, 1, afterstates=None)
        view(found, 0, afterstates=None)
        view(plays(p, start(2), [0]), 0, afterstates=None)

    def scenes(self, p: Program) -> None:
        """S8.4: `wants` requests the scene in the views of a seat."""
        opened(p)
        p.send(start(1, wants=[["scene"], []]), step(1, 0, [0, 1]))
        for number, seat in ((0, 0), (1, 0)):
            scene = view(turn(p, 1, number, [number]), seat).get("scene")
            holds(scene, **{**SCENE, "caption": f"turn {number}"})
        view(plays(p, step(1, 1, [1, 1]), [0]), 1, scene=None)

    # -- lookahead ---------------------------------------------------------------------------------

    def lookahead(self, p: Program) -> None:
        """S6.15 S6.16: `lookahead` is answered with a `reply` that has a preview for each line; the
        episode is unchanged."""
        begun(p)
        unmoved = {"to_act": [0], "rewards": [0, 0], "applied": 0}
        over = {"rewards": [2, 1], "applied": 3, "terminated": True, "outcome": [1, 0]}
        wanted: list[Fields] = [
            {"to_act": [1], "rewards": [1, 0], "applied": 1},
            {"to_act": [0], "rewards": [1, 1], "applied": 2},
            *(over, {**over, "error": ANY}),
            *(unmoved, {**unmoved, "error": ANY}, {**unmoved, "error": ANY}),
        ]
        empty = {"to_act": [], "terminated": False, "applied": 0, "error": "", "outcome": None}
        ask(p, 4000)
        found = p.expect("reply", id=4000).get("body")
        if not isinstance(found, list) or len(found) != len(LINES):
            raise Failed(f"{len(LINES)} previews", brief(found))
        for line, right, got in zip(LINES, wanted, found, strict=True):
            for name, value in {**empty, **right}.items():
                there = got.get(name, empty.get(name))
                if not (there if value is ANY else same(there, value)):
                    text = "a text" if value is ANY else brief(value)
                    raise Failed(f"{name} {text} for the line {brief(line)}", brief(got))
        view(found[0], 1, observation=[[0, 1]], legal=[0, 1, 2])
        episode_goes_on(p)

    def a_lookahead_at_another_turn(self, p: Program) -> None:
        """S6.16: A `lookahead` that cannot be answered gets an `error` with its `id`, and changes
        nothing."""
        begun(p)
        for number, wrong in enumerate(({"turn": 3}, {"episode": 9}), 4000):
            ask(p, number, **wrong)
            p.expect("error", id=number, code=ANY, message=ANY)
        episode_goes_on(p)

    def a_lookahead_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated `lookahead` gets the same answer."""
        begun(p)
        again = ask(p, 4000)
        first = p.expect("reply", id=4000).get("body")
        plays(p, step(1, 0, [0, 0]), [1])
        p.send(*again)
        p.expect("reply", id=4000, body=first)

    def several_frames_in_a_message(self, p: Program) -> None:
        """S3.3 S3.4: Bundling frames does not change their meaning."""
        actions = step(1, 0, [0, 1]), step(1, 1, [1, 1])
        p.send(opening(), {"type": "ping", "number": 3}, start(1), *actions)
        heard = [p.hear("a pong, a spec and three turns", pongs=True) for _ in range(5)]
        said = [(each["type"], each.get("turn", 0)) for each in heard if each["type"] != "pong"]
        if said != [("spec", 0), ("turn", 0), ("turn", 1), ("turn", 2)]:
            raise Failed("spec, turns 0, 1 and 2", brief(said))

    def unknown_fields_in_a_step(self, p: Program) -> None:
        """S3.7: Unknown fields are ignored."""
        moved = {**step(1, 0, [0, 1]), "mood": None}
        p.send({**opening(), "mood": 1}, {**start(1), "mood": [1]}, moved)
        p.expect("spec")
        turn(p, 1, 0, [0])
        turn(p, 1, 1, [1])

    # -- repeats -----------------------------------------------------------------------------------

    def a_step_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated last `step` gets the same `turn`, without another step."""
        begun(p)
        sent = p.send(step(1, 0, [0, 2]))
        p.send(*sent)
        turn(p, 1, 1, [1])
        turn(p, 1, 1, [1])
        plays(p, step(1, 1, [1, 0]), [0])
        sent = p.send(step(1, 2, [0, 0]))
        p.send(*sent)
        turn(p, 1, 3, [], terminated=True)
        turn(p, 1, 3, [], terminated=True)

    def an_older_step(self, p: Program) -> None:
        """S5.2 S5.3, level 2: An earlier step gets its old answer, or none once a later step has
        arrived."""
        opened(p)
        older = p.send(start(1), step(1, 0, [0, 2]))
        p.send(step(1, 1, [1, 2]))
        for number in range(3):
            turn(p, 1, number, [number % 2])
        p.send(*older)
        answers = [("turn", {"turn": 0, "to_act": [0]}), ("turn", {"turn": 1, "to_act": [1]})]
        p.only("message", {"match": 1}, *answers)
        plays(p, step(1, 2, [0, 1]), [], terminated=True)

    def a_step_ahead_of_its_turn(self, p: Program) -> None:
        """S6.9, level 2: A step for a turn other than the episode's last gets an `error` `unknown`
        that `answers` it."""
        begun(p)
        p.rejects(step(1, 5, [0, 1]), code="unknown")
        plays(p, step(1, 0, [0, 1]), [1])

    def a_start_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated `start` gets the same turn 0, without restarting the
        episode."""
        opened(p, observation="seed")
        sent = p.send(start(1, seed=7))
        turn(p, 1, 0, [0])
        p.send(*sent)
        view(turn(p, 1, 0, [0]), 0, observation=7)
        plays(p, step(1, 0, [0, 1]), [1])
        p.send(*sent)
        p.only("message", {"match": 1}, ("turn", {"episode": 1, "turn": 0}))
        plays(p, step(1, 1, [1, 1]), [0])

    def settled_answers_are_forgotten(self, p: Program) -> None:
        """S5.3, level 2: A frame up to `ping.settled` is not repeated, so the peer drops its answer
        and keeps the others."""
        sent = p.send(opening(), opening(2))
        p.expect("spec", match=1)
        p.expect("spec", match=2)
        p.quiet("nothing was asked", settled=sent[0]["seq"])
        p.send(sent[0])
        p.quiet("what is settled is not answered again")
        p.answer_to(sent[1], "spec", match=2)

    def a_new_start_abandons_the_old_episode(self, p: Program) -> None:
        """S6.1: `start` begins an episode, and abandons one in progress in the same match."""
        opened(p)
        p.send(start(1), start(2))
        turn(p, 1, 0, [0])
        turn(p, 2, 0, [0])
        p.send(step(1, 0, [0, 1]))
        p.only("message", {"match": 1}, ("error", {"answers": p.seq, "code": "unknown"}))
        plays(p, step(2, 0, [0, 1]), [1])

    # -- faults ------------------------------------------------------------------------------------

    def an_action_that_the_rules_refuse(self, p: Program) -> None:
        """S6.9: A refused action gets an `error` `illegal` that `answers` the step and names the
        `seat`; the episode is unchanged."""
        begun(p)
        p.rejects(step(1, 0, [0, -1]), code="illegal", seat=0, id=None, message=ANY)
        view(plays(p, step(1, 0, [0, 1]), [1]), 1, observation=[[0, 1]])
        p.rejects(step(1, 1, [1, -1]), code="illegal", seat=1)
        plays(p, start(2), [0])

    def rules_that_fail(self, p: Program) -> None:
        """S6.9 S12.1: If the rules fail, an `error` `crashed` `answers` the `start` or `step`;
        other matches continue."""
        for match, where in ((1, "start"), (2, "step")):
            opened(p, match, fail=where)
            p.send(start(match, match))
            if where == "step":
                turn(p, match, 0, [0])
                p.send(step(match, 0, [0, 0]))
            p.expect("error", answers=p.seq, code="crashed", id=None, seat=None, message=ANY)
        self.works(p)

    def a_failure_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated step that failed gets the same `error`."""
        begun(p, fail="step")
        sent = p.send(step(1, 0, [0, 0]))
        for _ in range(2):
            p.expect("error", answers=sent[0]["seq"], code="crashed")
            p.send(*sent)
        p.expect("error", answers=sent[0]["seq"], code="crashed")

    def messages(self, p: Program) -> None:
        """S7.3: A `message` is answered with its `id`, or if it fails, with an `error`."""
        opened(p)
        for body in ("hello", None, {"a": [1, b"x"]}):
            p.expect("reply", id=p.request("message", match=1, body=body), body=body)
        p.refused("message", match=1, body="crash")
        p.refused("message", match=99, body=1)

    def a_message_that_comes_again(self, p: Program) -> None:
        """S5.2, level 2: A repeated `message` gets the same answer."""
        opened(p)
        sent = p.send(message("x"))
        p.send(*sent)
        p.expect("reply", id=5000, body="x")
        p.expect("reply", id=5000, body="x")

    # -- connections -------------------------------------------------------------------------------

    def a_pending_step_after_resumption(self, p: Program) -> None:
        """S5.2 S5.5, level 2: After `resumed` true a repeated frame gets its answer again, and is
        not acted on twice."""
        made = p.send(opening())
        p.expect("spec", match=1)
        plays(p, start(1), [0])
        sent = p.send(step(1, 0, [0, 2]))
        turn(p, 1, 1, [1])
        sessions.renewed(p, resumed=True)
        p.send(*made, *sent)
        p.expect("spec", match=1)
        turn(p, 1, 1, [1])
        plays(p, step(1, 1, [1, 0]), [0])

    def a_welcome_that_comes_again(self, p: Program) -> None:
        """S4.6, level 2: A second, equal `welcome`, in answer to a repeated `hello`, changes
        nothing."""
        begun(p)
        p.send(p.welcome, step(1, 0, [0, 2]))
        turn(p, 1, 1, [1])

    def everything_is_gone_after_a_lost_session(self, p: Program) -> None:
        """S4.13, level 2: After `resumed` false an environment closes its matches; numbers of
        matches and requests may be reused."""
        opened(p)
        p.send(start(1), step(1, 0, [0, 2]), message("old"))
        turn(p, 1, 0, [0])
        turn(p, 1, 1, [1])
        p.expect("reply", id=5000, body="old")
        sessions.renewed(p, resumed=False)
        p.rejects(step(1, 1, [1, 0]), code="unknown")
        spec = opened(p, 1, seats=4)
        p.check(spec, "spec", {"seats": 4})
        p.answer_to(message("new"), "reply", id=5000, body="new")
        plays(p, start(1), [0])

    def a_step_through_a_long_silence(self, p: Program) -> None:
        """S5.2 S4.11, before the welcome, level 2: A new connection after silence: the same step,
        sent again, gets the same turn."""
        p.greet(heartbeat=0.1)
        begun(p)
        sent = p.send(step(1, 0, [0, 2]))
        turn(p, 1, 1, [1])
        p.resumes(patience=p.patience + 5)
        p.greet(p.session, resumed=True, heartbeat=30.0)
        p.send(*sent, step(1, 1, [1, 2]))
        turn(p, 1, 1, [1])
        turn(p, 1, 2, [0])

    # -- groups ------------------------------------------------------------------------------------

    def a_group(self, p: Program) -> None:
        """S16.1 S16.3 S16.4 S16.5, groups: A group plays an episode in each slot; a batch is
        answered by `turns` with a row for each seat to act."""
        grouped(p)
        begins = {"restarts": i4(0, 1), "episodes": i8(7, 8), "seeds": u8(5, 6)}
        acting = {"seats": i4(0, 0), "legal": bits(7, 7)}
        p.send(batch(0, **begins))
        p.expect("turns", match=1, batch=0, slots=i4(0, 1), rows=i4(0, 1), **acting)
        p.send(batch(1, slots=i4(1), seats=i4(0), actions=i8(2)))
        earned = f8([[1, 0]])
        p.expect("turns", batch=1, slots=i4(1), rows=i4(1), seats=i4(1), rewards=earned)
        p.send(batch(2, slots=i4(1), seats=i4(1), actions=i8(0)))
        p.expect("turns", batch=2, slots=i4(1), rows=i4(1), seats=i4(0))
        again = {"restarts": i4(0), "episodes": i8(9), "seeds": u8(5)}
        p.send(batch(3, slots=i4(1), seats=i4(0), actions=i8(1), **again))
        acting = {"rows": i4(0), "seats": i4(0), "legal": bits(7)}
        over = {"over": np.array([0, 1], np.uint8), "outcomes": f8([[1, 0]])}
        p.expect("turns", batch=3, slots=i4(0, 1), **acting, **over)
        p.send({"type": "close", "match": 1})
        self.works(p)

    def a_batch_that_cannot_be_played(self, p: Program) -> None:
        """S16.4, groups: A batch for an unknown slot or group is refused with `error` that
        `answers` it."""
        grouped(p)
        begins = {"episodes": i8(7), "seeds": u8(5)}
        p.rejects(batch(0, restarts=i4(2), **begins), code=ANY, message=ANY)
        p.rejects({**batch(0, restarts=i4(0), **begins), "match": 77}, code="unknown", message=ANY)
        self.works(p)

    def a_slot_that_fails_alone(self, p: Program) -> None:
        """S16.5, groups: A failure in a slot has `over` 3 and an entry in `faults`; the other slots
        continue."""
        grouped(p, fail="step")
        p.send(batch(0, restarts=i4(0), episodes=i8(7), seeds=u8(5)))
        p.expect("turns", batch=0, slots=i4(0))
        again = {"restarts": i4(1), "episodes": i8(8), "seeds": u8(6)}
        p.send(batch(1, slots=i4(0), seats=i4(0), actions=i8(0), **again))
        over = np.array([3, 0], np.uint8)
        found = p.expect("turns", batch=1, slots=i4(0, 1), rows=i4(1), over=over, faults=ANY)
        if [each.get("slot") for each in found["faults"]] != [0]:
            raise Failed("one of `faults`, of slot 0", brief(found))
