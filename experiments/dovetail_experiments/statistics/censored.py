"""Values cut off at a cap: estimates of the uncut values, and model-free bounds.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail_experiments.statistics.estimates import Estimate

HALF = 1.920729
"""Half the 95 % quantile of chi-squared with one degree of freedom."""
NONE = 3.6889
"""Without a value below the cap, the sum divided by this is the lower end of the interval."""


@dataclass(frozen=True, slots=True)
class Censored:
    """Estimates from values, some of which were capped."""

    n: int
    capped: int
    cap: float
    limited: float
    """Mean of the values, cut off at the cap."""
    mean: Estimate | None
    """Mean without the cap, assuming a constant hazard; None if the data do not support it."""
    median: float | None
    """Kaplan-Meier median; None if more than half of the values are capped."""
    weibull: float
    """P value of the exponential distribution against Weibull's; below 0.05, ``mean`` is None."""
    why: str = ""
    """Reason why ``mean`` is None."""
    above: int = 0
    """Number of values above the cap."""
    most: float = math.nan
    """Largest value if below the cap, otherwise the cap."""


def censored(values: Sequence[float], capped: Sequence[bool], cap: float) -> Censored:
    """Estimate mean and median from values that were cut off at a cap.

    Args:
        values: the values; no mean is estimated if one is negative.
        capped: whether each value was cut off.
        cap: the cap.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("there must be at least one value")
    total = math.fsum(values)
    ended = sum(not each for each in capped)
    chance, mean, why = 1.0, None, ""
    if not all(math.isfinite(each) for each in values):
        why = "a return is not a finite number"
    elif min(values) < 0:
        why = "returns below 0 follow no exponential law"
    elif total == 0:
        why = "all returns are 0"
    elif ended and not any(
        value > 0 and not stopped for value, stopped in zip(values, capped, strict=True)
    ):
        why = "no return lies between 0 and the cap"
    else:
        chance = _weibull(values, capped, ended)
        why = "the returns do not fit an exponential law" if chance < 0.05 else ""
        mean = None if why else _mean(total, ended)
    return Censored(
        len(values),
        len(values) - ended,
        cap,
        total / len(values),
        mean,
        _median(values, capped),
        chance,
        why,
        sum(each > cap for each in values),
        min(cap, max(values)),
    )


def _mean(total: float, ended: int) -> Estimate:
    from scipy.optimize import brentq

    if ended == 0:
        return Estimate(math.inf, total / NONE, math.inf)
    middle = total / ended

    def log_likelihood(mean: float) -> float:
        return -ended * math.log(mean) - total / mean

    best = log_likelihood(middle)

    def below(mean: float) -> float:
        return log_likelihood(mean) - best + HALF

    low = float(brentq(below, middle * 1e-9, middle))
    high = float(brentq(below, middle, middle * 1e9))
    return Estimate(middle, low, high)


def _median(values: Sequence[float], capped: Sequence[bool]) -> float | None:
    from scipy import stats

    if all(capped) or not all(math.isfinite(each) for each in values):
        return None
    data = stats.CensoredData.right_censored(list(values), list(capped))
    survival = stats.ecdf(data).sf
    for x, p in zip(survival.quantiles, survival.probabilities, strict=True):
        if p <= 0.5 + 1e-12:
            return float(x)
    return None


def _weibull(values: Sequence[float], capped: Sequence[bool], ended: int) -> float:
    """Return the p value of the exponential distribution against Weibull's."""
    from scipy import stats

    if ended < 2:
        return 1.0
    if min(values) == 0:
        return _weibull_of_counts(values, capped)
    data = stats.CensoredData.right_censored(list(values), list(capped))
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    x, cut = np.asarray(values, float), np.asarray(capped, bool)
    law = stats.weibull_min(shape, scale=scale)
    fitted = float(law.logsf(x[cut]).sum() + law.logpdf(x[~cut]).sum())
    total = math.fsum(values)
    plain = -ended * math.log(total / ended) - ended
    return float(stats.chi2.sf(max(0.0, 2 * (fitted - plain)), 1))


def _weibull_of_counts(values: Sequence[float], capped: Sequence[bool]) -> float:
    """Return the p value if some values are 0, which stand for any below the smallest positive one.

    A density at 0 would be 0 or infinite.
    """
    from scipy import stats

    pairs = list(zip(values, capped, strict=True))
    ended = [value for value, cut in pairs if not cut and value > 0]
    below = [min(ended)] * sum(not cut and value == 0 for value, cut in pairs)
    stopped = [value for value, cut in pairs if cut]
    data: Any = stats.CensoredData(uncensored=ended, left=below, right=stopped)
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    _, mean = stats.expon.fit(data, floc=0)
    worse, better = (
        -sum(
            float(each.sum()) for each in (law.logpdf(ended), law.logcdf(below), law.logsf(stopped))
        )
        for law in (stats.expon(scale=mean), stats.weibull_min(shape, scale=scale))
    )
    return float(stats.chi2.sf(max(0.0, 2 * (worse - better)), 1))


def described(found: Censored) -> str:
    """Return the estimates as text."""
    text = f"{found.limited:.1f} of at most {found.cap:g}, {found.capped} of {found.n} capped"
    if found.above:
        text += f"; {found.above} above the cap of {found.cap:g}, which is not where games are cut"
    median = f"above {found.most:g}" if found.median is None else f"{found.median:g}"
    text += f"; median {median}"
    if found.mean is None:
        return f"{text}; no estimate without the cap: {found.why}"
    if math.isinf(found.mean.value):
        return f"{text}; without the cap at least {found.mean.low:.1f}"
    return (
        f"{text}; without the cap {found.mean.value:.1f} "
        f"({found.mean.low:.1f}..{found.mean.high:.1f})"
    )
