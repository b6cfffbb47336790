"""Checks of every environment, after Gymnasium's and PettingZoo's."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.broker.rules.legality import sensible
from dovetail.peer import coercion as given
from dovetail.peer import options
from dovetail.peer.agents.sampling import sample
from dovetail.peer.environments.environment import Environment, IllegalAction, Spec, Turn, View
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.registry import type_name
from dovetail.protocol import codec, spaces
from dovetail.protocol import json_text as jsontext
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, NoLookahead
from dovetail.protocol.legal import unmask
from dovetail.protocol.scenes import choices_of
from dovetail.testing.problem import CheckFailed, no_error, short

GUIDE = "docs/environments.md"
TURNS = f"{GUIDE}#a-game-in-turns"
HIDDEN = "docs/reference/environments.md#hidden-information-and-chance"
AFTERSTATES = "docs/reference/environments.md#afterstates"
SERVING = f"{GUIDE}#serving-it"
WRONG = f"{GUIDE}#when-something-is-wrong"
MOST_TURNS = 100_000
"""Turns after which an episode counts as endless."""
UNCOPIED = "the environment cannot be copied, so no such action was tried"


@dataclass(frozen=True)
class EnvironmentSubject:
    """The environment that is checked."""

    kind: type[Environment]
    settings: dict[str, Any]
    episodes: int
    strict: bool
    open: list[Environment] = field(default_factory=list)
    """The environments that were made and not cleaned up yet."""
    skipped: list[str] = field(default_factory=list)
    """The checks that could not be made, and why."""

    def make(self) -> tuple[Environment, Spec]:
        """Return a new environment and the spec from its ``init``."""
        with no_error("init", "init", WRONG):
            made = self.kind(options.read(self.kind.Configuration, self.settings, self.kind.name))
            self.open.append(made)
            spec = made.init()
        if not isinstance(spec, Spec):
            raise CheckFailed("init", f"init returned {short(spec)}", "a Spec", TURNS)
        return made, spec

    def close(self) -> None:
        """Clean up all environments that were made."""
        while self.open:
            with no_error("cleanup", "cleanup", WRONG):
                self.open.pop().cleanup()


def legal_of(view: View) -> list[int] | None:
    """Return the legal actions of a view; None if the whole action space is legal."""
    return unmask(view.legal) if isinstance(view.legal, bytes) else view.legal


def play(
    environment: Environment, spec: Spec, seed: int, rng: random.Random, check: str
) -> Iterator[tuple[Turn, dict[int, Any]]]:
    """Play at random; yield each turn with the actions that follow it."""
    with no_error(check, f"start({seed})", TURNS):
        turn = environment.start(seed)
    for number in range(MOST_TURNS):
        if not isinstance(turn, Turn):
            raise CheckFailed(check, f"turn {number} is {short(turn)}", "a Turn", TURNS)
        views = {view.seat: view for view in turn.seats}
        for seat, view in views.items():
            try:
                view.legal = given.legal(view.legal)
            except DovetailError as error:
                wrong = f"of seat {seat} in turn {number}, {error}"
                raise CheckFailed(
                    check, wrong, "a list of actions, or a mask as bytes", TURNS
                ) from None
        absent = [seat for seat in turn.to_act if seat not in views]
        if absent:
            wrong = f"seat {absent[0]} must act in turn {number} and has no view"
            raise CheckFailed(check, wrong, "a View for each seat in to_act", TURNS)
        actions: dict[int, Any] = {}
        for seat in turn.to_act:
            if not isinstance(seat, int) or not 0 <= seat < spec.seats:
                wrong = f"to_act of turn {number} names seat {short(seat)}"
                raise CheckFailed(check, wrong, f"seats from 0 to {spec.seats - 1}", TURNS)
            legal = legal_of(views[seat])
            if legal is not None and not len(legal):
                wrong = f"seat {seat} must act in turn {number} and has no legal action"
                raise CheckFailed(check, wrong, "at least one, or another seat to act", TURNS)
            drawn = sample(spec.action_space(seat), rng) if legal is None else None
            actions[seat] = drawn if legal is None else rng.choice(legal)
        yield turn, actions
        if not turn.to_act:
            return
        try:
            with no_error(check, f"step({short(actions)}) in turn {number}", TURNS):
                turn = environment.step(actions)
        except IllegalAction as error:
            wrong = f"step refused the legal actions {short(actions)}: {error}"
            raise CheckFailed(check, wrong, "legal to list what step accepts", WRONG) from error
    wrong = f"the episode of seed {seed} has more than {MOST_TURNS} turns"
    raise CheckFailed(check, wrong, "an end: terminated or truncated", TURNS)


def frozen(value: Any) -> bytes:
    """Return the encoded bytes that would be sent."""
    if isinstance(value, Turn):
        for view in value.seats:
            view.legal = given.legal(view.legal)
    return codec.encode(value)


def spec_is_whole(subject: EnvironmentSubject, name: str) -> None:
    """The spec has spaces for one seat or for each, and the configuration has defaults."""
    _, spec = subject.make()
    for what in ("observation_spaces", "action_spaces"):
        count = len(getattr(spec, what))
        if count not in (1, spec.seats):
            wrong = f"the Spec has {count} {what} for {spec.seats} seats"
            raise CheckFailed(name, wrong, "one for all seats or one for each", TURNS)


def turns_are_what_the_spec_says(subject: EnvironmentSubject, name: str) -> None:
    """Observations, rewards and actions lie in their spaces; every seat is told the end."""
    environment, spec = subject.make()
    rng = random.Random(5)
    low, high = spec.reward_range or (-math.inf, math.inf)
    for seed in range(subject.episodes):
        turns, turn = -1, Turn()
        for turn, _ in play(environment, spec, seed, rng, name):
            turns += 1
            _look_at(turn, spec, f"turn {turns} of seed {seed}", (low, high), name)
        if spec.max_turns is not None and turns > spec.max_turns:
            wrong = f"seed {seed} took {turns} turns"
            raise CheckFailed(name, wrong, f"at most max_turns={spec.max_turns}", TURNS)
        _look_at_end(turn, spec, seed, name)


def _look_at(turn: Turn, spec: Spec, where: str, rewards: tuple[float, float], name: str) -> None:
    seats = [view.seat for view in turn.seats]
    if len(set(seats)) != len(seats) or not set(seats) <= set(range(spec.seats)):
        wrong = f"{where} has views of the seats {seats}"
        raise CheckFailed(name, wrong, f"each of the {spec.seats} seats once at most", TURNS)
    if bool(turn.to_act) == (turn.terminated or turn.truncated):
        wrong = f"{where} has to_act={turn.to_act} and terminated={turn.terminated}"
        raise CheckFailed(name, wrong, "seats to act, or terminated or truncated", TURNS)
    for view in turn.seats:
        if not spec.observation_space(view.seat).contains(view.observation):
            wrong = f"{where}: seat {view.seat} sees {short(view.observation)}"
            shown = short(spec.observation_space(view.seat))
            raise CheckFailed(name, wrong, f"an observation of {shown}", TURNS)
        if not (sensible(view.reward) and rewards[0] <= view.reward <= rewards[1]):
            wrong = f"{where}: seat {view.seat} earns {view.reward}"
            raise CheckFailed(name, wrong, f"a reward from {rewards[0]} to {rewards[1]}", TURNS)
        if view.seat in turn.to_act and (legal := legal_of(view)) is not None:
            space = spec.action_space(view.seat)
            if list(legal) != sorted(set(legal)):
                wrong = f"{where}: legal is {short(legal)}"
                raise CheckFailed(name, wrong, "each action once, in rising order", TURNS)
            outside = [action for action in legal if not space.contains(action)]
            if outside:
                wrong = f"{where}: legal has {short(outside[0])}"
                raise CheckFailed(name, wrong, f"actions of {short(space)}", TURNS)


def _look_at_end(turn: Turn, spec: Spec, seed: int, name: str) -> None:
    seen = {view.seat for view in turn.seats}
    if seen != set(range(spec.seats)):
        wrong = f"the last turn of seed {seed} has views of the seats {sorted(seen)}"
        raise CheckFailed(name, wrong, f"a view for each of the {spec.seats} seats", TURNS)
    if turn.outcome is not None and (
        len(turn.outcome) != spec.seats
        or not all(0 <= score <= 1 for score in turn.outcome)
        or not math.isclose(sum(turn.outcome), 1, abs_tol=1e-9)
    ):
        wrong = f"the outcome of seed {seed} is {short(turn.outcome)}"
        raise CheckFailed(name, wrong, "a score per seat from 0 to 1, with the sum 1", TURNS)


def seeds_decide_everything(subject: EnvironmentSubject, name: str) -> None:
    """The same seed and actions give the same bytes."""
    environment, spec = subject.make()
    records = [
        [
            (frozen(turn), actions)
            for turn, actions in play(environment, spec, seed, random.Random(seed), name)
        ]
        for seed in range(subject.episodes)
    ]
    subject.close()  # it may be the only match that a server has room for
    second, _ = subject.make()
    for seed, record in enumerate(records):
        with no_error(name, f"start({seed})", TURNS):
            turn = second.start(seed)
        for number, (expected, actions) in enumerate(record):
            if frozen(turn) != expected:
                wrong = f"turn {number} of seed {seed} differs when it is played again"
                raise CheckFailed(name, wrong, "all chance to come from the seed", TURNS)
            if actions:
                try:
                    turn = second.step(actions)
                except IllegalAction as error:
                    wrong = f"turn {number} of seed {seed}, played again, refuses its action"
                    raise CheckFailed(name, wrong, "the same episode", TURNS) from error


def turns_do_not_change(subject: EnvironmentSubject, name: str) -> None:
    """Returned values do not change afterwards."""
    environment, spec = subject.make()
    rng, kept = random.Random(8), []
    for seed in range(min(2, subject.episodes)):
        kept += [(turn, frozen(turn)) for turn, _ in play(environment, spec, seed, rng, name)]
    for number, (turn, then) in enumerate(kept):
        if frozen(turn) != then:
            wrong = f"the turn that was handed out as number {number} changed later"
            raise CheckFailed(name, wrong, "a new array or list for each turn", TURNS)


def _illegal(space: Any, legal: list[int] | None) -> list[Any]:
    """Return up to six action numbers of the space that are not legal."""
    if not isinstance(space, spaces.Discrete) or legal is None:
        return []
    allowed = set(legal)
    near = range(space.start, space.start + min(space.n, 10_000))
    others = [action for action in near if action not in allowed]
    return others[:3] + others[-3:]


def illegal_actions_change_nothing(subject: EnvironmentSubject, name: str) -> None:
    """``IllegalAction`` is one line and changes nothing; strict: all are refused."""
    environment, spec = subject.make()
    for turn, actions in play(environment, spec, 3, random.Random(9), name):
        before = (environment.text(), frozen(environment.scene()))
        wrong: list[dict[int, Any]] = []
        for view in turn.seats:
            if view.seat in turn.to_act:
                others = _illegal(spec.action_space(view.seat), legal_of(view))
                if subject.strict:
                    others += [-1, 10**9, "x", None, 1.5, [0]]
                wrong += [{**actions, view.seat: each} for each in others]
        if subject.strict:
            wrong += [{}, {**actions, spec.seats: 0}]
            if turn.to_act:
                first = turn.to_act[0]
                wrong.append({(first + 1) % (spec.seats + 1): actions[first]})
        for each in wrong:
            tried = environment if subject.strict else _copied(environment)
            if tried is None:
                subject.skipped.append(f"{name}: {UNCOPIED}; --strict needs no copy")
                return
            _try_illegal(tried, each, subject, name)
            if (environment.text(), frozen(environment.scene())) != before:
                text = f"step({short(each)}) raised IllegalAction and changed the position"
                raise CheckFailed(name, text, "the episode as it was", WRONG)


def _copied(environment: Environment) -> Environment | None:
    """Return a copy; None if it cannot be copied, such as one that plays at a server."""
    try:
        return copy.deepcopy(environment)
    except (Exception, SystemExit):
        return None


def _try_illegal(
    environment: Environment, actions: dict[int, Any], subject: EnvironmentSubject, name: str
) -> None:
    before = (environment.text(), frozen(environment.scene()))
    try:
        environment.step(actions)
    except IllegalAction as error:
        if "\n" in str(error) or not str(error):
            text = f"the text of IllegalAction is {short(str(error))}"
            raise CheckFailed(name, text, "one line that says what is wrong", WRONG) from error
        if (environment.text(), frozen(environment.scene())) != before:
            text = f"step({short(actions)}) raised IllegalAction and changed the position"
            raise CheckFailed(name, text, "the episode as it was", WRONG) from error
    except (Exception, SystemExit) as error:
        if subject.strict:
            text = f"step({short(actions)}) raised {type(error).__name__}"
            raise CheckFailed(name, text, "IllegalAction", WRONG) from error
    else:
        if subject.strict:
            raise CheckFailed(name, f"step accepted {short(actions)}", "IllegalAction", WRONG)


def afterstates_are_what_is_seen(subject: EnvironmentSubject, name: str) -> None:
    """There is one row per legal action, equal to the later observation if that can be checked."""
    environment, spec = subject.make()
    if not spec.afterstates:
        return
    for turn, actions in play(environment, spec, 1, random.Random(4), name):
        for view in (each for each in turn.seats if each.seat in turn.to_act):
            with no_error(name, f"afterstates({view.seat})", AFTERSTATES):
                rows = np.asarray(environment.afterstates(view.seat))
            legal = legal_of(view) or []
            if len(rows) != len(legal):
                wrong = f"afterstates({view.seat}) has {len(rows)} rows for {len(legal)} actions"
                raise CheckFailed(name, wrong, "one row per legal action", AFTERSTATES)
            for row, action in zip(rows, legal, strict=True):
                ahead = _copied(environment)
                if ahead is None:
                    subject.skipped.append(f"{name}: {UNCOPIED}")
                    return
                after = ahead.step({**actions, view.seat: action})
                seen = _seen_after(ahead, after, view.seat, spec)
                if seen is None:
                    continue
                if row.ndim > seen.ndim:  # stages of the action; the last is where it led
                    row = row[-1]
                if not np.array_equal(row, seen):
                    wrong = (
                        f"the row of action {action} differs from what seat {view.seat} then sees"
                    )
                    raise CheckFailed(name, wrong, "rows in the order of legal", AFTERSTATES)


def _seen_after(ahead: Environment, turn: Turn, seat: int, spec: Spec) -> Any:
    # Where chance follows, `after` is the position before it.
    reached: Callable[[int], Any] | None = getattr(ahead, "after", None)
    if reached is None and not spec.chance:
        reached = getattr(ahead, "observation", None)
    if callable(reached):
        return np.asarray(reached(seat))
    if spec.chance:
        return None
    found = [np.asarray(view.observation) for view in turn.seats if view.seat == seat]
    return found[0] if found else None


def scenes_show_every_legal_action(subject: EnvironmentSubject, name: str) -> None:
    """A scene's cells lie in it; its choices are the legal actions, each with its own cells."""
    environment, spec = subject.make()
    for turn, _ in play(environment, spec, 7, random.Random(2), name):
        for seat in (None, *range(spec.seats)):
            with no_error(name, f"scene({seat})", TURNS):
                scene = environment.scene(seat)
            if scene is None:
                if subject.strict:
                    raise CheckFailed(name, f"scene({seat}) is None", "a Scene", TURNS)
                return
            cells, cards = len(scene.cells), len(scene.cards)
            acts = seat in turn.to_act
            view = next((each for each in turn.seats if each.seat in turn.to_act), None)
            expected = legal_of(view) if acts and view is not None else []
            if scene.paths is not None and len(scene.paths) != len(expected or ()):
                wrong = f"scene({seat}) has {len(scene.paths)} paths"
                raise CheckFailed(name, wrong, "one for each legal action", TURNS)
            choices = choices_of(scene, expected)
            inside = all(0 <= each.cell < cells for each in scene.pieces) and all(
                all(0 <= number < cells for number in (*each.cells, *each.shows))
                and all(0 <= number < cards for number in each.cards)
                for each in choices
            )
            inside = inside and all(
                all(0 <= number < cells for number in each.cells)
                and all(0 <= number < cards for number in each.cards)
                for each in scene.marks
            )
            if not inside:
                wrong = f"scene({seat}) points at a cell or card that is not there"
                raise CheckFailed(name, wrong, f"{cells} cells and {cards} cards", TURNS)
            for cell in scene.cells:
                fits_x = -0.1 <= cell.x <= cell.x + cell.width <= scene.width + 0.1
                if not (fits_x and -0.1 <= cell.y <= cell.y + cell.height <= scene.height + 0.1):
                    wrong = f"a cell of scene({seat}) lies outside: {short(cell)}"
                    raise CheckFailed(name, wrong, "cells within width and height", TURNS)
            found = [choice.action for choice in choices]
            if expected is not None and found != list(expected):
                wrong = f"scene({seat}) offers {short(found)}"
                raise CheckFailed(name, wrong, f"the legal actions {short(expected)}", TURNS)
            pointed = {
                (*each.cells, -1, *each.cards) if each.cells or each.cards else each.label
                for each in choices
            }
            if len(pointed) != len(choices):
                wrong = f"two actions of scene({seat}) are pointed at alike"
                raise CheckFailed(name, wrong, "cells and cards that differ", TURNS)


def symmetric_actions_lead_to_symmetric_observations(
    subject: EnvironmentSubject, name: str
) -> None:
    """In games without chance, symmetric actions lead to symmetric observations."""
    environment, spec = subject.make()
    if spec.chance:  # chance is not symmetric
        return
    for number, symmetry in enumerate(spec.symmetries):
        if not symmetry.actions:
            continue
        other, _ = subject.make()
        theirs = other.start(0)
        for turn, actions in play(environment, spec, 0, random.Random(3), name):
            for view, image in zip(turn.seats, theirs.seats, strict=True):
                flat = np.asarray(view.observation).ravel()
                if not np.array_equal(
                    flat[symmetry.observation], np.asarray(image.observation).ravel()
                ):
                    wrong = f"symmetry {number} does not map what seat {view.seat} sees"
                    raise CheckFailed(name, wrong, "equal observations after it", TURNS)
            if actions:
                theirs = other.step({seat: symmetry.actions[a] for seat, a in actions.items()})


def forks_stand_alone(subject: EnvironmentSubject, name: str) -> None:
    """A fork looks the same to its seat, and playing it does not affect the episode."""
    environment, spec = subject.make()
    for turn, actions in play(environment, spec, 2, random.Random(6), name):
        if not turn.to_act:
            break
        seat = turn.to_act[0]
        before = (environment.text(), environment.text(seat))
        with no_error(name, f"fork({seat}, 11)", HIDDEN):
            try:
                fork = environment.fork(seat, 11)
            except NoLookahead as error:  # agents that look ahead are told so
                subject.skipped.append(f"{name}: {error}")
                return
        if fork.text(seat) != before[1]:
            wrong = f"the fork shows seat {seat} another position"
            raise CheckFailed(name, wrong, "the position as the seat knows it", HIDDEN)
        moves = {}
        for view in turn.seats:
            if view.seat in turn.to_act:
                legal = legal_of(view)
                moves[view.seat] = legal[-1] if legal else actions[view.seat]
        with no_error(name, "step in a fork", HIDDEN):
            fork.step(moves)
        if (environment.text(), environment.text(seat)) != before:
            wrong = "playing a fork changed the episode"
            raise CheckFailed(name, wrong, "a copy that shares nothing that changes", HIDDEN)


def it_can_be_served(subject: EnvironmentSubject, name: str) -> None:
    """The environment has a description; its spec, turns, text and scenes can be sent."""
    host = EnvironmentHost([subject.kind])
    (offer,) = host.offers()
    if subject.strict and not offer.description.endswith("."):
        wrong = f"the class's docstring begins with {short(offer.description)}"
        raise CheckFailed(name, wrong, "a sentence that says what it is", SERVING)
    if not jsontext.plain(offer.parameters):
        wrong = "the options have a default or a bound that JSON lacks, such as NaN"
        raise CheckFailed(name, wrong, "numbers, text, true, false, lists, tables", SERVING)
    for option, schema in offer.parameters.items():
        if subject.strict and not schema.get("description"):
            raise CheckFailed(name, f"option {option!r} has no description", "a sentence", SERVING)
    opened = m.Open(1, type_name(subject.kind), subject.settings)
    (spec,) = host.handle([opened])
    if not isinstance(spec, Spec):
        raise CheckFailed(name, f"open is answered with {short(spec)}", "a spec", SERVING)
    wants: list[m.Want] = ["text", "scene"]
    if spec.afterstates:
        wants.append("afterstates")
    (turn,) = host.handle([m.EnvironmentStart(1, 2, 3, [wants] * spec.seats)])
    host.handle([m.Close(1)])
    if not isinstance(turn, Turn):
        raise CheckFailed(name, f"start is answered with {short(turn)}", "a turn", SERVING)
    for message in (spec, turn):
        with no_error(name, f"sending {type(message).__name__}", SERVING):
            codec.encode(message)
    if subject.strict and not all(view.text for view in turn.seats if view.seat in turn.to_act):
        raise CheckFailed(name, "text() is empty", "the position for a person to read", TURNS)


CHECKS: dict[str, Callable[[EnvironmentSubject, str], None]] = {
    each.__name__: each
    for each in (
        *(spec_is_whole, turns_are_what_the_spec_says, seeds_decide_everything),
        *(turns_do_not_change, illegal_actions_change_nothing, afterstates_are_what_is_seen),
        *(scenes_show_every_legal_action, symmetric_actions_lead_to_symmetric_observations),
        *(forks_stand_alone, it_can_be_served),
    )
}
"""All checks by name, in the order in which they run."""


def check_environment(
    cls: type[Environment],
    configuration: Mapping[str, Any] | None = None,
    *,
    episodes: int = 12,
    strict: bool = False,
    only: str = "",
) -> list[str]:
    """Check an environment; raise an error if a check fails.

    Args:
        cls: the environment's class.
        configuration: options by name; the others keep their defaults.
        episodes: the number of random episodes for each check that plays several.
        strict: also check what Dovetail requires of its own games: ``step`` refuses every illegal
            action, everything is described, and there are texts and scenes.
        only: the name of a check in ``CHECKS``; empty runs all.

    Returns:
        The checks that were skipped, a line each that says why.

    Raises:
        CheckFailed: a check fails; one line says what is wrong and where the guide explains it.
        DovetailError: the configuration is invalid.
    """
    if only and only not in CHECKS:
        raise DovetailError(f"no check {only!r}; there are {', '.join(CHECKS)}")
    subject = EnvironmentSubject(cls, dict(configuration or {}), episodes, strict)
    for name in [only] if only else CHECKS:
        try:
            CHECKS[name](subject, name)
        except BaseException:
            with suppress(Exception):
                subject.close()
            raise
        subject.close()
    return subject.skipped
