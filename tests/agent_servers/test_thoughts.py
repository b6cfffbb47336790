"""Agents' thoughts: a value for each legal action, and the same play with or
without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.peer import options
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.environment import Environment
from dovetail.peer.registry import registered
from dovetail.protocol import messages as m
from dovetail.protocol.legal import unmask

CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("td", {}, "connect_four", {}),
    ("mcts", {"simulations": 30}, "connect_four", {}),
    ("alpha-beta", {"depth": 2}, "connect_four", {}),
    ("amazons-player", {"depth": 1, "rollouts": False}, "amazons", {"rows": 5, "columns": 5}),
    ("tetris-player", {}, "tetris", {"height": 10, "max_pieces": 20}),
    ("ntuple-2048", {}, "2048", {}),
    ("ntuple-connect-four", {}, "connect_four", {}),
]


def played(case: tuple[str, dict[str, Any], str, dict[str, Any]], *, think: bool) -> Any:
    """Return the actions of some decisions, and what was thought at each."""
    agent, parameters, game, settings = case
    kind: type[Environment] = registered("environment", game)
    environment = kind(options.read(kind.Configuration, settings, game))
    spec = environment.init()
    host = AgentHost([registered("agent", agent)])
    host.handle([m.Welcome("s", "n"), m.Create(1, 1, agent, parameters, 3, seq=1)])
    host.handle([m.Init(1, 0, 1, spec, agent=agent, seq=2)])
    turn = environment.start(5)
    found: list[tuple[list[int], Any, Any]] = []
    for number in range(6):
        (seat,) = turn.to_act
        view = next(each for each in turn.seats if each.seat == seat)
        legal = unmask(view.legal) if isinstance(view.legal, bytes) else view.legal
        assert legal
        action: Any = legal[number % len(legal)]
        if seat == 0:
            asked: Any = m.AgentStep if found else m.AgentStart
            more: dict[str, Any] = {} if found else {"match": 1, "seed": 7, "mode": "evaluate"}
            decision = asked(
                episode=1,
                seat=0,
                turn=turn.turn,
                observation=view.observation,
                legal=view.legal,
                afterstates=environment.afterstates(0) if spec.afterstates else None,
                think=think,
                seq=3 + number,
                **more,
            )
            (answer,) = host.handle([decision])
            assert isinstance(answer, m.Action), answer
            action = answer.action
            found.append((legal, action, answer.thoughts))
        turn = environment.step({seat: action})
    return found


@pytest.mark.rule("S7.16")
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]))
def test_thoughts(case: tuple[str, dict[str, Any], str, dict[str, Any]]) -> None:
    shown, hidden = played(case, think=True), played(case, think=False)
    assert [each[:2] for each in shown] == [each[:2] for each in hidden]
    assert [each[2] for each in hidden] == [None] * len(hidden)
    for legal, action, thoughts in shown:
        assert len(thoughts.values) == len(legal)
        assert np.isfinite(thoughts.values).any()
        if thoughts.probabilities:
            assert sum(thoughts.probabilities) == pytest.approx(1)
            assert thoughts.probabilities[legal.index(action)] == max(thoughts.probabilities)
        else:
            known = [each for each in thoughts.values if np.isfinite(each)]
            assert thoughts.values[legal.index(action)] == pytest.approx(max(known))
