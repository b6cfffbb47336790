"""Statistics of results: units, rates, scores, tests and ratings.  Pure."""

from dovetail_experiments.statistics.estimates import Estimate, Z, mean, wilson
from dovetail_experiments.statistics.tallies import Tally, result_of, tally

__all__ = ["Estimate", "Tally", "Z", "mean", "result_of", "tally", "wilson"]
