"""Nash averaging of a payoff table, for players whose results form cycles.  Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail_experiments.statistics.ratings import Floats


def nash_averaging(payoffs: Floats) -> tuple[Floats, Floats]:
    """Return the maximum-entropy equilibrium and each player's payoff against it (Balduzzi et al.
    2018).

    Players of the equilibrium have payoff 0; weaker ones have a negative payoff, however often they
    beat weak players.

    Args:
        payoffs: an antisymmetric n x n table of the row's payoff against the column, such as score
            minus 1/2.

    Raises:
        ValueError: it is not antisymmetric.
    """
    from scipy.optimize import linprog, minimize

    n = len(payoffs)
    if payoffs.shape != (n, n) or np.abs(payoffs + payoffs.T).max() > 1e-9:
        raise ValueError("Nash averaging needs an antisymmetric table: row i, column j = -(j, i)")
    # any equilibrium, as a start
    inside: Any = linprog(
        np.zeros(n), A_ub=payoffs, b_ub=np.full(n, 1e-12), A_eq=np.ones((1, n)), b_eq=[1.0]
    )
    objective: Any = _negative_entropy
    constraints: Any = [
        {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(n)},
        {"type": "ineq", "fun": lambda p: -(payoffs @ p), "jac": lambda p: -payoffs},
    ]
    found = minimize(
        objective,
        inside.x,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints=constraints,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    p = np.clip(found.x, 0, None)
    p /= p.sum()
    return p, payoffs @ p


def _negative_entropy(p: Floats) -> tuple[float, Floats]:
    log = np.log(np.maximum(p, 1e-12))
    return float((p * log).sum()), log + 1
