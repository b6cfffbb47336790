"""Rows of the Amazons study; figure numbers refer to its text."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.agent import Decision, Seat
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.amazons.agent import WEIGHTS, AmazonsParameters, AmazonsPlayer
from dovetail_experiments.statistics import Estimate, wilson
from dovetail_games.amazons import Amazons, Configuration
from dovetail_games.amazons.kernels import count_moves
from dovetail_games.amazons.rules import AmazonsBoard, start_position
from dovetail_studies import rows
from dovetail_studies.archive import Member
from dovetail_studies.curves import OURS, LearningCurve, Panel, Picture, PrintedMark
from dovetail_studies.means import mean
from dovetail_studies.playing import match
from dovetail_studies.results import KeptResults, key

BOARD = {"rows": 8, "columns": 8}
FEATURES = (
    *("own moves", "opponent's moves", "own in corners", "opponent's in corners"),
    *("own with one direction", "opponent's with one", "own unhindered", "opponent's unhindered"),
    *("own trapped", "opponent's trapped", "own one per quadrant", "opponent's one per quadrant"),
)


class PrintedRun(NamedTuple):
    """Figures of a training run that the study prints or states in words."""

    name: str
    settled: int
    """Number of moves after which the weights stay constant in the study's plot."""
    first: float | None = None
    """Score before training."""
    last: float | None = None
    """Score after training."""


RUNS = (
    PrintedRun("ZerosVsRandom", 40_000, last=100),
    PrintedRun("ZerosVsAbMp", 65_000, -100),
    PrintedRun("ZerosVsMcMp", 30_000),
    PrintedRun("OnesVsRandom", 20_000, last=100),
    PrintedRun("OnesVsAbMp", 80_000, -100),
    PrintedRun("OnesVsMcMp", 50_000, last=0),
    PrintedRun("MpVsRandom", 20_000, 100, 100),
    PrintedRun("MpVsAbMp", 60_000),
    PrintedRun("MpVsMcMp", 60_000, 0),
)
"""Runs in the study's order: figures 13 to 21."""
RATE_STEPS = 20
"""Number of times a run halves the step size; the study does so every 5,000 moves."""
SPAN = 50
"""Moves between the two sets of weights whose distance decides whether they have settled."""
SETTLED = (0.1, 0.01, 0.001)
"""Thresholds of settling, as shares of the weights' largest movement."""
OPPONENTS: dict[str, Mapping[str, Any]] = {"AbMp": {"rollouts": False}, "McMp": {"rollouts": True}}


# -- the nine runs ---------------------------------------------------------------------------------


def _halving(unit: rows.Unit) -> int:
    return max(1, int(unit["moves"]) // RATE_STEPS)


def train(unit: rows.Unit) -> rows.Result:
    """Train against a fixed opponent for a number of the learner's moves, testing along the way."""
    start, other = unit["run"].split("Vs")
    given = {
        "weights": start.lower(),
        "rollouts": bool(unit["rollouts"]),
        "halving": _halving(unit),
        "snapshot_every": SPAN,
    }
    checks: list[dict[str, Any]] = []
    games = 0
    with InProcess([Amazons], [AmazonsPlayer, Random]) as experiment:
        learner = experiment.create("amazons-player", parameters=given, seed=unit["seed"])
        if other == "Random":
            opponent = experiment.create("random", seed=unit["seed"])
        else:
            fixed = {"weights": "mp", "learning_rate": 0, "epsilon": 0, **OPPONENTS[other]}
            opponent = experiment.create("amazons-player", parameters=fixed, seed=unit["seed"])

        def check(moves: int) -> None:
            nonlocal games
            found = match(
                experiment,
                "amazons",
                [learner, opponent],
                unit["tests"],
                unit["seed"] * 7919 + len(checks),
                BOARD,
            )
            games += found.games
            score = 100.0 * (found.wins - found.losses) / found.games
            checks.append({"moves": moves, "score": score, "distinct": len(found.digests)})

        check(0)
        done, block = 0, 0
        while done < unit["moves"]:
            found = match(
                experiment,
                "amazons",
                [learner, opponent],
                2,
                unit["seed"] * 1_000_003 + block,
                BOARD,
                learn=(True, False),
            )
            games += found.games
            block += 1
            done = experiment.message(learner, "updates")
            if done >= len(checks) * unit["moves"] / unit["checks"]:
                check(done)
        weights = experiment.message(learner, "weights")
        snapshots = experiment.message(learner, "snapshots")
    distances = np.linalg.norm(np.diff([WEIGHTS[start.lower()], *snapshots], axis=0), axis=1)
    parts = np.array_split(distances, RATE_STEPS) if len(distances) >= RATE_STEPS else []
    return {
        "checks": checks,
        "weights": [round(float(x), 3) for x in weights],
        "distances": [float(f"{part.mean():.4g}") for part in parts],
        "games": games,
    }


SCORES = (-100.0, 100.0)


def _score(results: Sequence[rows.Result], check: int) -> Estimate:
    return rows.within(rows.over(results, "checks", check, "score"), *SCORES)


def settled(result: rows.Result, moves: int, share: float) -> float:
    """Return the number of moves after which the weights move by less than a share of the maximum.

    Between two parts it is interpolated logarithmically.
    """
    moved = np.log(result["distances"])
    part, level = moves / len(moved), moved.max() + math.log(share)
    last = int(np.flatnonzero(moved >= level)[-1])
    if last + 1 == len(moved):
        return float(moves)
    return float((last + 0.5 + (moved[last] - level) / (moved[last] - moved[last + 1])) * part)


def _train_draw(run: PrintedRun, done: rows.Done) -> rows.Drawn:
    results, unit = [result for _, result in done], done[0][0]
    whole = _halving(unit) == 5_000
    lines, compared = [], []
    count = min(len(each["checks"]) for each in results)
    printed = {0: run.first, count - 1: run.last if whole else None}
    for number in range(count):
        found = _score(results, number)
        moves = rows.over(results, "checks", number, "moves").value
        study, name = printed.get(number), f"score after {moves:,.0f} moves"
        text = rows.interval(found, 0)
        if study is not None:
            compared.append(rows.Compared(name, study, found, len(results), SCORES))
            text = rows.signed(text, compared[-1])
        lines.append([name, "-" if study is None else f"{study:+.0f}", text])
    if all(each.get("distances") for each in results):
        for n, which in ((0, "first"), (-1, "last")):
            moved = rows.interval(rows.within(rows.over(results, "distances", n)), 5 if n else 1)
            lines.append([f"weights move in {SPAN} moves, {which} twentieth", "-", moved])
        for share in SETTLED:
            found = mean([settled(each, unit["moves"], share) for each in results])
            name = f"moves until they move by less than {100 * share:g} % of the most"
            lines.append(
                [name, f"{run.settled:,}", rows.interval(rows.within(found, 0, unit["moves"]), 0)]
            )
    else:
        lines.append(["moves until the weights settle", f"{run.settled:,}", "not recorded"])
    distinct = sum(check["distinct"] for each in results for check in each["checks"])
    tests = sum(len(each["checks"]) for each in results) * unit["tests"]
    words = []
    if not unit["rollouts"]:
        words.append("The learner plays without its Monte Carlo step, unlike the study's.")
    if not whole:
        words.append(
            f"The step size is halved every {_halving(unit):,} moves, in the study every "
            "5,000: "
            "here learning ends long before the study's does."
        )
    games = rows.total(done, "games")
    return rows.Drawn(
        rows.HEAD,
        lines,
        games,
        f"{distinct} of {tests} games of the checks",
        compared,
        " ".join(words),
        _train_curves(run, results, unit),
    )


def _train_curves(run: PrintedRun, results: Sequence[rows.Result], unit: rows.Unit) -> Picture:
    """Return curves of the test scores and of the distances that the weights moved."""
    moves = int(unit["moves"])
    count = min(len(each["checks"]) for each in results)
    at = [rows.over(results, "checks", n, "moves").value for n in range(count)]
    scores = [[check["score"] for check in each["checks"][:count]] for each in results]
    marks = []
    if _halving(unit) == 5_000:
        printed = (("before training", run.first, 0), ("at the end", run.last, moves))
        marks = [
            PrintedMark(f"study: {n}", value, x) for n, value, x in printed if value is not None
        ]
    panels = [Panel("score", "score", [LearningCurve(OURS, at, scores)], marks, SCORES)]
    words = [f"A point of the score is a check of {unit['tests']} games."]
    if marks:
        words.append("Dotted lines and crosses are what the study says in words.")
    distances = [each["distances"] for each in results if each.get("distances")]
    if len(distances) == len(results):
        part = moves / RATE_STEPS
        middles = [(n + 0.5) * part for n in range(RATE_STEPS)]
        settles = [PrintedMark("study: settled", None, run.settled)]
        curve = LearningCurve(OURS, middles, distances)
        panels.append(
            Panel(
                "how far the weights move",
                f"change in {SPAN} moves",
                [curve],
                settles,
                log=True,
                thin=True,
            )
        )
        words.append("Where the study reads that the weights have settled, a dotted line stands.")
    return Picture(panels, "the learner's moves", " ".join(words))


WEIGHTS_OF = {"MpVsMcMp": "mp-vs-mcmp", "OnesVsAbMp": "ones-vs-abmp", "MpVsRandom": "mp-vs-random"}
"""Runs whose weights the study prints, with each one's player name."""


def _weights_draw(done: rows.Done) -> rows.Drawn:
    lines, compared = [], []
    groups = rows.by(done, "run")
    agree = dict.fromkeys(WEIGHTS_OF, 0)
    for number, feature in enumerate(FEATURES):
        cells = [feature]
        for run, preset in WEIGHTS_OF.items():
            printed, found = WEIGHTS[preset][number], rows.over(groups[run,], "weights", number)
            agree[run] += (printed > 0) == (found.value > 0)
            compared.append(rows.Compared(f"{run} {feature}", printed, found, len(groups[run,])))
            cells += [f"{printed:+.1f}", rows.signed(rows.interval(found, 1), compared[-1])]
        lines.append(cells)
    signs = ", ".join(f"{run} {count} of 12" for run, count in agree.items())
    columns = ["feature"]
    for run in WEIGHTS_OF:
        columns += [f"{run}: study", "ours"]
    games = rows.total(done, "games")
    differ = sum(each.verdict == "differs" for each in compared)
    note = (
        f"Why {differ} weights differ by more than trainings do is not known. The study does "
        "not say whether its program counts mobility in queen moves or in whole moves; here it "
        "counts queen moves. "
        f"Signs that agree: {signs}."
    )
    return rows.Drawn(columns, lines, games, "not counted", compared, note)


# -- tree and cost ---------------------------------------------------------------------------------


def _tree(unit: rows.Unit) -> rows.Result:
    found = {}
    for size in (6, 8, 10):
        board = AmazonsBoard(start_position(size, size))
        found[str(size)] = int(count_moves(board.squares, size, size, 0))
    return {"moves": found}


def _tree_draw(done: rows.Done) -> rows.Drawn:
    found = done[0][1]["moves"]
    counted = Estimate(found["8"], found["8"], found["8"])
    both = rows.Compared("moves at the start", 1_600, counted, 0)
    lines = [
        ["6 x 6, moves at the start", "-", f"{found['6']:,}"],
        ["8 x 8", "-", f"{found['8']:,}"],
        ["10 x 10", "-", f"{found['10']:,}"],
        ["the study's board", "more than 1,600", rows.signed(f"{found['8']:,}", both)],
    ]
    note = (
        "The study's board is 8 x 8, where 1,232 moves are legal; 1,600 are passed between 8 "
        "x 8 and 10 x 10. Counted, not measured."
    )
    return rows.Drawn(rows.HEAD, lines, 0, "-", (both,), note)


SEARCHES: dict[str, Mapping[str, Any]] = {
    "depth 2": {"depth": 2, "rollouts": False},
    "depth 2 with Monte Carlo": {"depth": 2, "rollouts": True},
    "depth 3": {"depth": 3, "rollouts": False},
}


MOBILITIES = {"queen": "queen moves", "full": "whole moves"}
"""Moves counted by each mobility."""


def thinking(given: Mapping[str, Any], seed: int) -> list[float]:
    """Return a player's seconds per move on one core, measured in a game with itself."""
    player = AmazonsPlayer(msgspec.convert(given, AmazonsParameters), seed)
    game, rng = Amazons(Configuration(rows=8, columns=8)), random.Random(seed)
    spec = game.init()
    game.start(seed)

    def decide() -> int:
        mover = game.board.mover
        seen, legal = game.observation(mover), game.board.legal()
        return player.step(Decision(Seat(0, mover, spec), 0, 0, seen, legal, 0.0, "evaluate", rng))

    decide()  # compiles
    seconds: list[float] = []
    while not game.board.over:
        begun = time.process_time()
        action = decide()
        seconds.append(time.process_time() - begun)
        game.step({game.board.mover: action})
    return seconds


def _cost_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    whole = (
        rows.every({"mobility": "full"}, seeds, search=SEARCHES) if values["whole moves"] else []
    )
    return rows.every({}, seeds, search=SEARCHES) + whole


def _cost(unit: rows.Unit) -> rows.Result:
    mobility = unit.get("mobility", "queen")
    given = {"weights": "mp", "mobility": mobility, **SEARCHES[unit["search"]]}
    seconds = thinking(given, unit["seed"])
    return {"seconds": [round(each, 6) for each in seconds]}


def _cost_draw(done: rows.Done) -> rows.Drawn:
    lines = []
    kinds = rows.by_what(done, lambda unit: (unit["search"], unit.get("mobility", "queen")))
    for (search, mobility), results in kinds.items():
        name = f"{search}, {MOBILITIES[mobility]}"
        games = [result["seconds"] for result in results]
        digits = 3 if search == "depth 3" else 4
        for text, values, printed in (
            ("first move", [game[0] for game in games], "-"),
            (
                "longest move",
                [max(game) for game in games],
                "up to 180" if search == "depth 3" else "-",
            ),
            ("whole game", [sum(game) for game in games], "-"),
        ):
            found = rows.interval(rows.within(mean(values)), digits)
            lines.append([f"{name}: {text}, seconds", printed, found])
    note = (
        "A player with the weights MP plays a game with itself; a figure is in seconds of one "
        "core. The study's is the longest move of a game, on a computer of its time. "
        "The study does not say whether its program counts mobility in queen moves or in whole "
        "moves, which are twenty times as many at the start (1,232 for 60)."
    )
    return rows.Drawn(rows.HEAD, lines, 0, "-", (), note)


# -- the tournament --------------------------------------------------------------------------------

PLAYERS = {"OnesVsAbMp": 317, "MpVsMcMp": 257, "MP": 253, "MpVsRandom": 244, "Random": 0}
PRESETS = {
    "OnesVsAbMp": "ones-vs-abmp",
    "MpVsMcMp": "mp-vs-mcmp",
    "MP": "mp",
    "MpVsRandom": "mp-vs-random",
}
TRAINED = [name for name in PRESETS if name != "MP"]
LEARNED = {"here": (0, 1), "first": (0,)}
"""Players of a pair with weights learned here, by the value in a piece of work."""


def _meetings(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    """Return the pairs with the study's weights, with the weights learned here from each seed, and
    between the study's and ours of the same run."""
    names, games = list(PLAYERS), values["games"]
    pairs = [(a, b) for n, a in enumerate(names) for b in names[n + 1 :]]
    given = {"games": games}
    units = rows.every(given, seeds, players=map(list, pairs))
    if values.get("learned"):
        units += [{**unit, "learned": "here"} for unit in units]
        own = ([run, run] for run in TRAINED)
        units += rows.every({**given, "learned": "first"}, seeds, players=own)
    return units


def weights_of(name: str, file: str, unit: rows.Unit, command: str) -> list[float]:
    """Return the final weights of a kept training.

    Raises:
        DovetailError: ``file`` of a study has no such training; ``command`` makes it.
    """
    kept = Member(Path(f"studies/pages/results/{name}.zip"), file)
    record = KeptResults([kept, Path(f"out/studies/{name}/{file}")]).records.get(key(unit))
    if record is None:
        raise DovetailError(
            f"there are no trainings to take weights from; run `{command}` first, at the top of a "
            "checkout"
        )
    weights: list[float] = record.result["weights"]
    return weights


def learned(run: str, seed: int) -> list[float]:
    """Return the final weights of a training of the row ``weights``."""
    [unit] = rows.every(STUDY.row("weights").sizes["study"].values, [seed], run=[run])
    return weights_of("amazons", "trainings.study.jsonl", unit, "dovetail study amazons weights")


def meeting(unit: rows.Unit) -> rows.Result:
    """Play a match between two players, who alternate seats."""
    with InProcess([Amazons], [AmazonsPlayer, Random]) as experiment:
        players = []
        ours = LEARNED.get(unit.get("learned", ""), ())
        for place, name in enumerate(unit["players"]):
            if name == "Random":
                players.append(experiment.create("random", seed=unit["seed"]))
            else:
                own = place in ours and name != "MP"
                given = {"weights": learned(name, unit["seed"]) if own else PRESETS[name]}
                players.append(
                    experiment.create("amazons-player", parameters=given, seed=unit["seed"])
                )
        found = match(experiment, "amazons", players, unit["games"], unit["seed"], BOARD)
    return {
        "games": found.games,
        "wins": found.wins,
        "losses": found.losses,
        "distinct": len(found.digests),
    }


def won(done: rows.Done) -> tuple[Counter[str], Counter[str]]:
    """Return each player's wins and games."""
    wins: Counter[str] = Counter()
    games: Counter[str] = Counter()
    for unit, result in done:
        one, other = unit["players"]
        wins[one] += result["wins"]
        wins[other] += result["losses"]
        games[one] += result["games"]
        games[other] += result["games"]
    return wins, games


def _standing(wins: int, games: int) -> list[str]:
    """Return wins, losses and points; a win adds one point and a loss subtracts one."""
    return [f"{wins}", f"{games - wins}", f"{2 * wins - games:+}"]


def _shared(found: Sequence[tuple[int, int]]) -> list[str]:
    """Return the standing and the win rate with its interval, from wins and games by seed."""
    wins, games = (sum(each) for each in zip(*found, strict=True))
    share = rows.within(mean([100 * won / of for won, of in found]), *rows.PERCENT)
    return [*_standing(wins, games), rows.interval(share, 1, sign=" %")]


NOT_PRINTED = ["-"] * 4
"""Standing and win rate of a player for which the study prints none."""


def _meetings_draw(done: rows.Done) -> rows.Drawn:
    wins, games = won([each for each in done if "learned" not in each[0]])
    lines, compared = [], []
    for name, printed in PLAYERS.items():
        found = wilson(wins[name], games[name])
        compared.append(rows.Compared(name, printed / 400, found, 1, (0, 1)))
        share = rows.signed(rows.interval(found, 1, 100, " %"), compared[-1])
        standing = _standing(wins[name], games[name])
        lines.append([name, *_standing(printed, 400), f"{printed / 4:.1f} %", *standing, share])
    here = [each for each in done if each[0].get("learned") == "here"]
    by_seed = [
        won([each for each in here if each[0]["seed"] == seed])
        for seed in sorted({unit["seed"] for unit, _ in here})
    ]
    for name in PLAYERS if by_seed else ():
        text = "weights learned here" if name in TRAINED else "beside weights learned here"
        parts = [(wins[name], games[name]) for wins, games in by_seed]
        lines.append([f"{name}, {text}", *NOT_PRINTED, *_shared(parts)])
    direct = [each for each in done if each[0].get("learned") == "first"]
    for run in TRAINED if direct else ():
        met = [result for unit, result in direct if run in unit["players"]]
        parts = [(each["wins"], each["games"]) for each in met]
        title = f"{run}, weights learned here, against the study's"
        lines.append([title, *NOT_PRINTED, *_shared(parts)])
    note = rows.remark("amazons", "tournament")
    count, distinct = rows.total(done, "games"), rows.total(done, "distinct")
    standings = ["wins", "losses", "points", "share"]
    columns = ["player", *(f"{who}: {name}" for who in ("study", "ours") for name in standings)]
    return rows.Drawn(columns, lines, count, f"{distinct} of {count}", compared, note)


# -- depth 2 with Monte Carlo against depth 3 ------------------------------------------------------


def _depths(unit: rows.Unit) -> rows.Result:
    with InProcess([Amazons], [AmazonsPlayer]) as experiment:
        given: list[dict[str, Any]] = [
            {"depth": 2, "rollouts": True},
            {"depth": 3, "rollouts": False},
        ]
        players = [
            experiment.create(
                "amazons-player", parameters={"weights": "mp", **each}, seed=unit["seed"]
            )
            for each in given
        ]
        found = match(
            experiment, "amazons", players, unit["games"], unit["seed"], BOARD, openings=2
        )
    return {"games": found.games, "wins": found.wins, "distinct": len(found.digests)}


def _depths_draw(done: rows.Done) -> rows.Drawn:
    count = rows.total(done, "games")
    # The two games of an opening are dependent, so a seed's games are the sampling unit.
    found = rows.within(
        mean([100 * result["wins"] / result["games"] for _, result in done]), *rows.PERCENT
    )
    half = rows.Compared("half", 50, found, 0, rows.PERCENT)
    won = rows.signed(rows.interval(found, 1, sign=" %"), half)
    lines = [["depth 2 with Monte Carlo wins", "comparable to depth 3", won]]
    note = (
        "The study gives no figure, so *comparable* is taken as half of the games. Both have "
        "the weights MP. Games begin with two moves drawn at random, each opening played from "
        "both seats, since depth 3 alone "
        f"repeats itself; the interval is over the {len(done)} seeds of the openings."
    )
    distinct = rows.total(done, "distinct")
    return rows.Drawn(rows.HEAD, lines, count, f"{distinct} of {count}", (half,), note)


STUDY = rows.declared(
    "amazons",
    {
        "tree": (rows.every, _tree, _tree_draw),
        "cost": (_cost_units, _cost, _cost_draw),
        **{
            f"run-{n}": (partial(rows.every, run=[run.name]), train, partial(_train_draw, run))
            for n, run in enumerate(RUNS, 1)
        },
        "weights": (partial(rows.every, run=WEIGHTS_OF), train, _weights_draw),
        "tournament": (_meetings, meeting, _meetings_draw),
        "depths": (rows.every, _depths, _depths_draw),
    },
)
