"""Players whose results form cycles: Nash averaging and alpha-rank of a payoff table.  Pure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail_experiments.statistics.ratings import Floats


def nash_averaging(payoffs: Floats) -> tuple[Floats, Floats]:
    """Return the equilibrium of greatest entropy and each player's payoff against it (Balduzzi et
    al. 2018).

    A player of the equilibrium gets 0; one that is worth less gets a negative payoff, however
    often it beats weak players.

    Args:
        payoffs: n x n and antisymmetric: what the row gets from the column, such as score - 1/2.

    Raises:
        ValueError: it is not antisymmetric.
    """
    from scipy.optimize import linprog, minimize

    n = len(payoffs)
    if payoffs.shape != (n, n) or np.abs(payoffs + payoffs.T).max() > 1e-9:
        raise ValueError("Nash averaging needs an antisymmetric table: row i, column j = -(j, i)")
    # Any equilibrium to begin with.
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


def alpha_rank(payoffs: Floats, alpha: float = 10.0, population: int = 50) -> Floats:
    """Return how much of the time a population spends on each player (Omidshafiei et al. 2019).

    Single mutants invade a population of one player; the fixation probabilities are those of
    Fermi's rule with the payoffs of mutant and resident against each other.

    Args:
        payoffs: n x n: what the row gets from the column.
        alpha: how strongly a better payoff is preferred.
        population: its size.
    """
    n = len(payoffs)
    if n == 1:
        return np.ones(1)
    rate = 1 / (n - 1)
    chain = np.zeros((n, n))
    for resident in range(n):
        for mutant in range(n):
            if mutant != resident:
                chain[resident, mutant] = rate * _fixation(
                    payoffs, resident, mutant, alpha, population
                )
        chain[resident, resident] = 1 - chain[resident].sum()
    # Of a few states only; the stationary distribution solves a linear system.
    system = np.r_[chain.T - np.eye(n), np.ones((1, n))]
    found, *_ = np.linalg.lstsq(system, np.r_[np.zeros(n), 1.0], rcond=None)
    share = np.clip(found, 0, None)
    return np.asarray(share / share.sum())


def _fixation(payoffs: Floats, resident: int, mutant: int, alpha: float, m: int) -> float:
    u = alpha * float(payoffs[mutant, resident] - payoffs[resident, mutant])
    if abs(u) < 1e-14:
        return 1 / m
    if -m * u > 700:  # e**700 is nearly the largest number
        return math.exp(max(-745.0, (m - 1) * u)) * -math.expm1(u)
    return math.expm1(-u) / math.expm1(-m * u)
