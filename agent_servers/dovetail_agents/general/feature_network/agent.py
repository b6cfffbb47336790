"""An agent that plays by a feature network, in any game whose afterstates are 2-D boards."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Box
from dovetail_agents.general.feature_network import handmade, kernels
from dovetail_agents.general.feature_network.saved import Genome

Array = NDArray[Any]
Tables = tuple[Array, Array, Array]


class FeatureNetworkParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``FeatureNetwork``."""

    units: Annotated[
        handmade.Preset,
        Meta(
            description="Units set by hand for Tetris: the study's six; ones that give five of "
            "Dellacherie's features exactly; or the study's with weights that were learned."
        ),
    ] = "exact"
    genome: Annotated[
        list[float] | None,
        Meta(
            description="Genes instead, from 0 to 1: for each unit 12 plus the largest of rows, "
            "columns and 9; 32 a unit on 20 x 10. A state that training has saved takes the "
            "place of both."
        ),
    ] = None


def boards(afterstates: Any, observation: Any) -> Array:
    """Return the boards of each action: int64, shape (actions, planes, rows, columns).

    Afterstates of shape (actions, planes, rows, columns) are returned as they are. Those of shape
    (actions, rows, columns) become three planes: the change from the observation, if that has or
    contains a board of the same shape, else the afterstate; then the afterstate twice. So genes
    mean nearly the same as with Tetris' three boards.

    Raises:
        DovetailError: they have another shape.
    """
    after: Array = np.asarray(afterstates)
    if after.ndim not in (3, 4) or not after.size or after.dtype.kind not in "biu":
        raise DovetailError(
            "feature-network needs whole-number boards of rows x columns, or several of them, "
            f"for each action; the afterstates have shape {list(after.shape)} and type "
            f"{after.dtype}"
        )
    after = after.astype(np.int64)
    if after.ndim == 4:
        return after
    change = after
    held = observation.values() if isinstance(observation, dict) else [observation]
    for each in held:
        if isinstance(each, np.ndarray) and each.shape == after.shape[1:]:
            change = after - each.astype(np.int64)
            break
    return np.stack([change, after, after], 1)


class FeatureNetwork(Agent[FeatureNetworkParameters]):
    """Takes the action whose board the network values most; ties go to the first.

    The network is the study's: a weighted sum of units, each a small program chosen by genes. It
    knows no game, and never changes during play: ``dovetail_studies.tetris.train`` searches for
    genomes.
    """

    name = "feature-network"
    needs = Needs(afterstates=True, legal="list")
    capacity = 0

    def __init__(self, parameters: FeatureNetworkParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.genome: Genome | None = None
        self._tables: dict[tuple[int, int, int], Tables] = {}
        given = self.parameters.genome
        if given is not None and not all(0 <= gene <= 1 for gene in given):
            raise DovetailError("agent feature-network, option 'genome': genes are from 0 to 1")

    def init(self, seat: Seat) -> None:
        space = seat.spec.observation_spaces[0]
        if isinstance(space, Box) and len(space.shape) == 1:
            raise DovetailError(
                "feature-network needs boards of rows x columns, and this game shows rows of "
                f"{space.shape[0]} numbers"
            )

    def tables(self, planes: int, rows: int, columns: int) -> Tables:
        """Return the network for a kind of board, as arrays for compiled code.

        Raises:
            DovetailError: the genome or the units are for another kind.
        """
        board = (planes, rows, columns)
        if board not in self._tables:
            self._tables[board] = self._saved(*board).network(*board).tables()
        return self._tables[board]

    def _saved(self, planes: int, rows: int, columns: int) -> Genome:
        if self.genome is not None:
            return self.genome
        given = self.parameters.genome
        if given is not None:
            return Genome(1, planes, rows, columns, given)
        return Genome.of(handmade.network(self.parameters.units, planes, rows, columns))

    def step(self, decision: Decision) -> int:
        legal = decision.legal
        assert legal is not None
        found = boards(decision.afterstates, decision.observation)
        values = kernels.values(found, *self.tables(*found.shape[1:]))
        return legal[int(values.argmax())]

    def save(self) -> bytes:
        """Return the genome; empty if the parameters determine it."""
        return b"" if self.genome is None else self.genome.bytes()

    def load(self, state: bytes) -> None:
        """Use a genome saved by an agent or by training."""
        self.genome = Genome.read(state) if state else None
        self._tables.clear()
