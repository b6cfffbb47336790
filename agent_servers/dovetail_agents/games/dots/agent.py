"""The player of the dots and boxes study as an agent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Decision, End, Needs, Seat
from dovetail.peer.agents.sampling import pick
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import LimitedNatural, LimitedReal
from dovetail_agents.games.dots.kernels import MOST_LINES
from dovetail_agents.games.dots.position import FEATURES, DotsPosition, DotsSearch, grid_of
from dovetail_agents.learning.linear_td import Considered, LinearTD, LinearTDParameters
from dovetail_agents.learning.step_size import StepSize
from dovetail_games.dots.rules import Grid

Array = NDArray[Any]

WEIGHTS: dict[str, list[float]] = {
    "zeros": [0.0] * FEATURES,
    "begin": [0.11375, -0.199837, 0.19999663, 0.312796911, -0.12468174, -0.28232689, 0.4126867],
    "end": [
        *(-0.211834811991761, 0.1238388188748348, -0.284896979262, 0.6421911688),
        *(0.792698699782, -0.696428397647, 0.89381618123737),
    ],
}
"""The study's weights before and after learning, where its scan is legible."""


class DotsParameters(LinearTDParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``DotsPlayer``."""

    learning_rate: Annotated[
        float,
        Meta(
            ge=0,
            le=10,
            description="Divided by the visits of a feature vector (the study's c, unreadable "
            "in its scan; 0.5 diverges on 4 x 4 dots).",
        ),
    ] = 0.02
    power: Annotated[
        float,
        Meta(
            ge=0,
            le=2,
            description="The rate is divided by the number of meetings raised to this power; the "
            "study's is 1.",
        ),
    ] = 1.0
    target: Annotated[
        Literal["predicted", "actual", "leaf"],
        Meta(
            description="Target of a value: predicted, the value after the own action and the "
            "replies that the search expects; actual, the value at the seat's next decision, or "
            "the boxes won minus those lost; leaf, as actual, but of the positions at the end of "
            "the expected lines"
        ),
    ] = "actual"
    weights: Annotated[
        Literal["zeros", "begin", "end"] | list[LimitedReal],
        Meta(description="Initial weights: zeros, the study's by name, or seven numbers."),
    ] = "begin"
    turns: Annotated[
        int,
        Meta(
            ge=1,
            le=60,
            description="Turns to look ahead; who completes a box draws again within a turn.",
        ),
    ] = 4
    most_positions: Annotated[
        LimitedNatural,
        Meta(
            description="Maximum positions per decision, beyond which it looks less far ahead; "
            "0 for no limit. On 5 x 5 dots and more a turn can take boxes in millions of ways.",
        ),
    ] = 0
    rows: Annotated[
        int, Meta(ge=0, le=20, description="Rows of dots, where a board is not square.")
    ] = 0


class DotsPlayer(LinearTD[DotsParameters]):
    """Dots and boxes: looks ahead by alpha-beta over the study's seven features, with learned
    weights.

    The features: boxes with no line, one, two and three lines, own boxes, the opponent's, and the
    constant 1. The step size is ``learning_rate / N ** power``, where N is the number of times that
    the same features were met.
    """

    name = "dots-player"
    needs = Needs(game="dots", seats=2, legal="list")
    answers = (*LinearTD.answers, "limited")

    def __init__(self, parameters: DotsParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._met: dict[bytes, int] = {}
        self._search = DotsSearch(self.weights, most=self.parameters.most_positions)

    def first_weights(self) -> list[float]:
        given = self.parameters.weights
        found = WEIGHTS[given] if isinstance(given, str) else given
        if len(found) != FEATURES:
            raise DovetailError(
                f"agent dots-player, option 'weights': {len(found)} weights; {FEATURES} are needed"
            )
        return found

    def init(self, seat: Seat) -> None:
        self._grid(seat)

    def _grid(self, seat: Seat) -> Grid:
        return grid_of(seat.spec, self.parameters.rows, self.name, MOST_LINES)

    def consider(self, decision: Decision, action: int | None, *, learn: bool) -> Considered:
        position = DotsPosition(decision.observation, self._grid(decision.seat))
        turns = self.parameters.turns
        if action is None:
            lines, values = self._search.root(position, turns)
            action = pick(lines, values, decision.rng)
        elif not 0 <= action < position.grid.lines or position.drawn >> action & 1:
            raise DovetailError(f"the game offers a line that is not free: {action}")
        if not learn:
            return Considered(action, np.empty(0), 0.0)
        if self.parameters.target == "leaf":
            value, line = self._search.line(position, 0, turns)
            leaf, mover = position.copy(), 0
            for each in line:
                mover = leaf.draw(each, mover)
            return Considered(action, leaf.features(), value)
        value = self._search.value(position)
        if self.parameters.target == "actual":
            return Considered(action, position.features(), value)
        after = position.copy()
        mover = after.draw(action)
        if mover == 1 and not after.over:
            for reply in self._search.line(after, 1, max(1, turns - 1))[1]:
                mover = after.draw(reply, mover)
                if mover == 0:
                    break
        return Considered(action, position.features(), value, self._search.value(after))

    def result(self, end: End) -> float | None:
        if end.observation is None:
            return None
        seen = np.asarray(end.observation)
        boxes = self._grid(end.seat).boxes
        lines = len(seen) - 2 * boxes - 1
        return float(seen[lines : lines + boxes].sum()) - float(
            seen[lines + boxes : lines + 2 * boxes].sum()
        )

    def beyond(self, end: End) -> float:
        position = DotsPosition(end.observation, self._grid(end.seat))
        return float(self._search.value(position))

    def rate(self, features: Array) -> float:
        key = features.astype(np.int16).tobytes()
        self._met[key] = self._met.get(key, 0) + 1
        own = self.parameters
        return StepSize(own.learning_rate, power=own.power).at(self._met[key])

    def message(self, body: Any) -> Any:
        """Also answer ``limited``: the number of decisions in which a line used up its share of
        ``most_positions``, and of all decisions, since the agent was created or loaded."""
        if body == "limited":
            return [self._search.limited, self._search.decisions]
        return super().message(body)

    def memory(self) -> dict[bytes, int]:
        return self._met

    def remember(self, memory: dict[bytes, int]) -> None:
        self._met = dict(memory)
        self._search = DotsSearch(self.weights, most=self.parameters.most_positions)
