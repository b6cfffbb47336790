"""Recorded games as a dataset for offline learning, in Minari's format.

A dataset has one agent's view: a step is a decision of the agent, and its reward is the sum up to
the next decision, as in our Gymnasium environments.  Actions chosen by the broker, in an opening or
for a late or illegal answer, are not steps.  A forfeit's reward is in the last step.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.peer.extras import needed
from dovetail.peer.presets import declared
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord
from dovetail.protocol.messages import NIL, Spec, View
from dovetail_bridges import conversion
from dovetail_bridges.gymnasium.ids import ids
from dovetail_experiments.records.replay import environment, replay

if TYPE_CHECKING:
    import minari

LARGEST = 4 << 30
"""Maximum bytes of a dataset, which Minari processes as a whole."""
ENVIRONMENT = "dovetail_bridges.gymnasium.to_gymnasium:DovetailEnv"


def create(
    name: str, agent: str, games: Iterable[tuple[EpisodeRecord, int]]
) -> minari.MinariDataset:
    """Write a dataset to Minari's folder (``MINARI_DATASETS_PATH``).

    Args:
        name: a new name such as ``connect-four/td-v0``.
        agent: the agent's name, for the description.
        games: recorded episodes, each with the agent's seat; those in which it never acted are
            skipped.

    Raises:
        DovetailError: there are no games in which it acted, they are of several environments or
            seats with different spaces, the environment is not installed, or Minari refuses the
            name.
    """
    theirs = needed("minari")
    needed("pyarrow")
    games = iter(games)
    first = next(games, None)
    if first is None:
        raise DovetailError(f"there are no games of {agent!r} to make a dataset of")
    record, seat = first
    spec = declared(environment(record))
    if not (spec.observation_spaces and spec.action_spaces):
        raise DovetailError(f"{spec.name} does not say what its observations and actions are")
    of_seat = _spaces(spec, seat)

    def columns() -> Iterator[dict[str, Any] | None]:
        yield _episode(record, seat, spec)
        for each, at in games:
            if (each.environment, each.configuration) != (record.environment, record.configuration):
                raise DovetailError(
                    "the games are of several environments or configurations; one dataset has "
                    f"one: choose a stage that plays only {record.environment}"
                )
            if _spaces(spec, at) != of_seat:
                raise DovetailError(
                    f"the seats of {spec.name} have different spaces; choose one with --seat"
                )
            yield _episode(each, at, spec)

    acted, size = [], 0
    for each in columns():
        if each is not None:
            acted.append(each)
            size += len(each["rewards"]) * _bytes(each)
            if size > LARGEST:
                raise DovetailError(
                    f"the games have more than {LARGEST >> 30} GiB; choose fewer, with --stage or "
                    "--seat"
                )
    if not acted:
        raise DovetailError(
            f"{agent!r} never acted in its games, so there is nothing to learn from"
        )
    buffer = theirs.data_collector.EpisodeBuffer
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an author, a mail address and a link are missing
            return theirs.create_dataset_from_buffers(
                name,
                [buffer(id=number, **each) for number, each in enumerate(acted)],
                env=_spec(record, seat),
                observation_space=conversion.to_space(of_seat[0]),
                action_space=conversion.to_space(of_seat[1]),
                algorithm_name=agent,
                description=f"games of {agent} in {spec.name}, recorded by Dovetail",
                data_format="arrow",
                jpeg_encoding=False,
            )
    except (ValueError, OSError) as error:
        raise DovetailError(f"Minari cannot create {name!r}: {error}") from None


def _spaces(spec: Spec, seat: int) -> tuple[spaces.Space, spaces.Space]:
    """Return a seat's observation and action spaces."""
    return (spec.observation_space(seat), spec.action_space(seat))


def _spec(record: EpisodeRecord, seat: int) -> Any:
    """Return the spec for ``dataset.recover_environment()``: the game against random agents."""
    from gymnasium.envs.registration import EnvSpec

    return EnvSpec(
        ids().get(record.environment, f"dovetail/{record.environment}-v1"),
        entry_point=ENVIRONMENT,
        kwargs={"game": record.environment, "configuration": record.configuration, "seat": seat},
        disable_env_checker=True,
    )


def _episode(record: EpisodeRecord, seat: int, spec: Spec) -> dict[str, Any] | None:
    """Return an episode in Minari's form; None if the seat never acted.

    It has n steps, and n + 1 observations and action masks.
    """
    observed, acting = _spaces(spec, seat)
    result = record.result
    chosen = {turn for turn, whose in record.breached if whose == seat}
    chosen.update(range(len(result.opening)))
    observations: list[Any] = []
    masks: list[Any] = []
    actions: list[Any] = []
    rewards: list[float] = []
    heard = 0.0
    for turns, (_, turn) in enumerate(replay(record)):
        view = next((each for each in turn.seats if each.seat == seat), View(seat=seat))
        heard += view.reward
        if rewards:
            rewards[-1] += view.reward
        if seat not in turn.to_act:
            continue
        seen = conversion.to_value(observed, view.observation)
        if turns < len(record.actions) and turns not in chosen:
            observations.append(seen)
            masks.append(conversion.to_mask(view.legal, acting))
            action = dict(record.actions[turns])[seat]
            actions.append(conversion.to_value(acting, action))
            rewards.append(0.0)
    if not actions:
        return None
    rewards[-1] += result.seats[seat].total - heard  # a forfeit is not in any turn
    if view.observation is NIL:  # stopped from outside the rules: nothing newer was seen
        observations.append(seen)
    else:
        observations.append(conversion.to_value(observed, view.observation))
    ends = [False] * (len(actions) - 1)
    cut = result.reason == "truncated"
    infos = None
    if masks[0] is not None:
        infos = {"action_mask": np.array([*masks, np.zeros_like(masks[0])])}
    return {
        "seed": result.seed,
        "observations": _columns(observed, observations),
        "actions": _columns(acting, actions),
        "rewards": rewards,
        "terminations": [*ends, not cut],
        "truncations": [*ends, cut],
        "infos": infos,
    }


def _bytes(episode: dict[str, Any]) -> int:
    """Return the approximate bytes per step of an episode."""
    masks = (episode["infos"] or {}).get("action_mask")
    row = 0 if masks is None else masks[0].nbytes
    return len(pickle.dumps((episode["observations"], episode["actions"]))) // len(
        episode["rewards"]
    ) + int(row)


def _columns(space: spaces.Space, values: Sequence[Any]) -> Any:
    """Return values of a space in Minari's form: a column for each part of the space."""
    match space:
        case spaces.Dict():
            return {
                key: _columns(each, [value[key] for value in values])
                for key, each in space.spaces.items()
            }
        case spaces.Tuple():
            return tuple(
                _columns(each, [value[number] for value in values])
                for number, each in enumerate(space.spaces)
            )
    return list(values)
