"""Agents as OpenSpiel's bots and policies, for its evaluators.

>>> bots = [bot(Random(), game, 0), bot(QLearning(), game, 1)]
>>> returns = pyspiel.evaluate_bots(game.new_initial_state(), bots, seed=1)
>>> exploitability.exploitability(game, policy(QLearning(), game))
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dovetail.peer.agents.agent import Agent, Decision, End, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Mode, Spec
from dovetail.protocol.seeds import derive
from dovetail_bridges.conversion import from_returns
from dovetail_bridges.openspiel import games
from dovetail_bridges.openspiel.environment import OpenSpiel, Options


def bot(
    agent: Agent,
    game: Any,
    player: int,
    *,
    observe: games.Observe = "auto",
    seed: int = 0,
    mode: Mode = "evaluate",
) -> Any:
    """Return a ``pyspiel.Bot`` that plays an agent.

    Call its ``finish(state)`` at the end, which learners need and OpenSpiel does not report.

    Args:
        agent: the agent.
        game: a game loaded by pyspiel.
        player: the agent's seat.
        observe: the form of observations, as for the environment's option.
        seed: the seed of its episodes.
        mode: whether it may learn.

    Raises:
        DovetailError: the agent cannot play this game.
    """
    games.library()  # says what to install
    import pyspiel

    spec = OpenSpiel(Options(str(game), observe)).init()
    views = games.Views(game, observe)
    seat = _seated(agent, spec, player)

    class DovetailBot(pyspiel.Bot):
        """An agent of Dovetail."""

        def __init__(self) -> None:
            super().__init__()
            self._episode = 0
            self._open = False
            self.restart()

        def restart(self) -> None:
            """Begin another episode."""
            self._episode += 1
            self._seed = derive(derive(seed, "agents"), "seat", self._episode - 1, player)
            self._rng = random.Random(self._seed)
            self._memory = agent.Memory()
            self._return = 0.0
            self._decisions = 0

        def restart_at(self, state: Any) -> None:
            """Begin another episode in a position."""
            self.restart()

        def step(self, state: Any) -> int:
            """Return the agent's action."""
            total = float(state.returns()[player])
            reward, self._return = total - self._return, total
            decision = Decision(
                seat,
                self._episode,
                state.move_number(),
                views.see(state, player),
                list(state.legal_actions(player)),
                reward,
                mode,
                self._rng,
                text=views.text(state, player) if "text" in agent.wants else None,
                seed=self._seed,
                memory=self._memory,
            )
            first, self._decisions = not self._decisions, self._decisions + 1
            action = agent.start(decision) if first else agent.step(decision)
            if type(action) is not int or action not in decision.legal:  # type: ignore[operator]
                raise DovetailError(f"{type(agent).__name__} plays {action!r}, which is not legal")
            return action

        def finish(self, state: Any) -> None:
            """Tell the agent that the episode is over."""
            returns = [float(each) for each in state.returns()]
            agent.end(
                End(
                    seat,
                    self._episode,
                    returns[player] - self._return,
                    views.see(state, player),
                    from_returns(returns),
                    "terminated",
                    None,
                    returns[player],
                    self._decisions,
                    mode,
                    memory=self._memory,
                )
            )

    return DovetailBot()


def _seated(agent: Agent, spec: Spec, player: int) -> Seat:
    """Return the seat of an agent that has taken it."""
    if player not in range(spec.seats):
        raise DovetailError(
            f"player {player} does not exist; {spec.name} has {spec.seats}, numbered from 0"
        )
    agent.needs.check(type(agent).name or type(agent).__name__, spec)
    seat = Seat(0, player, spec)
    agent.init(seat)
    return seat


def policy(
    agent: Agent,
    game: Any,
    players: Sequence[int] | None = None,
    *,
    observe: games.Observe = "auto",
    draws: int = 200,
    seed: int = 0,
) -> Any:
    """Return an OpenSpiel ``Policy`` with an agent's action probabilities.

    They are the agent's ``Thoughts.probabilities``, or else relative frequencies in ``draws``
    answers, each as if it were the first of an episode: an agent with memory within an episode has
    no policy.  Each information state is asked about once.

    Args:
        agent: the agent, in mode ``evaluate``.
        game: a game loaded by pyspiel.
        players: its seats; all if None.
        observe: the form of observations, as for the environment's option.
        draws: the number of answers per state if the agent gives no probabilities.
        seed: the seed of its choices.

    Raises:
        DovetailError: the agent cannot play this game, or plays an action that is not legal.
    """
    games.library()  # says what to install
    from open_spiel.python import policy as theirs

    spec = OpenSpiel(Options(str(game), observe)).init()
    views = games.Views(game, observe)
    asked = range(spec.seats) if players is None else players
    seats = {each: _seated(agent, spec, each) for each in asked}

    def answer(state: Any, player: int, number: int) -> tuple[int, Decision]:
        chance = derive(derive(seed, "agents"), "seat", number, player)
        decision = Decision(
            seats[player],
            number,
            state.move_number(),
            views.see(state, player),
            list(state.legal_actions(player)),
            0.0,
            "evaluate",
            random.Random(chance),
            text=views.text(state, player) if "text" in agent.wants else None,
            seed=chance,
            memory=agent.Memory(),
            think=True,
        )
        action = agent.start(decision)
        if type(action) is not int or action not in decision.legal:  # type: ignore[operator]
            raise DovetailError(f"{type(agent).__name__} plays {action!r}, which is not legal")
        return action, decision

    class DovetailPolicy(theirs.Policy):
        """An agent of Dovetail."""

        def __init__(self) -> None:
            super().__init__(game, list(seats))
            self._known: dict[tuple[int, str], dict[int, float]] = {}

        def action_probabilities(
            self, state: Any, player_id: int | None = None
        ) -> dict[int, float]:
            """Return the probability of each legal action."""
            player = state.current_player() if player_id is None else player_id
            key = player, views.text(state, player)
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._asked(state, player)
            return found

        def _asked(self, state: Any, player: int) -> dict[int, float]:
            legal = state.legal_actions(player)
            action, decision = answer(state, player, 0)
            said = decision.thoughts.probabilities if decision.thoughts else []
            if len(said) == len(legal):
                return dict(zip(legal, said, strict=True))
            counts = Counter([action, *(answer(state, player, n)[0] for n in range(1, draws))])
            return {each: counts[each] / draws for each in legal}

    return DovetailPolicy()
