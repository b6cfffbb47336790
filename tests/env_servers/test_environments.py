"""What holds of every environment, whatever the game: after Gymnasium's and PettingZoo's checks."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from dovetail.env_servers.environment import Environment, IllegalAction, Spec, Turn, View
from dovetail.env_servers.host import EnvironmentHost
from dovetail.peer import options, plugins
from dovetail.protocol import codec, spaces
from dovetail.protocol import messages as m
from dovetail.protocol.legal import unmask

CASES: list[tuple[str, dict[str, Any]]] = [
    ("connect_four", {}),
    ("connect_four", {"rows": 4, "columns": 5, "connect": 3}),
    ("2048", {}),
    ("2048", {"rows": 2, "columns": 3, "encoding": "planes", "four": 0.5}),
    ("dots", {}),
    ("dots", {"rows": 3, "columns": 4, "rewards": "boxes"}),
    ("dots", {"rows": 2, "columns": 5, "rewards": "difference"}),
    ("rlgame", {"size": 6, "max_moves": 500}),
    ("rlgame", {"size": 7, "base": 3, "pawns": 4, "encoding": "study", "first": 1}),
    ("rlgame", {"size": 5, "base": 1, "pawns": 3, "encoding": "planes", "loss": "simultaneous"}),
    ("rlgame", {"size": 5, "win_reward": 100.0, "pawn_reward": 1.0, "base_pawns": False}),
]
CASES += [
    ("dominion", {}),
    ("dominion", {"players": 4, "tie": "shared", "end": "round"}),
    ("dominion", {"players": 3, "kingdom": ["Smithy", "Chapel"], "kingdom_size": 2}),
    ("dominion", {"rewards": "purchase", "first": "seat-0", "played": "discard"}),
    ("amazons", {"rows": 4, "columns": 4}),
    ("amazons", {"rows": 5, "columns": 6, "first": 1}),
    ("amazons", {"rows": 6, "columns": 6, "action": "steps"}),
    ("tetris", {"height": 8, "width": 6}),
    ("tetris", {"pieces": "SZ", "max_pieces": 30, "afterstates": "boards"}),
]
ZERO_SUM = {"amazons", "connect_four", "dots"}
GAMES = 12


def named(case: tuple[str, dict[str, Any]]) -> str:
    return f"{case[0]}-{'-'.join(str(each) for each in case[1].values())}"


@pytest.fixture(params=CASES, ids=named)
def case(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    found: tuple[str, dict[str, Any]] = request.param
    return found


def make(case: tuple[str, dict[str, Any]]) -> Environment:
    kind = plugins.find("environment", case[0])
    made: Environment = kind(options.read(kind.Configuration, case[1], case[0]))
    return made


def space(of: list[Any], seat: int) -> Any:
    return of[seat if len(of) > 1 else 0]


def legal_of(view: View) -> list[int]:
    assert view.legal is not None
    return unmask(view.legal) if isinstance(view.legal, bytes) else view.legal


def play(
    environment: Environment, seed: int, rng: random.Random
) -> Iterator[tuple[Turn, dict[int, Any]]]:
    """Play at random; yield each turn with the actions that follow it."""
    turn = environment.start(seed)
    while turn.to_act:
        views = {view.seat: view for view in turn.seats}
        actions = {seat: rng.choice(legal_of(views[seat])) for seat in turn.to_act}
        yield turn, actions
        turn = environment.step(actions)
    yield turn, {}


def frozen(value: Any) -> bytes:
    return codec.encode(value)


def test_turns_are_what_the_spec_says(case: tuple[str, dict[str, Any]]) -> None:
    environment, rng = make(case), random.Random(5)
    spec = environment.init()
    assert 1 <= len(spec.observation_spaces) in (1, spec.seats)
    low, high = spec.reward_range or (-np.inf, np.inf)
    for seed in range(GAMES):
        total = [0.0] * spec.seats
        turns = -1
        for turn, _ in play(environment, seed, rng):
            turns += 1
            views = {view.seat: view for view in turn.seats}
            assert len(views) == len(turn.seats)
            assert set(turn.to_act) <= set(views) <= set(range(spec.seats))
            assert bool(turn.to_act) != (turn.terminated or turn.truncated)
            for view in turn.seats:
                assert space(spec.observation_spaces, view.seat).contains(view.observation)
                assert low <= view.reward <= high
                total[view.seat] += view.reward
            for seat in turn.to_act:
                actions = legal_of(views[seat])
                assert actions == sorted(set(actions))
                assert actions
                assert all(space(spec.action_spaces, seat).contains(a) for a in actions)
        assert spec.max_turns is None or turns <= spec.max_turns
        assert set(views) == set(range(spec.seats)), "at the end every seat sees the position"
        if turn.terminated and spec.seats > 1:
            assert turn.outcome is not None
            assert sum(turn.outcome) == pytest.approx(1)
            assert all(0 <= score <= 1 for score in turn.outcome)
        if case[0] in ZERO_SUM:
            assert sum(total) == pytest.approx(0)


def test_the_same_seed_and_actions_give_the_same_bytes(case: tuple[str, dict[str, Any]]) -> None:
    first, second = make(case), make(case)
    for seed in range(GAMES):
        rng = random.Random(seed)
        record = [(frozen(turn), actions) for turn, actions in play(first, seed, rng)]
        turn = second.start(seed)
        for expected, actions in record:
            assert frozen(turn) == expected
            if actions:
                turn = second.step(actions)


def test_what_was_handed_out_does_not_change(case: tuple[str, dict[str, Any]]) -> None:
    environment, rng = make(case), random.Random(8)
    kept = []
    for seed in range(2):
        for turn, _ in play(environment, seed, rng):
            kept.append((turn, frozen(turn)))
    for turn, then in kept:
        assert frozen(turn) == then


def test_illegal_actions_are_refused_and_change_nothing(
    case: tuple[str, dict[str, Any]],
) -> None:
    environment, rng = make(case), random.Random(9)
    spec = environment.init()
    for turn, actions in play(environment, 3, rng):
        before = (environment.text(), frozen(environment.scene()))
        wrong: list[dict[int, Any]] = [{}]
        for seat in turn.to_act:
            kind = space(spec.action_spaces, seat)
            view = next(view for view in turn.seats if view.seat == seat)
            if isinstance(kind, spaces.Discrete):
                allowed = set(legal_of(view))
                others = [a for a in range(kind.start, kind.start + kind.n) if a not in allowed]
                wrong += [{**actions, seat: a} for a in others[:3] + others[-3:]]
            wrong += [{**actions, seat: a} for a in (-1, 10**9, "x", None, 1.5, [0])]
        if turn.to_act:
            wrong.append({(turn.to_act[0] + 1) % (spec.seats + 1): actions[turn.to_act[0]]})
            wrong.append({**actions, spec.seats: 0})
        for each in wrong:
            with pytest.raises(IllegalAction) as caught:
                environment.step(each)
            assert "\n" not in str(caught.value)
        assert (environment.text(), frozen(environment.scene())) == before


def test_afterstates_are_what_is_seen_after_the_action(case: tuple[str, dict[str, Any]]) -> None:
    environment, rng = make(case), random.Random(4)
    spec = environment.init()
    if not spec.afterstates:
        pytest.skip("this environment has none")
    for turn, actions in play(environment, 1, rng):
        for seat in turn.to_act:
            view = next(view for view in turn.seats if view.seat == seat)
            rows = environment.afterstates(seat)
            actions_now = legal_of(view)
            assert len(rows) == len(actions_now)
            for row, action in zip(rows, actions_now, strict=True):
                ahead = copy.deepcopy(environment)
                ahead.step({**actions, seat: action})
                # Where chance follows, `after` is the position before it.
                reached = getattr(ahead, "after", None) or ahead.observation  # type: ignore[attr-defined]
                seen = reached(seat)
                if row.ndim > seen.ndim:  # stages of the action; the last is where it led
                    row = row[-1]
                np.testing.assert_array_equal(row, seen)


def test_scenes_show_every_legal_action(case: tuple[str, dict[str, Any]]) -> None:
    environment, rng = make(case), random.Random(2)
    spec = environment.init()
    for turn, _ in play(environment, 7, rng):
        for seat in (None, *range(spec.seats)):
            scene = environment.scene(seat)
            assert scene is not None
            assert all(0 <= each.cell < len(scene.cells) for each in scene.pieces)
            for cell in scene.cells:
                assert -0.1 <= cell.x <= cell.x + cell.width <= scene.width + 0.1
                assert -0.1 <= cell.y <= cell.y + cell.height <= scene.height + 0.1
            for choice in scene.choices:
                assert all(0 <= number < len(scene.cells) for number in choice.cells)
                assert all(0 <= number < len(scene.cards) for number in choice.cards)
            acts = turn.to_act and (
                seat in turn.to_act or (seat is None and spec.perfect_information)
            )
            view = next((v for v in turn.seats if v.seat in turn.to_act), None)
            expected = legal_of(view) if acts and view is not None else []
            assert [choice.action for choice in scene.choices] == expected
            pointed = [(*choice.cells, -1, *choice.cards) for choice in scene.choices]
            assert len(set(pointed)) == len(pointed), "two actions are pointed at alike"
            assert codec.decode(codec.encode(scene)) is not None


def test_symmetric_observations_have_symmetric_actions(case: tuple[str, dict[str, Any]]) -> None:
    """Playing the symmetric actions leads to the symmetric observations."""
    environment = make(case)
    if hasattr(environment, "after"):
        pytest.skip("chance is not symmetric; the game's own tests look at one move")
    for symmetry in environment.init().symmetries:
        if not symmetry.actions:
            continue
        rng, other = random.Random(3), make(case)
        theirs = other.start(0)
        for turn, actions in play(environment, 0, rng):
            for view, image in zip(turn.seats, theirs.seats, strict=True):
                flat = np.asarray(view.observation).ravel()
                np.testing.assert_array_equal(
                    flat[symmetry.observation], np.asarray(image.observation).ravel()
                )
            if actions:
                theirs = other.step({s: symmetry.actions[a] for s, a in actions.items()})


def test_a_fork_goes_its_own_way(case: tuple[str, dict[str, Any]]) -> None:
    environment, rng = make(case), random.Random(6)
    spec = environment.init()
    for turn, _ in play(environment, 2, rng):
        if not turn.to_act:
            break
        seat = turn.to_act[0]
        before = environment.text()
        fork = environment.fork(seat, 11)
        assert fork.text(seat) == environment.text(seat)
        view = next(view for view in turn.seats if view.seat == seat)
        fork.step({each: legal_of(view)[-1] for each in turn.to_act})
        assert environment.text() == before
    assert spec.seats >= 1


def test_it_can_be_served(case: tuple[str, dict[str, Any]]) -> None:
    """Spec, turns, text and scenes travel."""
    kind = plugins.find("environment", case[0])
    host = EnvironmentHost([kind])
    (offer,) = host.offers()
    assert offer.description.endswith(".")
    json.dumps(offer.parameters)
    assert all(each.get("description") for each in offer.parameters.values())
    (spec,) = host.handle([m.Open(1, case[0], case[1])])
    assert isinstance(spec, Spec)
    wants: list[m.Want] = ["text", "scene"]
    if spec.afterstates:
        wants.append("afterstates")
    (turn,) = host.handle([m.EnvironmentStart(1, 2, 3, [wants] * spec.seats)])
    for message in (spec, turn):
        decoded = msgspec.msgpack.decode(codec.encode(message), strict=False)
        assert decoded["type"] in ("spec", "turn")
    assert isinstance(turn, Turn)
    view = next(view for view in turn.seats if view.seat in turn.to_act)
    assert view.text
