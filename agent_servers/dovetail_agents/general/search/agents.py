"""Alpha-beta, simulated rollouts and Monte Carlo tree search as agents."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from dovetail.peer import options
from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat, Thoughts
from dovetail.peer.environments.environment import Environment
from dovetail.peer.registry import names, registered
from dovetail.protocol.errors import DovetailError, Refused
from dovetail.protocol.messages import Spec
from dovetail.protocol.outside import LimitedNatural, LimitedPositive
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Space
from dovetail_agents.general.search import alpha_beta, mcts, rollouts
from dovetail_agents.general.search.evaluations import EVALUATIONS
from dovetail_agents.general.search.tree import LocalRules, Node, Search, asked, root


class SearcherParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters shared by all players that search."""

    source: Annotated[
        Literal["auto", "rules", "lookahead"],
        Meta(
            description="rules: an environment of this program, placed at what the seat observes; "
            "lookahead: the environment itself is asked; auto: rules if they can be placed, else "
            "lookahead"
        ),
    ] = "auto"
    configuration: Annotated[
        dict[str, Any], Meta(description="With rules: the environment's options, as the run's.")
    ] = {}


S = TypeVar("S", bound=SearcherParameters)
Rules = dict[str, tuple[Environment, Sequence[Space]]]


def _prepare(
    name: str, parameters: SearcherParameters, rules: Rules, spec: Spec, lookahead: bool
) -> None:
    """Create local rules for a game, unless the search uses lookahead.

    Raises:
        Refused: lookahead is needed, and the run does not allow it.
        DovetailError: the game cannot be searched.
    """
    if parameters.source == "lookahead":
        why = "its `source` is lookahead"
    else:
        try:
            _place(parameters, rules, spec)
            return
        except DovetailError as error:
            why = str(error)
    if parameters.source == "rules":
        raise DovetailError(f"{name} cannot search {spec.name} by its own rules: {why}")
    if not lookahead:
        raise Refused("lookahead", f"{name} cannot search {spec.name} without lookahead: {why}")


def _place(parameters: SearcherParameters, rules: Rules, spec: Spec) -> None:
    """Create local rules for a game.

    Raises:
        DovetailError: there are none, or they are of another game.
    """
    if spec.name not in rules:
        if spec.name not in names("environment"):
            raise DovetailError("serve it with rules of that game (--register environment:...)")
        kind = registered("environment", spec.name)
        given = options.read(
            kind.Configuration, parameters.configuration, f"environment {spec.name}"
        )
        made: Environment = kind(given)
        if type(made).place is Environment.place:
            raise DovetailError("its rules cannot be placed at an observation")
        rules[spec.name] = made, made.init().observation_spaces
    if rules[spec.name][1] != spec.observation_spaces:
        raise DovetailError(
            "its own rules differ; set its `parameters.configuration` to the environment's"
        )


class Searcher(Agent[S]):
    """A player that searches, by lookahead or on its own copy of the game."""

    needs = Needs(legal="list")
    capacity = 0

    def __init__(self, parameters: S | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self._rules: Rules = {}
        """By game, an environment to place at a position, and its seats' observation spaces."""

    def init(self, seat: Seat) -> None:
        _prepare(self.name, self.parameters, self._rules, seat.spec, seat.lookahead)

    @classmethod
    def check_game(cls, parameters: S, spec: Spec, lookahead: bool) -> None:
        _prepare(cls.name, parameters, {}, spec, lookahead)

    def _here(self, spec: Spec) -> Environment | None:
        """Return local rules for a game; None to use lookahead."""
        made, seen = self._rules.get(spec.name, (None, ()))
        return made if seen == spec.observation_spaces else None

    def step(self, decision: Decision) -> Any:
        legal = decision.legal
        assert legal is not None
        if len(legal) == 1:
            return legal[0]
        seat = decision.seat.seat
        seats = decision.seat.spec.seats
        rules = self._here(decision.seat.spec)
        search = self.search(decision, root(seat, seats, legal, decision.observation, rules))
        if rules is None:
            return asked(search, derive(decision.seed, "lookahead", decision.turn))
        rules.place(seat, decision.observation)
        return LocalRules().run(search)

    @abstractmethod
    def search(self, decision: Decision, start: Node) -> Search:
        """Return a search that results in an action."""


def _clock(decision: Decision, seconds: float) -> Callable[[], bool] | None:
    """Return a test for the end of thinking time: ``seconds``, or a fair share of the clock."""
    limits = [seconds] if seconds else []
    clock = decision.clock
    if clock is not None:
        if clock.decision is not None:
            limits.append(0.8 * clock.decision)
        if clock.left is not None:
            limits.append(max(0.0, clock.left) / 20)
    if not limits:
        return None
    end = time.monotonic() + min(limits)
    return lambda: time.monotonic() >= end


class EvaluatedParameters(SearcherParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of searchers with a horizon."""

    evaluation: Annotated[
        str,
        Meta(
            description="Evaluation at the horizon: open_fours, for Connect Four, or "
            "the name of a registered evaluation, a function of a Node and a seat. Empty: only "
            "rewards count."
        ),
    ] = ""


class AlphaBetaParameters(EvaluatedParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``AlphaBetaAgent``."""

    depth: Annotated[int, Meta(ge=1, le=100, description="Maximum plies to look ahead.")] = 4
    nodes: Annotated[
        LimitedNatural, Meta(description="Maximum positions per decision; 0 for no limit.")
    ] = 0
    seconds: Annotated[
        float, Meta(ge=0, description="Time for a decision; 0 for no limit but the clock's.")
    ] = 0.0
    prune: Annotated[bool, Meta(description="False: plain minimax at the full depth.")] = True
    table: Annotated[bool, Meta(description="Remember positions that were reached.")] = True
    quiescence: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="Plies beyond the horizon in which to follow actions that earn "
            "something at once or end the game.",
        ),
    ] = 0


E = TypeVar("E", bound=EvaluatedParameters)


class Evaluated(Searcher[E]):
    """A searcher with a horizon."""

    def __init__(self, parameters: E | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.evaluate: alpha_beta.Evaluate = alpha_beta.nothing
        if self.parameters.evaluation:
            self.evaluate = registered(
                "evaluation",
                self.parameters.evaluation,
                EVALUATIONS,
                who=f"agent {self.name}, option 'evaluation'",
            )


class AlphaBetaAgent(Evaluated[AlphaBetaParameters]):
    """Works out all replies some turns ahead, by alpha-beta, and plays one of the best actions.

    At the horizon it uses the rewards so far and ``evaluation``. With ``prune`` false it is plain
    minimax.
    """

    name = "alpha-beta"

    def search(self, decision: Decision, start: Node) -> Search:
        given = self.parameters
        perfect = decision.seat.spec.perfect_information
        search = alpha_beta.AlphaBeta(
            decision.seat.seat,
            self.evaluate,
            prune=given.prune,
            table=given.table and perfect,
            limit=given.nodes,
            quiescence=given.quiescence,
        )
        found = yield from search.deepen(start, given.depth, _clock(decision, given.seconds))
        if decision.think:
            values = [found.values.get(action, math.nan) for action in start.legal]
            text = f"depth {found.depth}, {found.nodes} positions; other values are bounds"
            decision.thoughts = Thoughts(values, text=text)
        return alpha_beta.pick(found, decision.rng)


class RolloutsParameters(EvaluatedParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Rollouts``; defaults are the Amazons study's."""

    depth: Annotated[int, Meta(ge=1, le=100, description="Plies to look ahead.")] = 2
    candidates: Annotated[
        LimitedPositive, Meta(description="Number of best actions to play out.")
    ] = 5
    rollout_depth: Annotated[
        int, Meta(ge=1, le=100, description="Plies of search in the rollouts.")
    ] = 2
    rollout_actions: Annotated[
        LimitedNatural,
        Meta(
            description="Actions of a rollout at most, then who has earned most has won; 0 plays "
            "to the end.",
        ),
    ] = 0


class Rollouts(Evaluated[RolloutsParameters]):
    """Ranks actions by alpha-beta, plays out the best by search on both sides, and takes one that
    won.

    This is the Amazons study's player, for any game: five candidates and depth 2 throughout; the
    choice is random among those that won, or among all five if none did.
    """

    name = "rollouts"

    def search(self, decision: Decision, start: Node) -> Search:
        given = self.parameters
        found = rollouts.search(
            start,
            decision.rng,
            self.evaluate,
            depth=given.depth,
            candidates=given.candidates,
            rollout_depth=given.rollout_depth,
            rollout_actions=given.rollout_actions,
            table=decision.seat.spec.perfect_information,
        )
        return (yield from found)


class Greedy(Searcher[SearcherParameters]):
    """Takes the action that pays most at once and looks no further; ties are broken at random."""

    name = "greedy"

    def search(self, decision: Decision, start: Node) -> Search:
        search = alpha_beta.AlphaBeta(decision.seat.seat, table=False)
        found = yield from search.deepen(start, 1)
        return alpha_beta.pick(found, decision.rng)


class MCTSParameters(SearcherParameters, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``MCTSAgent``."""

    simulations: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Maximum number of games played out per decision; the tree keeps each.",
        ),
    ] = 200
    exploration: Annotated[
        float,
        Meta(
            ge=0,
            description="Exploration constant of UCT; a higher one favours actions that were "
            "tried less.",
        ),
    ] = 1.4
    seconds: Annotated[
        float, Meta(ge=0, description="Time for a decision; 0 for no limit but the clock's.")
    ] = 0.0


class MCTSAgent(Searcher[MCTSParameters]):
    """Plays random games from each action and prefers those that win: Monte Carlo tree search by
    UCT (Kocsis and Szepesvari 2006)."""

    name = "mcts"

    def search(self, decision: Decision, start: Node) -> Search:
        given = self.parameters

        def tell(tried: dict[int, tuple[int, float]]) -> None:
            total = sum(visits for visits, _ in tried.values())
            found = [tried.get(action, (0, math.nan)) for action in start.legal]
            decision.thoughts = Thoughts(
                [value for _, value in found],
                [visits / total for visits, _ in found],
                text=f"{total} simulations; probabilities are shares of them",
            )

        found = mcts.search(
            start,
            decision.rng,
            given.simulations,
            given.exploration,
            _clock(decision, given.seconds),
            tell if decision.think else None,
        )
        return (yield from found)
