"""Base classes of games: ``ArrayGame`` has a compiled form, ``BoardGame`` two seats that take
turns."""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct

from dovetail.peer.environments.environment import Environment, Spec, Turn
from dovetail.protocol.messages import Symmetry
from dovetail.protocol.spaces import Box, Discrete

C = TypeVar("C", bound=Struct)

if TYPE_CHECKING:
    from dovetail.peer.environments.vector import VectorEnvironment


class ArrayGame(Environment[C]):
    """A game that compiled code can also play as arrays, many episodes at once."""

    arrays: ClassVar[str] = ""
    """Vector environment as ``module:Class``; not inherited by subclasses."""

    @classmethod
    def vector(cls, configuration: Any, slots: int) -> VectorEnvironment | None:
        module, _, name = str(cls.__dict__.get("arrays", "")).partition(":")
        if not module or find_spec("numba") is None:
            return None
        kind = getattr(import_module(module), name)
        found: VectorEnvironment = kind(configuration, slots, cls(configuration))
        return found


class BoardState(Protocol):
    """A board game's position with its rules."""

    @property
    def mover(self) -> int:
        """Seat to move."""

    @property
    def over(self) -> bool:
        """True once the game is over."""

    def legal(self) -> list[int]:
        """Return the legal actions in ascending order."""


P = TypeVar("P", bound=BoardState)


class BoardGame(ArrayGame[C], Generic[C, P]):
    """A game of two seats that take turns, with perfect information; ``board`` is its position."""

    seat_counts = (2,)

    def __init__(self, configuration: C | None = None) -> None:
        super().__init__(configuration)
        self.board: P = self.first_position()

    @abstractmethod
    def first_position(self) -> P:
        """Return the initial position of an episode.

        Raises:
            DovetailError: the configuration is invalid; the message names the option.
        """

    @abstractmethod
    def observation(self, seat: int) -> Any:
        """Return a seat's observation."""

    def spec(
        self,
        observations: Box,
        actions: int,
        max_turns: int,
        symmetries: list[Symmetry],
        *,
        most: float = 1.0,
        forfeit: float = 1.0,
        discount: float = 1.0,
    ) -> Spec:
        """Return the spec of a game without chance.

        Args:
            observations: the observation space of both seats.
            actions: the number of actions.
            max_turns: the maximum turns of an episode.
            symmetries: the symmetries of the board.
            most: the largest reward, and the largest loss.
            forfeit: the loss of a seat that gives up, and the other's gain.
            discount: the discount that the game proposes.
        """
        return Spec(
            name=self.name,
            seats=2,
            observation_spaces=[observations],
            action_spaces=[Discrete(actions)],
            reward_range=(-most, most),
            discount=discount,
            perfect_information=True,
            afterstates=True,
            forfeit=(-forfeit, forfeit),
            max_turns=max_turns,
            symmetries=symmetries,
        )

    def ask(self) -> Turn:
        """Return a turn that asks the mover."""
        board = self.board
        return Turn.ask(board.mover, self.observation(board.mover), board.legal())

    def end(self, winner: int | None, reward: float = 1.0) -> Turn:
        """End the episode in a draw, or with a winner, who gets the reward that the other loses."""
        rewards = [0.0, 0.0]
        if winner is not None:
            rewards[winner], rewards[1 - winner] = reward, -reward
        winners = [0, 1] if winner is None else [winner]
        return Turn.end(map(self.observation, (0, 1)), rewards, winners=winners)
