"""Each wrong agent is caught by the check that is meant for it, with a line that helps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from dovetail import Agent, Decision, DovetailError, End, Seat
from dovetail.peer.agents.agent import Lookahead
from dovetail.testing import CheckFailed, check_agent

TOP = Path(__file__).resolve().parents[2]


class Right(Agent):
    """Counts the episodes in which it learned, and saves the count."""

    name = "right"
    count = 0

    def step(self, decision: Decision) -> Any:
        assert decision.legal is not None
        return decision.legal[self.count % len(decision.legal)]

    def end(self, end: End) -> None:
        if end.mode == "learn":
            self.count += 1

    def save(self) -> bytes:
        return b"right%05d" % self.count

    def load(self, state: bytes) -> None:
        if not (state.startswith(b"right") and len(state) == 10):
            raise DovetailError("right: these bytes are not a state of it")
        self.count = int(state[5:])


class Illegal(Right):
    def step(self, decision: Decision) -> Any:
        return 10**6


class Silent(Right):
    def step(self, decision: Decision) -> Any:
        return None


class Crashing(Right):
    def step(self, decision: Decision) -> Any:
        raise KeyError("board")


class AskingBlindly(Right):
    def step(self, decision: Decision) -> Any:
        return decision.afterstates[0]


class OwnChance(Right):
    chance = random.Random(1)

    def step(self, decision: Decision) -> Any:
        assert decision.legal is not None
        return self.chance.choice(decision.legal)


class OwnNoise(Right):
    noise = random.Random(1)

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.count = self.noise.randrange(10_000)


class LearnsAlways(Right):
    def end(self, end: End) -> None:
        self.count += 1


class SavesNothing(Right):
    def save(self) -> bytes:
        return b""


class SavesAnother(Right):
    def save(self) -> bytes:
        return b"right%05d" % (self.count + 1)


class CannotLoad(Right):
    def load(self, state: bytes) -> None:
        raise DovetailError("right: not today")


class TakesAll(Right):
    def load(self, state: bytes) -> None:
        self.count = int(state[5:]) if len(state) == 10 else self.count


class LosesItself(Right):
    def load(self, state: bytes) -> None:
        self.count = 0
        super().load(state)


class Forgets(Right):
    """Plays by something that it does not save."""

    hidden = 0

    def step(self, decision: Decision) -> Any:
        assert decision.legal is not None
        return decision.legal[self.hidden % len(decision.legal)]

    def end(self, end: End) -> None:
        super().end(end)
        self.hidden += end.mode == "learn"


class DeafAtTheEnd(Right):
    def end(self, end: End) -> None:
        raise ValueError("nothing is learned")


class LooksAhead(Right):
    """A right one: what follows changes nothing in what it plays."""

    def step(self, decision: Decision) -> Any:
        action = super().step(decision)
        (seen,) = yield Lookahead([[action]])
        assert seen.error == ""
        return action


class RaisesOther(Right):
    def load(self, state: bytes) -> None:
        self.count = int(state[5:] if state[:5] == b"right" and len(state) == 10 else b"x")


WRONG: list[tuple[type[Agent], str, str]] = [
    (Illegal, "it_plays", "ended as illegal-action"),
    (Silent, "it_plays", "ended as illegal-action"),
    (Crashing, "it_plays", "ended as crashed"),
    (DeafAtTheEnd, "it_plays", "`end` raised"),
    (AskingBlindly, "it_plays", "ended as crashed"),
    (OwnChance, "seeds_decide_everything", "acts differently"),
    (OwnNoise, "seeds_decide_everything", "when the same seeds are played again"),
    (LearnsAlways, "evaluation_changes_nothing", "after episodes in the mode evaluate"),
    (SavesNothing, "states_say_everything", "acts differently than without the break"),
    (SavesAnother, "states_say_everything", "save after load returns other bytes"),
    (CannotLoad, "states_say_everything", "load refuses what save returned"),
    (Forgets, "states_say_everything", "acts differently than without the break"),
    (TakesAll, "wrong_states_are_refused", "load takes no bytes"),
    (LosesItself, "wrong_states_are_refused", "changed the agent"),
    (RaisesOther, "wrong_states_are_refused", "expected DovetailError"),
]


@pytest.mark.parametrize("kind", [Right, LooksAhead])
def test_a_right_one_passes(kind: type[Agent]) -> None:
    check_agent(kind)


def test_a_class_is_called_by_its_own_name() -> None:
    class Mine(Agent):
        def step(self, turn: Any) -> Any:
            raise ValueError(f"of {type(self).__qualname__} in {type(self).__module__}")

    with pytest.raises(CheckFailed) as failed:
        check_agent(Mine)
    assert f"{Mine.__qualname__} in {__name__}" in str(failed.value)


def test_one_that_cannot_play_the_game_says_so() -> None:
    class Choosy(Right):
        def init(self, seat: Seat) -> None:
            raise DovetailError("choosy: needs another game")

    with pytest.raises(DovetailError, match="choosy: needs another game"):
        check_agent(Choosy)


@pytest.mark.parametrize(
    ("kind", "check", "words"), WRONG, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_wrong_one_is_caught(kind: type[Agent], check: str, words: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        check_agent(kind)
    text = str(caught.value)
    assert caught.value.check == check, text
    assert words in text
    assert "\n" not in text
    page, _, place = text.rpartition("; see ")[2].partition("#")
    headings = [
        line.lstrip("# ").lower().replace(" ", "-")
        for line in (TOP / page).read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    ]
    assert place in headings, text
