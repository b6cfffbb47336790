"""OpenSpiel's bots and solvers as agents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail.protocol.messages import Thoughts
from dovetail.protocol.spaces import Sequence, Text
from dovetail_agents.learning.memory import room
from dovetail_agents.learning.saving import become, pack, unpack, wrong
from dovetail_bridges.openspiel import games

Probability = Annotated[float, Meta(ge=0, le=1)]
NODES = 300_000
"""Maximum positions of a game to solve."""


class MCTSParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``OpenSpielMCTS``."""

    simulations: Annotated[int, Meta(ge=1, le=10_000_000, description="Simulations a move.")] = 500
    uct_c: Annotated[float, Meta(gt=0, description="The weight of exploration.")] = 2.0
    rollouts: Annotated[int, Meta(ge=1, le=10_000, description="Random games a leaf.")] = 1
    memory_mb: Annotated[int, Meta(ge=1, le=65_536, description="Memory for the tree.")] = 256
    solve: Annotated[bool, Meta(description="Whether to back up proven values.")] = True


class OpenSpielMCTS(Agent[MCTSParameters]):
    """OpenSpiel's Monte Carlo tree search, for its games of perfect information.

    It rebuilds the position from the history, so the environment needs ``observe = "history"``.
    """

    name = "openspiel-mcts"
    packages = ("pyspiel",)
    needs = Needs(actions="discrete", legal="list")

    def init(self, seat: Seat) -> None:
        _needs_form(self.name, seat, Sequence, "history")
        room(self.parameters.memory_mb << 20, f"agent {self.name}, option 'memory_mb': its tree")
        game = games.load(seat.spec.name)
        kind, pyspiel = game.get_type(), games.library()
        if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
            raise DovetailError(f"{self.name} plays games in turns only, not {seat.spec.name}")
        if kind.reward_model != pyspiel.GameType.RewardModel.TERMINAL:
            raise DovetailError(
                f"{self.name} plays games that pay at the end only, not {seat.spec.name}"
            )

    def step(self, decision: Decision) -> Any:
        given, pyspiel = self.parameters, games.library()
        game = games.load(decision.seat.spec.name)
        state = game.new_initial_state()
        for action in decision.observation:
            state.apply_action(action)
        evaluator = pyspiel.RandomRolloutEvaluator(given.rollouts, decision.rng.getrandbits(31))
        bot = pyspiel.MCTSBot(
            game,
            evaluator,
            given.uct_c,
            given.simulations,
            given.memory_mb,
            given.solve,
            decision.rng.getrandbits(31),
            False,
        )
        try:
            return int(bot.step(state))
        except Exception as error:  # its library's own, of whatever type
            why = " ".join(str(error).split())[:200]
            raise Forfeit(
                "unavailable", f"{self.name} raised {type(error).__name__}: {why}"
            ) from None


class PolicyParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``OpenSpielPolicy``."""

    solver: Annotated[
        Literal["cfr+", "cfr", "uniform"],
        Meta(description="Counterfactual regret minimisation, or every action alike."),
    ] = "cfr+"
    iterations: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Iterations of the solver.")
    ] = 1000


class _Table(Struct):
    """The state of an ``OpenSpielPolicy``."""

    game: str = ""
    table: dict[str, Annotated[list[tuple[int, Probability]], Meta(min_length=1)]] = {}


class OpenSpielPolicy(Agent[PolicyParameters]):
    """A tabular policy for a small game of OpenSpiel, computed by a solver when it takes a seat.

    It needs the seat's knowledge as text, so the environment needs ``observe = "string"``.
    """

    name = "openspiel-policy"
    packages = ("pyspiel",)
    needs = Needs(actions="discrete", legal="list")
    capacity = 0

    def __init__(self, parameters: PolicyParameters | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._table = _Table()

    def init(self, seat: Seat) -> None:
        _needs_form(self.name, seat, Text, "string")
        if self._table.game != seat.spec.name:
            self._table = _Table(seat.spec.name, _solved(seat.spec.name, self.parameters))

    def step(self, decision: Decision) -> Any:
        assert decision.legal is not None
        row = self._table.table.get(decision.observation)
        if row is None:
            row = [(action, 1 / len(decision.legal)) for action in decision.legal]
        actions, weights = zip(*row, strict=True)
        if decision.think:
            shares = dict(row)
            decision.thoughts = Thoughts(
                probabilities=[shares.get(each, 0.0) for each in decision.legal]
            )
        return decision.rng.choices(actions, weights)[0]

    def save(self) -> bytes:
        return pack(self.name, 1, self.parameters, self.seed, self._table)

    def load(self, state: bytes) -> None:
        saved = unpack(self.name, state, 1, PolicyParameters, _Table)
        other = type(self)(saved.parameters, saved.seed)
        other._table = saved.settings
        if not all(any(share for _, share in row) for row in other._table.table.values()):
            raise wrong(self.name, "a position without a move")
        become(self, other)


def _needs_form(who: str, seat: Seat, kind: type[Any], form: str) -> None:
    """Refuse a game with another form of observation."""
    if not isinstance(seat.spec.observation_spaces[0], kind):
        raise DovetailError(
            f"{who} needs OpenSpiel's games with the option observe={form!r}; "
            f"{seat.spec.name} is observed otherwise"
        )


def _solved(name: str, given: PolicyParameters) -> dict[str, list[tuple[int, Probability]]]:
    """Return a solver's average policy: actions with probabilities by information state."""
    if given.solver == "uniform":
        return {}
    game, pyspiel = games.load(name), games.library()
    if game.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise DovetailError(f"openspiel-policy solves games in turns only, not {name}")
    if not _small(game):
        raise DovetailError(
            f"openspiel-policy solves small games only; {name} has more than {NODES:,} positions"
        )
    solver = (pyspiel.CFRPlusSolver if given.solver == "cfr+" else pyspiel.CFRSolver)(game)
    for _ in range(given.iterations):
        solver.evaluate_and_update_policy()
    table = solver.tabular_average_policy().policy_table()
    return {str(key): [(int(a), float(p)) for a, p in row] for key, row in table.items()}


def _small(game: Any) -> bool:
    """Return whether a game's tree has at most ``NODES`` positions."""
    waiting, seen = [game.new_initial_state()], 0
    while waiting:
        state = waiting.pop()
        seen += 1
        if seen + len(waiting) > NODES:
            return False
        waiting += [state.child(action) for action in state.legal_actions()]
    return True
