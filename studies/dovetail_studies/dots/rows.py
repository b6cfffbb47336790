"""Rows of the dots and boxes study."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.errors import Refused
from dovetail_agents.games.dots.agent import WEIGHTS, DotsPlayer
from dovetail_agents.games.dots.perfect import DotsPerfect, keeping
from dovetail_agents.games.dots.position import TO_THE_END, DotsPosition, DotsSearch
from dovetail_experiments.statistics import Estimate
from dovetail_games.dots import Dots
from dovetail_games.dots.rules import DotsBoard
from dovetail_studies import rows
from dovetail_studies.curves import OURS, LearningCurve, Panel, Picture
from dovetail_studies.means import mean
from dovetail_studies.playing import DERIVATION, Score, match

FEATURES = ("no line", "one", "two", "three", "own", "the opponent's", "constant")
AGENTS: list[type[Agent[Any]]] = [DotsPlayer, DotsPerfect, Random]
BLOCKS = 20
"""Number of tests in a training."""


def kept(weights: Any, turns: int, positions: int, seed: int) -> tuple[int, int, float]:
    """Measure how often a player keeps the value of hard positions on 4 x 4 dots.

    The result is the number of positions kept, their total, and a random player's expected number.
    Hard positions come from random games with 6 to 18 lines drawn; not every line keeps their
    value.
    """
    rng = np.random.default_rng([seed, 77])
    search = DotsSearch(np.array(weights, np.float64))
    right, count, chance = 0, 0, 0.0
    while count < positions:
        board = DotsBoard(4, 4)
        for _ in range(int(rng.integers(6, 19))):
            board.draw(int(rng.choice(board.legal())))
        good = keeping(board.grid, board.drawn)
        if len(good) == len(board.free):
            continue
        seen = np.zeros(board.grid.lines + 2 * board.grid.boxes + 1, np.uint8)
        for line in range(board.grid.lines):
            seen[line] = board.drawn >> line & 1
        for box, owner in enumerate(board.owners):
            if owner >= 0:
                place = 0 if owner == board.mover else board.grid.boxes
                seen[board.grid.lines + place + box] = 1
        lines, values = search.root(DotsPosition(seen, board.grid), turns)
        best = [line for line, value in zip(lines, values, strict=True) if value == max(values)]
        right += int(rng.choice(best)) in good
        chance += len(good) / len(board.free)
        count += 1
    return right, count, chance / count


STEPS = (0.5, 0.05, 0.005)
"""Readings of the study's step size c. The scan of its text lost every digit 0 and 5, and prints ".
/ N"."""
TURNS = 4
"""Search depth of the study in turns."""


def _training_units(size: int, values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    """Return the trainings on a square board, for each reading of the step size."""
    return rows.every({"rows": size, "turns": TURNS, **values}, seeds, step=STEPS)


def _train(unit: rows.Unit) -> rows.Result:
    """Train by self-play to the end or divergence, then play random and perfect opponents."""
    board = {"rows": unit["rows"], "columns": unit["rows"]}
    parameters = {
        "weights": "begin",
        "turns": unit["turns"],
        "epsilon": 0.1,
        "learning_rate": unit["step"],
        "most_positions": unit.get("most", 0),
    }
    curve: list[list[float]] = []
    found: dict[str, Any] = {"games": 0, "diverged": False, "curve": curve}
    begun = time.process_time()
    with InProcess([Dots], AGENTS) as experiment:
        learner = experiment.create("dots-player", parameters=parameters, seed=unit["seed"])
        each = unit["games"] // BLOCKS
        for block in range(BLOCKS):
            played = experiment.run(
                "dots",
                [learner, learner],
                episodes=each,
                seed=unit["seed"] * 1000 + block,
                configuration=board,
                derivation=DERIVATION,
                retries=0,
            ).wait()
            ended = sum(episode.reason == "terminated" for episode in played)
            found["games"] += ended
            if ended < each:
                assert any("diverged" in episode.message for episode in played), played
                found["diverged"] = True
                return found
            try:
                weights = experiment.message(learner, "weights")
            except Refused as error:  # it diverged at the end of the last game
                if "diverged" not in str(error):
                    raise
                return {**found, "diverged": True}
            curve.append([round(float(x), 4) for x in weights])
        found["seconds"] = round((time.process_time() - begun) / found["games"], 3)
        found["limited"], found["decisions"] = experiment.message(learner, "limited")
        opponents = ("random", "dots-perfect") if unit["rows"] == 4 else ("random",)
        for name in opponents:
            other = experiment.create(name, seed=unit["seed"])
            score = match(experiment, "dots", [learner, other], unit["tests"], unit["seed"], board)
            found[name] = _plain(score)
            found["games"] += score.games
    if unit["rows"] == 4:
        right, count, chance = kept(curve[-1], unit["turns"], unit["tests"], unit["seed"])
        found["kept"] = {"right": right, "of": count, "chance": chance}
    return found


def _rate(results: Sequence[rows.Result], key: str, part: str, of: str) -> str:
    """Return a share in percent over trainings. If all have the same share, the interval is
    Wilson's over all games."""
    found = mean([100 * each[key][part] / each[key][of] for each in results])
    if found.low == found.high:
        return rows.share(*(sum(each[key][name] for each in results) for name in (part, of)))
    return rows.interval(rows.within(found, *rows.PERCENT), 1, sign=" %")


def _pooled(results: Sequence[rows.Result], who: str) -> tuple[str, int, int]:
    """Return the win rate of players that do not learn, and the numbers of games and distinct
    games."""
    wins, count = (sum(each[who][key] for each in results) for key in ("wins", "games"))
    return rows.share(wins, count), count, sum(each[who]["distinct"] for each in results)


POSITIVE, NEGATIVE = (1, 3, 4), (0, 2, 5)
"""Features of boxes whose weights the study prints with a plus, and with a minus."""


def signs(weights: Sequence[float]) -> int:
    """Return how many of nine differences between weights have the study's sign.

    Moving a constant from the six weights of boxes to the seventh changes no value, so training
    identifies differences, not weights; and a lost digit changes no sign.
    """
    return sum(weights[high] > weights[low] for high in POSITIVE for low in NEGATIVE)


def identified(weights: Sequence[float], boxes: int) -> list[float]:
    """Return the quantities that training can identify from weights."""
    return [*(each - weights[0] for each in weights[1:6]), boxes * weights[0] + weights[6]]


def _by_step(done: rows.Done) -> dict[str, list[rows.Result]]:
    return rows.by_what(done, lambda unit: f"{unit['step']:g} / N")


def _swing(curve: Sequence[Sequence[float]]) -> float:
    """Return the mean movement of weights between tests in the second half of a training."""
    half = np.array(curve[len(curve) // 2 :])
    return float(np.abs(np.diff(half, axis=0)).mean())


def _training_draw(done: rows.Done) -> rows.Drawn:
    """Return a table with a column for each reading of the step size."""
    unit = done[0][0]
    boxes = (unit["rows"] - 1) ** 2
    groups = _by_step(done)
    first = WEIGHTS["end"]
    names = [f"weight: {each}, minus that of no line" for each in FEATURES[1:6]]
    names.append(f"{boxes} times the weight of no line, plus the constant")
    printed = [f"{each:+.2f} as read" for each in identified(first, boxes)]
    if unit["rows"] != 4:
        printed = ["-"] * len(names)
    compared: list[rows.Compared] = []

    def cells(what: Callable[[list[rows.Result]], str]) -> list[str]:
        wholes = ([one for one in each if not one["diverged"]] for each in groups.values())
        return [what(whole) if whole else "-" for whole in wholes]

    def agreeing(whole: list[rows.Result]) -> str:
        found = mean([float(signs(each["curve"][-1])) for each in whole])
        text = rows.interval(rows.within(found, 0, 9))
        if unit["rows"] != 4:
            return text
        compared.append(rows.Compared("signs", 9.0, found, len(whole), (0, 9)))
        return rows.signed(text, compared[-1])

    def greatest(whole: list[rows.Result]) -> str:
        tops = [float(np.abs(each["curve"]).max()) for each in whole]
        digits = 0 if max(tops) >= 10 else 1
        return f"{min(tops):,.{digits}f} to {max(tops):,.{digits}f}"

    def number(index: int) -> Callable[[list[rows.Result]], str]:
        def cell(whole: list[rows.Result]) -> str:
            found = mean([identified(each["curve"][-1], boxes)[index] for each in whole])
            return rows.interval(found, _digits(found, 2))

        return cell

    def swing(whole: list[rows.Result]) -> str:
        found = rows.within(mean([_swing(each["curve"]) for each in whole]))
        return rows.interval(found, _digits(found, 3))

    def won(who: str) -> Callable[[list[rows.Result]], str]:
        return lambda whole: _rate(whole, who, "wins", "games")

    lost = [f"{sum(one['diverged'] for one in each)} of {len(each)}" for each in groups.values()]
    lines = [["trainings that diverge", "-", *lost]]
    lines.append(["signs that agree, of nine", "9" if unit["rows"] == 4 else "-", *cells(agreeing)])
    for index, (name, study) in enumerate(zip(names, printed, strict=True)):
        lines.append([name, study, *cells(number(index))])
    lines.append(["greatest weight at any check, by seed", "-", *cells(greatest)])
    lines.append(["change of a weight between checks, second half", "-", *cells(swing)])
    lines.append(["games won against random", "-", *cells(won("random"))])
    if unit["rows"] == 4:
        lines.append(["games won against perfect", "-", *cells(won("dots-perfect"))])
        hard = cells(lambda whole: _rate(whole, "kept", "right", "of"))
        lines.append(["value kept in hard positions", "-", *hard])
    else:
        seconds = cells(lambda whole: rows.interval(rows.within(rows.over(whole, "seconds")), 2))
        lines.append(["seconds of one core a game of self-play", "-", *seconds])
    columns = ("", "study", *(f"ours, {name}" for name in groups))
    whole = [each for _, each in done if not each["diverged"]]
    games = sum(each["random"]["games"] for each in whole)
    distinct = f"{sum(each['random']['distinct'] for each in whole)} of {games} against random"
    picture = _training_curves(done)
    return rows.Drawn(columns, lines, rows.total(done, "games"), distinct, compared, "", picture)


def _digits(found: Estimate, most: int) -> int:
    return most if abs(found.value) < 100 else 0


def _training_curves(done: rows.Done) -> Picture | None:
    """Return the largest weight at each test of the trainings that do not diverge."""
    panels = []
    for name, results in _by_step(done).items():
        whole = [each["curve"] for each in results if not each["diverged"]]
        if whole:
            runs = [[max(map(abs, check)) for check in each] for each in whole]
            across = [done[0][0]["games"] * n / BLOCKS for n in range(1, BLOCKS + 1)]
            curve = LearningCurve(OURS, across, runs)
            panels.append(Panel(name, "greatest weight", [curve], log=True, thin=True))
    text = f"A point is one of {BLOCKS} checks of the seeds that do not diverge."
    return Picture(panels, "games of self-play", text) if panels else None


# -- the weights at the beginning ------------------------------------------------------------------


def _begin(unit: rows.Unit) -> rows.Result:
    found: dict[str, Any] = {"games": 0}
    with InProcess([Dots], AGENTS) as experiment:
        for turns in (1, 4):
            players = [
                experiment.create(
                    "dots-player", parameters={"weights": name, "turns": turns}, seed=n
                )
                for n, name in enumerate(("end", "begin"))
            ]
            score = match(experiment, "dots", players, unit["games"], unit["seed"], openings=4)
            found[str(turns)] = _plain(score)
            found["games"] += score.games
    for name in ("begin", "end"):
        right, of, chance = kept(WEIGHTS[name], 1, unit["games"], unit["seed"])
        found[name] = {"right": right, "of": of, "chance": chance}
    return found


def _plain(score: Score) -> rows.Result:
    return {"games": score.games, "wins": score.wins, "distinct": len(score.digests)}


def _begin_draw(done: rows.Done) -> rows.Drawn:
    results = [result for _, result in done]
    lines = [
        [f"weight: {name}", f"{WEIGHTS['begin'][number]:+.2f}", "as printed"]
        for number, name in enumerate(FEATURES)
    ]
    distinct = []
    for turns in ("1", "4"):
        won, count, different = _pooled(results, turns)
        distinct.append(f"{different} of {count}")
        lines.append(
            [f"last weights beat these, {turns} turn{'s' * (turns != '1')} ahead", "-", won]
        )
    for name in ("begin", "end"):
        right, of = (sum(r[name][key] for r in results) for key in ("right", "of"))
        chance = rows.interval(rows.over(results, name, "chance"), 1, 100, " %")
        lines.append(
            [
                f"value kept in hard positions, one turn ahead: {name}",
                "-",
                f"{rows.share(right, of)}; at random {chance}",
            ]
        )
    note = (
        "The study prints the weights only. Games begin with four lines drawn at random, "
        "each opening played from both seats."
    )
    games = rows.total(done, "games")
    return rows.Drawn(rows.HEAD, lines, games, " and ".join(distinct), (), note)


# -- pruning ---------------------------------------------------------------------------------------


def _pruning(unit: rows.Unit) -> rows.Result:
    rng = np.random.default_rng(unit["seed"])
    weights = np.array(WEIGHTS["end"])
    equal, nodes = 0, [0, 0]
    for _ in range(unit["positions"]):
        board = DotsBoard(4, 4)
        for _ in range(int(rng.integers(10, 21))):
            board.draw(int(rng.choice(board.legal())))
        seen = np.zeros(board.grid.lines + 2 * board.grid.boxes + 1, np.uint8)
        for line in range(board.grid.lines):
            seen[line] = board.drawn >> line & 1
        found = []
        turns = TO_THE_END if board.drawn.bit_count() >= 16 else 2
        for number, prune in enumerate((True, False)):
            search = DotsSearch(weights, prune=prune, table=0)
            found.append(search.line(DotsPosition(seen, board.grid), 0, turns)[0])
            nodes[number] += search.nodes
        equal += abs(found[0] - found[1]) < 1e-9
    return {"equal": equal, "pruned": nodes[0], "whole": nodes[1]}


def _pruning_draw(done: rows.Done) -> rows.Drawn:
    count = sum(unit["positions"] for unit, _ in done)
    equal = rows.total(done, "equal")
    less = mean([each["whole"] / each["pruned"] for _, each in done])
    lines = [
        [
            "positions in which pruning changes the value",
            "pruning stops working",
            f"{count - equal} of {count:,}",
        ],
        ["positions valued without pruning, times those with", "-", rows.interval(less)],
    ]
    note = (
        "Pruning stays sound where a seat moves again, as long as the side to move decides "
        "whether a node maximises, and not its depth. The study's search assumed that turns "
        "alternate."
    )
    return rows.Drawn(rows.HEAD, lines, 0, "-", (), note)


STUDY = rows.declared(
    "dots",
    {
        **{
            key: (partial(_training_units, size), _train, _training_draw)
            for key, size in (("weights", 4), ("five", 5), ("six", 6))
        },
        "pruning": (rows.every, _pruning, _pruning_draw),
        "begin": (rows.every, _begin, _begin_draw),
    },
)
