"""Genome files, written by training, and the saved form of ``feature-network``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_agents.general.feature_network.genome import UnitNetwork, decode, encode, genes


class Genome(Struct, frozen=True, tag_field="agent", tag="dovetail.feature-network"):
    """A genome and the board it is for; JSON on disk."""

    version: Literal[1]
    planes: Annotated[int, Meta(ge=1, le=256)]
    rows: Annotated[int, Meta(ge=1)]
    columns: Annotated[int, Meta(ge=1)]
    genome: list[float]
    made: dict[str, Any] = {}
    """Notes on its origin, for readers."""

    @classmethod
    def of(cls, network: UnitNetwork, made: dict[str, Any] | None = None) -> Self:
        """Return a network's genome with its board."""
        found = encode(network).tolist()
        return cls(1, network.planes, network.rows, network.columns, found, made or {})

    @classmethod
    def of_genes(
        cls,
        values: NDArray[Any],
        board: tuple[int, int, int],
        made: dict[str, Any] | None = None,
    ) -> Self:
        """Return genes with their board, given as planes, rows and columns."""
        return cls(1, *board, np.asarray(values, np.float64).tolist(), made or {})

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Return the genome that ``bytes`` encoded.

        Raises:
            DovetailError: the bytes are not a saved genome.
        """
        try:
            found = msgspec.json.decode(data, type=cls)
        except codec.UNREADABLE as error:
            raise DovetailError(
                f"these bytes are not a saved feature-network: {error!s:.200}"
            ) from None
        found.network()
        return found

    def bytes(self) -> bytes:
        """Return the file's content."""
        return msgspec.json.encode(self) + b"\n"

    def network(self, planes: int = 0, rows: int = 0, columns: int = 0) -> UnitNetwork:
        """Return the network, for this board or another whose units have the same number of genes.

        Raises:
            DovetailError: the genome is for another board.
        """
        wanted = (planes or self.planes, rows or self.rows, columns or self.columns)
        if wanted[0] != self.planes or genes(*wanted[1:]) != genes(self.rows, self.columns):
            raise DovetailError(
                f"this genome is for {self.planes} boards of {self.rows} x {self.columns} for each "
                f"action; the game offers {wanted[0]} of {wanted[1]} x {wanted[2]}"
            )
        return decode(self.genome, *wanted)
