"""Each wrong environment is caught by the check that is meant for it, with a line that helps."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from dovetail import Environment, IllegalAction, Spec, Turn, View, spaces
from dovetail.protocol.errors import NoLookahead
from dovetail.testing import CheckFailed, check_environment

TOP = Path(__file__).resolve().parents[2]


class Right(Environment):
    """Take one or two from a heap of seven."""

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[spaces.Box(low=0, high=7, shape=[1], dtype="int8")],
            action_spaces=[spaces.Discrete(2, start=1)],
            reward_range=(-1.0, 1.0),
            max_turns=7,
        )

    def start(self, seed: int) -> Turn:
        self.heap, self.seat = 7, 0
        return self.turn()

    def seen(self) -> Any:
        return np.array([self.heap], np.int8)

    def legal(self) -> list[int]:
        return [n for n in (1, 2) if n <= self.heap]

    def step(self, actions: Mapping[int, Any]) -> Turn:
        taken = actions[self.seat]
        if taken > self.heap:
            raise IllegalAction(f"cannot take {taken} of {self.heap}", self.seat)
        self.heap -= taken
        if self.heap == 0:
            return self.over()
        self.seat = 1 - self.seat
        return self.turn()

    def turn(self) -> Turn:
        return Turn(to_act=[self.seat], seats=[View(self.seat, self.seen(), self.legal())])

    def over(self) -> Turn:
        earned = [1.0 if seat == self.seat else -1.0 for seat in (0, 1)]
        return Turn(
            seats=[View(seat, self.seen(), reward=earned[seat]) for seat in (0, 1)],
            terminated=True,
            outcome=[float(each > 0) for each in earned],
        )

    def text(self, seat: int | None = None) -> str:
        return "o" * self.heap


class TwoSpacesForThree(Right):
    def init(self) -> Spec:
        return Spec(
            seats=3,
            observation_spaces=[spaces.Discrete(8)] * 2,
            action_spaces=[spaces.Discrete(2)],
        )


class NoSpec(Right):
    def init(self) -> Any:
        return None


class SeesTooMuch(Right):
    def seen(self) -> Any:
        return np.array([self.heap + 1], np.int8)


class EarnsTooMuch(Right):
    def over(self) -> Turn:
        turn = super().over()
        return Turn(
            seats=[View(view.seat, view.observation, reward=2.0) for view in turn.seats],
            terminated=True,
            outcome=turn.outcome,
        )


class LegalTwice(Right):
    def legal(self) -> list[int]:
        return [*super().legal(), 1]


class LegalArray(Right):
    def legal(self) -> Any:
        return np.array(super().legal(), np.int8)  # numbers, or a mask?


class LegalOutside(Right):
    def legal(self) -> list[int]:
        return [0, 1]


class NothingLegal(Right):
    def legal(self) -> list[int]:
        return [] if self.heap < 3 else [1, 2]


class LoserHearsNothing(Right):
    def over(self) -> Turn:
        turn = super().over()
        return Turn(seats=turn.seats[:1], terminated=True, outcome=turn.outcome)


class BothWin(Right):
    def over(self) -> Turn:
        turn = super().over()
        return Turn(seats=turn.seats, terminated=True, outcome=[1.0, 1.0])


class TooLong(Right):
    def start(self, seed: int) -> Turn:
        self.heap, self.seat = 40, 0
        return self.turn()

    def seen(self) -> Any:
        return np.array([0], np.int8)


class OwnChance(Right):
    chance = random.Random(1)

    def legal(self) -> list[int]:
        return [1] if self.heap < 2 or self.chance.random() < 0.5 else [1, 2]


class OneArray(Right):
    board = np.zeros(1, np.int8)

    def seen(self) -> Any:
        self.board[0] = self.heap
        return self.board


class RefusedButTaken(Right):
    def step(self, actions: Mapping[int, Any]) -> Turn:
        taken = actions[self.seat]
        self.heap -= taken
        if self.heap < 0:
            raise IllegalAction("too many", self.seat)
        self.heap += taken
        return super().step(actions)


class LegalButRefused(Right):
    def step(self, actions: Mapping[int, Any]) -> Turn:
        if self.heap == 2:
            raise IllegalAction("no", self.seat)
        return super().step(actions)


class SharedFork(Right):
    def fork(self, seat: int, seed: int) -> Any:
        return self


class Crashing(Right):
    def step(self, actions: Mapping[int, Any]) -> Turn:
        return self.nothing  # type: ignore[attr-defined, no-any-return]


class FewAfterstates(Right):
    def init(self) -> Spec:
        spec = super().init()
        spec.afterstates = True
        return spec

    def afterstates(self, seat: int) -> Any:
        return np.zeros((1, 1), np.int8)


TURNS = "turns_are_what_the_spec_says"
WRONG: list[tuple[type[Environment], str, str]] = [
    (TwoSpacesForThree, "spec_is_whole", "2 observation_spaces for 3 seats"),
    (NoSpec, "init", "init returned None"),
    (SeesTooMuch, TURNS, "seat 0 sees"),
    (EarnsTooMuch, TURNS, "earns 2.0; expected a reward from -1.0 to 1.0"),
    (LegalTwice, TURNS, "legal is [1, 2, 1]"),
    (LegalArray, TURNS, "of seat 0 in turn 0, legal is an array of int8"),
    (LegalOutside, TURNS, "legal has 0"),
    (NothingLegal, TURNS, "has no legal action"),
    (LoserHearsNothing, TURNS, "views of the seats [0]; expected a view for each"),
    (BothWin, TURNS, "the outcome of seed 0 is [1.0, 1.0]"),
    (TooLong, TURNS, "expected at most max_turns=7"),
    (OwnChance, "seeds_decide_everything", "played again"),
    (OneArray, "turns_do_not_change", "changed later"),
    (RefusedButTaken, "illegal_actions_change_nothing", "changed the position"),
    (LegalButRefused, TURNS, "step refused the legal actions"),
    (SharedFork, "forks_stand_alone", "playing a fork changed the episode"),
    (Crashing, TURNS, "raised AttributeError"),
    (FewAfterstates, "afterstates_are_what_is_seen", "has 1 rows for 2 actions"),
]


def test_a_right_one_passes() -> None:
    assert check_environment(Right) == []


class AtAServer(Right):
    """Cannot be copied, as what plays at a server."""

    def init(self) -> Spec:
        spec = super().init()
        spec.afterstates = True
        return spec

    def afterstates(self, seat: int) -> Any:
        return [[self.heap - taken] for taken in self.legal()]

    def fork(self, seat: int, seed: int) -> Any:
        raise NoLookahead("the server offers no lookahead")

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("a socket")


def test_what_cannot_be_checked_is_said() -> None:
    illegal, afterstates, forks = check_environment(AtAServer)
    assert illegal.startswith("illegal_actions_change_nothing: the environment cannot be copied")
    assert "--strict needs no copy" in illegal
    assert afterstates.startswith("afterstates_are_what_is_seen: the environment cannot be copied")
    assert forks == "forks_stand_alone: the server offers no lookahead"


class Shy:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Ending(BaseException):
    """No error, and not of Python's own."""


def ends(error: BaseException) -> Any:
    def act(self: Any, *_: Any) -> Any:
        raise error

    return act


LEAVING = {
    "exit": (ends(SystemExit(0)), "start(0) raised SystemExit: '0'"),
    "another end": (ends(Ending("a\nb")), "start(0) raised Ending: 'a\\nb'"),
    "a generator's": (ends(GeneratorExit()), "start(0) raised GeneratorExit: ''"),
    "shy": (lambda self, seed: Shy(), "turn 0 is a Shy whose repr raises RuntimeError"),
    "a text as seat": (
        lambda self, seed: Turn(to_act=["0"], seats=[View("0", None)]),  # type: ignore[arg-type,list-item]
        "to_act of turn 0 names seat '0'",
    ),
}


@pytest.mark.parametrize("what", LEAVING)
def test_code_that_leaves_fails_its_check(what: str) -> None:
    start, words = LEAVING[what]
    with pytest.raises(CheckFailed) as caught:
        check_environment(type("Leaving", (Right,), {"start": start}))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


class Forking(Right):
    """Its children come back from ``start``."""

    children: ClassVar[list[int]] = []

    def start(self, seed: int) -> Turn:
        child = os.fork()
        if child:
            self.children.append(child)
        return super().start(seed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_go_on_checking() -> None:
    me = os.getpid()
    check_environment(Forking, only="turns_are_what_the_spec_says")
    assert os.getpid() == me
    for child in Forking.children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.parametrize(
    ("kind", "check", "words"), WRONG, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_wrong_one_is_caught(kind: type[Environment], check: str, words: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        check_environment(kind)
    text = str(caught.value)
    assert caught.value.check == check, text
    assert words in text
    assert "\n" not in text
    page, _, place = text.rpartition("; see ")[2].partition("#")
    headings = [
        line.lstrip("# ").lower().replace(",", "").replace(" ", "-")
        for line in (TOP / page).read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    ]
    assert place in headings, text
