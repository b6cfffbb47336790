"""A round robin of all studies' learners, which none of the studies could play.

Each row is a two-player game. Each learner plays the same number of games against itself; then all
learners and a random player meet in a round robin. A further row pits the trainings of the Amazons
study against each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.client.client import Experiment
from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.environment import Environment
from dovetail_agents.games.amazons import AmazonsPlayer
from dovetail_agents.games.dots import DotsPlayer
from dovetail_agents.general.q_learning import QLearning
from dovetail_agents.general.td import TD, RLGameTD
from dovetail_experiments.statistics.ratings import SCALE, fit
from dovetail_games.amazons import Amazons
from dovetail_games.connect_four import ConnectFour
from dovetail_games.dots import Dots
from dovetail_games.rlgame import RLGame
from dovetail_studies import learned, rows
from dovetail_studies.amazons.rows import meeting, won
from dovetail_studies.keeping import KEEPS, kept
from dovetail_studies.means import mean
from dovetail_studies.playing import DERIVATION, match
from dovetail_studies.rlgame import one_sided

Array = NDArray[Any]
ENVIRONMENTS: list[type[Environment]] = [ConnectFour, Dots, Amazons, RLGame, *KEEPS.values()]
AGENTS: list[type[Agent[Any]]] = [*(Random, TD, RLGameTD, QLearning, AmazonsPlayer, DotsPlayer)]
ANY = {"td-rlgame": "RLGame", "q-learning": "Dominion, for any game", "td": "none: ours"}
"""Learners of any of these games, with the study of each."""
GAMES: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = {
    "connect_four": ({}, ANY),
    "rlgame": ({"size": 5, "pawns": 3}, ANY),
    "amazons": ({"rows": 5, "columns": 5}, {"amazons-player": "Amazons", **ANY}),
    "dots": ({"rows": 3, "columns": 3}, {"dots-player": "dots and boxes", **ANY}),
}
"""Board of each game, and the learners that can play it."""
PARAMETERS: dict[str, Mapping[str, Any]] = {
    "amazons-player": {"weights": "zeros", "rollouts": False, "depth": 1},
    "dots-player": {"weights": "zeros", "turns": 1},
}
"""Parameters of learners whose defaults start from learned weights or search deeper."""
MOST_TURNS = 1_000
"""Maximum turns of a game, since untrained players of RLGame may never end one."""


def _self_play(
    experiment: Experiment, game: str, player: int, unit: rows.Unit, number: int
) -> None:
    experiment.run(
        game,
        [player, player],
        episodes=unit["games"],
        seed=unit["seed"] * 100 + number,
        configuration=dict(GAMES[game][0]),
        max_turns=MOST_TURNS,
        derivation=DERIVATION,
    ).wait()


def _meet(game: str, unit: rows.Unit) -> rows.Result:
    """Train each learner by self-play, then play a round robin."""
    board, learners = GAMES[game]
    names = ["random", *learners]
    found: dict[str, Any] = {"games": 0, "distinct": 0, "tested": 0}
    points = np.zeros((len(names), len(names)))
    with InProcess(ENVIRONMENTS, AGENTS) as experiment:
        players = [
            experiment.create(name, parameters=dict(PARAMETERS.get(name, {})), seed=unit["seed"])
            for name in names
        ]
        for number, (name, player) in enumerate(zip(learners, players[1:], strict=True)):
            play = partial(_self_play, experiment, game, player, unit, number)
            learned.train(experiment, {f"{name}-{unit['seed']}": player}, play)
            found["games"] += unit["games"]
        for one, other in itertools.combinations(range(len(names)), 2):
            score = match(
                experiment,
                game,
                [players[one], players[other]],
                unit["tests"],
                unit["seed"],
                {**board},
                openings=2,
                most=MOST_TURNS,
            )
            drawn = (score.games - score.wins - score.losses) / 2
            points[one, other], points[other, one] = score.wins + drawn, score.losses + drawn
            found["games"] += score.games
            found["tested"] += score.games
            found["distinct"] += len(score.digests)
        if game in KEEPS:
            found["kept"] = {}
            for name, player in zip(names, players, strict=True):
                shown = kept(experiment, player, unit["tests"], unit["seed"], game, board)
                found["kept"][name] = shown.kept / shown.positions
    elo = SCALE * fit(points)
    found["elo"] = dict(zip(names, (elo - elo[0]).round(1).tolist(), strict=True))
    played = points + points.T
    found["points"] = dict(
        zip(names, (points.sum(1) / played.sum(1)).round(4).tolist(), strict=True)
    )
    return found


def _lead(results: Sequence[rows.Result], first: str, second: str) -> str:
    """Describe the first player's lead in rating over the second, by seed."""
    by_seed = [each["elo"][first] - each["elo"][second] for each in results]
    ahead = sum(each > 0 for each in by_seed)
    return (
        f"`{first}` is ahead of `{second}` by {rows.interval(mean(by_seed), 0)} Elo, paired by "
        "seed, "
        f"and in {ahead} of {len(by_seed)} seeds."
    )


def _draw(game: str, done: rows.Done) -> rows.Drawn:
    results = [result for _, result in done]
    learners = {"random": "-", **GAMES[game][1]}
    ratings = {name: rows.over(results, "elo", name) for name in learners}
    columns = ["player", "study", "Elo above random", "points %"]
    if "kept" in results[0]:
        columns.append("value kept in hard positions %")
    lines = []
    for name in sorted(learners, key=lambda each: -ratings[each].value):
        shares = ["points", "kept"] if "kept" in results[0] else ["points"]
        cells = [rows.interval(rows.over(results, key, name), 1, 100) for key in shares]
        rating = "0" if name == "random" else rows.interval(ratings[name], 0)
        lines.append([f"`{name}`", learners[name], rating, *cells])
    distinct = (
        f"{rows.total(done, 'distinct'):,} of the {rows.total(done, 'tested'):,} after training"
    )
    first, second, *_ = sorted(ratings, key=lambda each: -ratings[each].value)
    note = (
        f"{_lead(results, first, second)} "
        "Ratings are Bradley and Terry's over the round robin of each seed, and intervals are "
        "Student's over the seeds. "
        "Two plies of each game are drawn at random, and each opening is played from both seats."
    )
    return rows.Drawn(columns, lines, rows.total(done, "games"), distinct, (), note)


# -- the trainings of Amazons ----------------------------------------------------------------------

FIRST = ("Zeros", "Ones", "Mp")
SHOWN = {"Mp": "MP"}
"""Display names of weights that are not named after a run."""
AGAINST = ("AbMp", "Random", "McMp")


def _trainings(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    """Return the pairs of trainings from all initial weights, with ``opponents``, for each seed."""
    names = [f"{first}Vs{other}" for other in AGAINST[: values["opponents"]] for first in FIRST]
    pairs = map(list, itertools.combinations(names, 2))
    return rows.every({"games": values["games"], "learned": "here"}, seeds, players=pairs)


def _explained(shares: Array) -> list[float]:
    """Return the shares of a table's variance due to rows, to columns, and to neither."""
    centred = shares - shares.mean()
    parts = [(centred.mean(axis) ** 2).sum() * shares.shape[axis] for axis in (1, 0)]
    whole = (centred**2).sum()
    return [float(part / whole) for part in (*parts, whole - sum(parts))]


def _parts(shares: Array) -> str:
    by_opponent, by_first, rest = (
        rows.interval(rows.within(mean(each), 0, 1), 0, 100, " %")
        for each in zip(*(_explained(table) for table in shares), strict=True)
    )
    return (
        f"the opponent explains {by_opponent}, the initial weights {by_first}, "
        f"and {rest} is left to chance and to the interaction of the two"
    )


def _ahead(shares: Array, against: Sequence[str]) -> str:
    """Return the lead, in points, of training against AbMp over training against McMp, by seed."""
    by_first = 100 * (shares[:, against.index("AbMp")] - shares[:, against.index("McMp")])
    parts = [
        f"{rows.interval(mean(by_first[:, n].tolist()), 0)} from {SHOWN.get(each, each)}"
        for n, each in enumerate(FIRST)
    ]
    return (
        f"{rows.interval(mean(by_first.mean(1).tolist()), 0)} points on average, {', '.join(parts)}"
    )


def _shares(done: rows.Done, against: Sequence[str]) -> Array:
    """Return win rates of trainings against some opponents: seeds, opponents, initial weights."""
    tables = []
    for seed in sorted({unit["seed"] for unit, _ in done}):
        of_seed = [each for each in done if each[0]["seed"] == seed]
        met = [each for each in of_seed if all(_against(p) in against for p in each[0]["players"])]
        wins, games = won(met)
        names = [[f"{first}Vs{other}" for first in FIRST] for other in against]
        tables.append([[wins[name] / games[name] for name in row] for row in names])
    return np.array(tables)


def _against(name: str) -> str:
    return name.partition("Vs")[2]


def _trainings_draw(done: rows.Done) -> rows.Drawn:
    met = {_against(player) for unit, _ in done for player in unit["players"]}
    against = [other for other in AGAINST if other in met]
    shares = _shares(done, against)

    def cell(values: Array) -> str:
        return rows.interval(rows.within(mean(values.tolist()), 0, 1), 1, 100)

    first = range(len(FIRST))
    lines = [
        [f"against {other}", *(cell(shares[:, m, n]) for n in first), cell(shares[:, m].mean(1))]
        for m, other in enumerate(against)
    ]
    lines.append(["all", *(cell(shares[:, :, n].mean(1)) for n in first), ""])
    note = (
        "Points in percent of the round robin of each seed's trainings, intervals over the seeds."
    )
    if len(against) > 1:
        note += f" Of the variance between the trained players of a seed, {_parts(shares)}."
    if len(against) > 2:
        searchers = _shares(done, [other for other in against if other != "Random"])
        note += (
            " Most of the first is the distance between Random and the two searchers: among the "
            "six trained against these, "
            f"and by their games with each other, {_parts(searchers)}. "
            f"Those against AbMp are ahead of those against McMp by {_ahead(shares, against)}."
        )
    columns = ["trained", *(f"from {SHOWN.get(each, each)}" for each in FIRST), "all"]
    played, distinct = rows.total(done, "games"), rows.total(done, "distinct")
    return rows.Drawn(columns, lines, played, f"{distinct:,} of {played:,}", (), note)


STUDY = rows.declared(
    "across",
    {
        **{game: (rows.every, partial(_meet, game), partial(_draw, game)) for game in GAMES},
        "amazons-trainings": (_trainings, meeting, _trainings_draw),
        "one-sided": one_sided.CODE,
    },
)
