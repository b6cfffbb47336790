"""A seat in one of our games as a ``gymnasium.Env``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import data_equivalence
from numpy.typing import NDArray

from dovetail.client.sitting import Illegal, sit
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Mode
from dovetail_bridges import conversion


class DovetailEnv(gymnasium.Env):
    """A seat in a game; the other seats are agents, whose turns pass inside ``step``.

    ``info`` has ``action_mask`` (int8, shape (n,), counted from 0) where the actions are numbers,
    ``reason``, which is empty before the end, and at the end ``outcome`` (if there are scores) and
    ``blame`` (the seat at fault, or -1).  A key has one type in every step, as vectors need it.  If
    an episode ends before the seat must act, ``reset`` returns with ``info["over"]``, and the next
    ``step`` returns the end, whatever the action.

    Args:
        game: an environment's name or class.
        opponent: the agents of the other seats: a name or class, an ``Agent``, an ``Opponent``, or
            a list with one for each.
        seat: this seat's number, or ``"alternate"`` to take the next seat in each episode.
        configuration: the environment's options.
        illegal: the effect of an illegal action: the forfeit's reward, a random legal action
            instead, truncation, or the exception IllegalAction.
        mode: whether the opponents may learn.
        connect: a broker's address; None plays in this program.
        token: the broker's access token.
        max_turns: truncate episodes after this many turns of all seats.
        patience: seconds to wait for the game and the opponents.
        register: objects that parameters may name, as for ``dovetail agent --register``.
        render_mode: ``ansi`` returns the position as text from ``render``, ``human`` prints it.

    Raises:
        DovetailError: the game or an opponent does not exist, or the options are invalid.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "human"], "render_fps": 4}

    def __init__(
        self,
        game: Any,
        opponent: Any = "random",
        seat: int | Literal["alternate"] = 0,
        *,
        configuration: dict[str, Any] | None = None,
        illegal: Illegal = "forfeit",
        mode: Mode = "evaluate",
        connect: str | None = None,
        token: str | None = None,
        max_turns: int | None = None,
        patience: float | None = 60.0,
        register: Sequence[str] = (),
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise DovetailError(f"render_mode {render_mode!r} does not exist; use ansi or human")
        self.render_mode = render_mode
        options: dict[str, Any] = {
            "seat": seat,
            "configuration": configuration,
            "illegal": illegal,
            "mode": mode,
            "connect": connect,
            "token": token,
            "max_turns": max_turns,
            "patience": patience,
            "register": register,
        }
        self._made = {"game": game, "opponent": opponent, "render_mode": render_mode, **options}
        self._actions_taken: list[Any] | None = None
        """The actions of the current episode; None before the first."""
        wants = () if render_mode is None else ("text",)
        self._sitting = sit(game, opponent, wants=wants, **options)
        spec = self._sitting.spec
        for spaces in (spec.observation_spaces, spec.action_spaces):
            if seat == "alternate" and any(each != spaces[0] for each in spaces):
                self._sitting.close()
                raise DovetailError(
                    f"the seats of {spec.name} have different spaces; name one seat instead of "
                    "alternate"
                )
        self._observations = self._sitting.observation_space
        self._actions = self._sitting.action_space
        self.observation_space = conversion.to_space(self._observations)
        self.action_space = conversion.to_space(self._actions)
        self._mask: NDArray[np.int8] | None = None
        self._seen: Any = None
        self._text = ""
        self._seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; a seed starts the series of a run with that master seed."""
        super().reset(seed=seed)
        master = seed
        if master is None and not self._seeded:
            master = int(self.np_random.integers(1 << 62))
        self._seeded = True
        self._seen = None
        observation, info = self._sitting.reset(seed=master)
        self._actions_taken = []
        return self._observed(observation), self._described(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act, and let the others act until this seat's next decision."""
        answer = conversion.from_value(self._actions, action)
        observation, reward, terminated, truncated, info = self._sitting.step(answer)
        if self._actions_taken is not None:
            self._actions_taken.append(answer)
        described = self._described(info)
        return self._observed(observation), reward, terminated, truncated, described

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of the current decision in MaskablePPO's form: bool, shape (n,)."""
        if self._mask is None:
            raise DovetailError("the actions of this game are not numbers; there is no mask")
        return self._mask.astype(bool)

    def render(self) -> Any:
        """Return the position as text, or print it."""
        if self.render_mode == "ansi":
            return self._text
        if self.render_mode == "human":
            print(self._text)
        return None

    def close(self) -> None:
        """Leave the game."""
        self._sitting.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the recipe for copies and pickles, which replay the episode."""
        if self._made["connect"] is not None or self._made["mode"] == "learn":
            raise DovetailError(
                "an environment at a broker, or whose opponents learn, cannot be copied or "
                "pickled; make another with gymnasium.make"
            )
        random = (self._np_random, self._np_random_seed, self._seeded)
        position = (self._sitting.place, self._actions_taken, self._seen)
        return _again, (type(self), self._made, random, position)

    def _follow(self, place: tuple[int, int], actions: list[Any], seen: Any) -> None:
        """Replay an episode, up to a position in which the seat observes ``seen``."""
        observation, info = self._sitting.seek(*place)
        self._observed(observation)
        for action in actions:
            observation, *_, info = self._sitting.step(action)
            self._observed(observation)
        self._described(info)
        self._actions_taken = list(actions)
        if not data_equivalence(self._seen, seen):
            self.close()
            raise DovetailError(
                "this episode cannot be copied or pickled: it differed when it was replayed; "
                "a game or an opponent does not follow its seed"
            )

    def _observed(self, observation: Any) -> Any:
        if observation is not None:  # a forfeit shows nothing new to the seats that did not act
            self._seen = conversion.to_value(self._observations, observation)
        elif self._seen is None:
            self._seen = conversion.zeros(self._observations)
        return self._seen

    def _described(self, info: dict[str, Any]) -> dict[str, Any]:
        legal = info.pop("legal")
        del info["episode"]  # the broker's number, which no seed repeats
        self._text = info.get("text") or ""
        info.setdefault("reason", "")  # some replay buffers take an absent text for NaN
        if info["over"]:
            info["blame"] = -1 if info["blame"] is None else info["blame"]
            if info["outcome"] is None:
                del info["outcome"]
        self._mask = conversion.to_mask([] if info["over"] else legal, self._actions)
        if self._mask is not None:
            info["action_mask"] = self._mask
        if self.render_mode == "human":
            self.render()
        return info


def _again(
    kind: type[DovetailEnv],
    made: dict[str, Any],
    random: tuple[Any, Any, bool],
    position: tuple[tuple[int, int], list[Any] | None, Any],
) -> DovetailEnv:
    """Return a copy of an environment."""
    env = kind(**made)
    env._np_random, env._np_random_seed, env._seeded = random
    place, actions, seen = position
    if actions is not None:
        env._follow(place, actions, seen)
    return env
