"""The rows of the dots and boxes study."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from dovetail_agents.learning.linear_td import LARGEST
from dovetail_experiments.statistics import Estimate
from dovetail_games.dots import Dots
from dovetail_games.dots.rules import DotsBoard
from dovetail_studies.curves import OURS, Curve, Mark, Panel, Picture
from dovetail_studies.means import mean
from dovetail_studies.playing import DERIVATION, Score, match
from dovetail_studies.rows import (
    HEAD,
    PERCENT,
    Compared,
    Done,
    Drawn,
    Result,
    Row,
    Size,
    Study,
    Unit,
    each_seed,
    interval,
    over,
    share,
    signed,
    total,
    within,
)

FEATURES = ("no line", "one", "two", "three", "own", "the opponent's", "constant")
AGENTS: list[type[Agent[Any]]] = [DotsPlayer, DotsPerfect, Random]
BLOCKS = 20
"""Checks of a training."""


def kept(weights: Any, turns: int, positions: int, seed: int) -> tuple[int, int, float]:
    """Return in how many hard positions of 4 x 4 dots a player keeps the value; how many there were;
    and how many a random player would.

    Hard positions are those from random games with 6 to 18 lines drawn in which not every line keeps
    the value.
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


def _learn(unit: Unit) -> Result:
    """Play against itself, then against random, the perfect player and the study's last weights."""
    board = {"rows": unit["rows"], "columns": unit["rows"]}
    parameters = {"weights": unit["start"], "turns": unit["turns"], "epsilon": 0.1}
    curve = []
    with InProcess([Dots], AGENTS) as experiment:
        learner = experiment.create("dots-player", parameters=parameters, seed=unit["seed"])
        each = max(1, unit["games"] // BLOCKS)
        for block in range(BLOCKS):
            experiment.run(
                "dots",
                [learner, learner],
                episodes=each,
                seed=unit["seed"] * 1000 + block,
                configuration=board,
                derivation=DERIVATION,
            ).wait()
            curve.append([round(float(x), 4) for x in experiment.message(learner, "weights")])
        found: dict[str, Any] = {"weights": curve[-1], "curve": curve, "games": each * BLOCKS}
        random = experiment.create("random")
        scores = {
            "random": match(
                experiment, "dots", [learner, random], unit["tests"], unit["seed"], board
            )
        }
        perfect = experiment.create("dots-perfect")
        scores["perfect"] = match(
            experiment, "dots", [learner, perfect], unit["tests"], unit["seed"], board
        )
    for name, score in scores.items():
        found[name] = {"games": score.games, "wins": score.wins, "distinct": len(score.digests)}
        found["games"] += score.games
    right, count, chance = kept(curve[-1], unit["turns"], unit["tests"], unit["seed"])
    found["kept"] = {"right": right, "of": count, "chance": chance}
    return found


def _rate(results: Sequence[Result], key: str, part: str, of: str) -> str:
    """Return a share in percent, over trainings; where all have the same, Wilson's over all."""
    found = mean([100 * each[key][part] / each[key][of] for each in results])
    if found.low == found.high:
        return share(*(sum(each[key][name] for each in results) for name in (part, of)))
    return interval(within(found, *PERCENT), 1, sign=" %")


def _pooled(results: Sequence[Result], who: str) -> tuple[str, int, int]:
    """Return the share of games won by players that do not learn; games; distinct ones."""
    wins, count = sum(r[who]["wins"] for r in results), sum(r[who]["games"] for r in results)
    return share(wins, count), count, sum(r[who]["distinct"] for r in results)


def _weights_draw(done: Done) -> Drawn:
    results = [result for _, result in done]
    lines, compared = [], []
    for number, name in enumerate(FEATURES):
        found = over(results, "weights", number)
        study = WEIGHTS["end"][number]
        compared.append(Compared(name, study, found, len(results)))
        ours = signed(interval(found, 2), compared[-1])
        lines.append([f"weight: {name}", f"{study:+.2f}", ours])
    against = {who: _pooled(results, who) for who in ("random", "perfect")}
    lines += [
        [f"games won against {who}", "-", _rate(results, who, "wins", "games")] for who in against
    ]
    chance = interval(over(results, "kept", "chance"), 1, 100, " %")
    lines.append(
        [
            "value kept in hard positions",
            "-",
            f"{_rate(results, 'kept', 'right', 'of')}; at random {chance}",
        ]
    )
    note = (
        "The first six features always add up to the number of boxes, so a constant may move from them to the seventh without changing a "
        "value: single weights need not agree. Training begins with the study's first weights; it and the tests look four turns ahead, as the study does. The step size is c / N, where N counts how often the same features were met, and c is 0.02 here; the study's cannot be read. Against random nearly every player wins; the perfect player "
        "(`dots-perfect`, a table of all 16.8 million positions) and the share of positions in which the value is kept show what random hides. Half of the games against it are played from the seat that cannot win. Hard positions come from random games, "
        "with 6 to 18 lines drawn, where not every line keeps the value in boxes."
    )
    distinct = f"{against['random'][2]} of {against['random'][1]} against random, {against['perfect'][2]} of {against['perfect'][1]} against the perfect player"
    picture = _weights_curves(results, done[0][0]["games"])
    return Drawn(HEAD, lines, total(done, "games"), distinct, compared, note, picture)


def _weights_curves(results: Sequence[Result], games: int) -> Picture:
    """Return the weights at each check, and the study's last."""
    across = [games * n / BLOCKS for n in range(1, BLOCKS + 1)]
    curves = [
        Curve(name, across, [[check[number] for check in each["curve"]] for each in results])
        for number, name in enumerate(FEATURES)
    ]
    marks = [
        Mark("", WEIGHTS["end"][number], games, of=name) for number, name in enumerate(FEATURES)
    ]
    text = f"A point is one of {BLOCKS} checks. Dotted, with a cross at the end, are the study's weights."
    return Picture([Panel("", "weight", curves, marks)], "games of self-play", text)


# -- the weights at the beginning --------------------------------------------------------------------


def _begin(unit: Unit) -> Result:
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


def _plain(score: Score) -> Result:
    return {"games": score.games, "wins": score.wins, "distinct": len(score.digests)}


def _begin_draw(done: Done) -> Drawn:
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
        chance = interval(over(results, name, "chance"), 1, 100, " %")
        lines.append(
            [
                f"value kept in hard positions, one turn ahead: {name}",
                "-",
                f"{share(right, of)}; at random {chance}",
            ]
        )
    note = "The study prints the weights only. Games begin with four lines drawn at random, each opening played from both seats."
    games = total(done, "games")
    return Drawn(HEAD, lines, games, " and ".join(distinct), (), note)


# -- larger boards ---------------------------------------------------------------------------------------

STEP = 0.02
"""The step size that learns on 3 x 3 boxes."""
FASTER = 2.0
"""A power of N in a step size that shrinks faster than the study's."""
TURNS = 4
"""To look ahead, as the study.  A turn on these boards can take boxes in millions of ways, so positions are limited."""


def _large_units(rows: int, values: Mapping[str, int], seeds: Sequence[int]) -> list[Unit]:
    """Return trainings with the step size of 4 x 4 dots and with one that is stable here.

    A step is stable if it is less than 2 / |features|^2, and that square grows with the square of
    the number of boxes. On 5 x 5 the study blames that c / N shrinks too slowly, so one is c / N^2.
    """
    steps: list[Unit] = [{"step": STEP}, {"step": round(STEP * (3 / (rows - 1)) ** 4, 5)}]
    if rows == 5:
        steps.append({"step": STEP, "power": FASTER})
    return [
        {
            "rows": rows,
            "turns": TURNS,
            "most": values["most"],
            **step,
            "games": values["games"],
            "tests": values["tests"],
            "seed": seed,
        }
        for step in steps
        for seed in seeds
    ]


def _large(unit: Unit) -> Result:
    """Play against itself until done or diverged, then against random."""
    board = {"rows": unit["rows"], "columns": unit["rows"]}
    parameters = {
        "weights": "begin",
        "turns": unit["turns"],
        "epsilon": 0.1,
        "learning_rate": unit["step"],
        "power": unit.get("power", 1.0),
        "most_positions": unit["most"],
    }
    curve: list[list[float]] = []
    found: dict[str, Any] = {"games": 0, "diverged": False, "random": None}
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
                break
            try:
                weights = experiment.message(learner, "weights")
            except Refused as error:  # it diverged at the end of the last game
                if "diverged" not in str(error):
                    raise
                found["diverged"] = True
                break
            curve.append([round(float(x), 4) for x in weights])
        found["seconds"] = round((time.process_time() - begun) / max(1, found["games"]), 3)
        found["curve"] = curve
        if not found["diverged"]:
            found["limited"], found["decisions"] = experiment.message(learner, "limited")
            random = experiment.create("random", seed=unit["seed"])
            score = match(experiment, "dots", [learner, random], unit["tests"], unit["seed"], board)
            found["random"] = _plain(score)
            found["games"] += score.games
    return found


def _swing(curve: Sequence[Sequence[float]]) -> float:
    """Return how far weights move between checks in the second half of a training, on average."""
    half = np.array(curve[len(curve) // 2 :])
    return float(np.abs(np.diff(half, axis=0)).mean())


def _named(done: Done) -> dict[str, list[Result]]:
    """Return results by the steps of the trainings, in words."""
    named: dict[str, list[Result]] = {}
    for unit, result in done:
        faster = "²" if unit.get("power") == FASTER else ""
        named.setdefault(f"step {unit['step']:g} / N{faster}", []).append(result)
    return named


def _large_draw(done: Done) -> Drawn:
    lines = []
    distinct, games = 0, 0
    most = done[0][0]["most"]
    for name, results in _named(done).items():
        whole = [each for each in results if not each["diverged"]]
        lost = f"{len(results) - len(whole)} of {len(results)}"
        lines.append([f"{name}: trainings that diverge", "-", lost])
        if not whole:
            continue
        cost = mean([each["seconds"] for each in whole])
        lines.append(
            [f"{name}: seconds of one core a game of self-play", "-", interval(within(cost), 2)]
        )
        cut = within(mean([100 * each["limited"] / each["decisions"] for each in whole]), *PERCENT)
        lines.append(
            [
                f"{name}: decisions in which a move used up its share of {most:,} positions",
                "-",
                interval(cut, 1, sign=" %"),
            ]
        )
        for number, feature in enumerate(FEATURES):
            ends = mean([each["curve"][-1][number] for each in whole])
            lines.append([f"{name}: weight: {feature}", "-", interval(ends, _digits(ends, 2))])
        moved = within(mean([_swing(each["curve"]) for each in whole]))
        change = interval(moved, _digits(moved, 3))
        lines.append([f"{name}: change of a weight between checks, second half", "-", change])
        greatest = [float(np.abs(each["curve"]).max()) for each in whole]
        digits = 0 if max(greatest) >= 10 else 1
        met = f"{min(greatest):,.{digits}f} to {max(greatest):,.{digits}f}, by seed"
        lines.append([f"{name}: greatest weight at any check", "-", met])
        checks = [int(np.abs(each["curve"]).max(axis=1).argmax()) + 1 for each in whole]
        after = ", ".join(str(check * done[0][0]["games"] // BLOCKS) for check in checks)
        lines.append([f"{name}: games after which it is met", "-", f"{after}, by seed"])
        won = _rate(whole, "random", "wins", "games")
        lines.append([f"{name}: games won against random", "-", won])
        distinct += sum(each["random"]["distinct"] for each in whole)
        games += sum(each["random"]["games"] for each in whole)
    powers = any(unit.get("power") == FASTER for unit, _ in done)
    quicker = "The lines with c / N² try this: their step shrinks faster. " if powers else ""
    note = (
        f"Weights are checked {BLOCKS} times. A training *diverges* if one passes {LARGEST:,.0f}, where the player stops. The larger step is that of 4 x 4 dots. The "
        "features count boxes, so their square grows with the square of the number of boxes, and a step that is stable on 9 boxes "
        "is not on 16 or 25: weights swing or diverge. The smaller step is scaled down by that growth. The study blames the step "
        "as well, for another reason: its step is c / N, where N counts how often the same features were met, and N grows more slowly here. "
        f"{quicker}The positions of a decision are shared evenly among its moves; a move that has used up its share is searched less deep in the rest."
    )
    text = f"{distinct} of {games} against random"
    return Drawn(HEAD, lines, total(done, "games"), text, (), note, _large_curves(done))


def _digits(found: Estimate, most: int) -> int:
    """Return the digits of a weight after the point: none of one that has grown far beyond those of a player."""
    return most if abs(found.value) < 100 else 0


def _large_curves(done: Done) -> Picture | None:
    """Return the greatest weight at each check of the trainings that do not diverge."""
    panels = []
    for name, results in _named(done).items():
        whole = [each["curve"] for each in results if each["random"]]
        if whole:
            runs = [[max(map(abs, check)) for check in each] for each in whole]
            across = [done[0][0]["games"] * n / BLOCKS for n in range(1, BLOCKS + 1)]
            curve = Curve(OURS, across, runs)
            panels.append(Panel(name, "greatest weight", [curve], log=True, thin=True))
    text = f"A point is one of {BLOCKS} checks of the seeds that do not diverge."
    return Picture(panels, "games of self-play", text) if panels else None


# -- pruning -------------------------------------------------------------------------------------------


def _pruning(unit: Unit) -> Result:
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


def _pruning_draw(done: Done) -> Drawn:
    count = sum(unit["positions"] for unit, _ in done)
    equal = total(done, "equal")
    less = mean([each["whole"] / each["pruned"] for _, each in done])
    lines = [
        [
            "positions in which pruning changes the value",
            "pruning stops working",
            f"{count - equal} of {count:,}",
        ],
        ["positions valued without pruning, times those with", "-", interval(less)],
    ]
    note = "Pruning stays sound where a seat moves again, as long as the side to move decides whether a node maximises, and not its depth. The study's search assumed that turns alternate."
    return Drawn(HEAD, lines, 0, "-", (), note)


def _sizes(
    small: Mapping[str, int], large: Mapping[str, int], few: str, many: str
) -> dict[Any, Size]:
    return {
        "quick": Size(few, small, 1),
        "part": Size(many, large, 2),
        "study": Size(many, large),
    }


_LARGE = "games with each step and seed (the study gives no number), four turns ahead with at most"

STUDY = Study(
    "dots",
    "TD learning for dots and boxes",
    (
        Row(
            "weights",
            "Weights after self-play",
            "-.21, +.12, -.28, +.64, +.79, -.70, +.89 (4 x 4 dots).",
            _sizes(
                {"games": 100, "tests": 50},
                {"games": 600, "tests": 500},
                "100 of about 600 games with each seed, {seeds}",
                "600 games with each seed (the study's number cannot be read), {seeds}",
            ),
            partial(each_seed, {"rows": 4, "start": "begin", "turns": 4}),
            _learn,
            _weights_draw,
            sized=False,
        ),
        Row(
            "pruning",
            "Pruning where a seat moves again",
            "it stops working, and is given up.",
            _sizes(
                {"positions": 20},
                {"positions": 200},
                "{positions} positions",
                "{positions} positions",
            ),
            partial(each_seed, {}),
            _pruning,
            _pruning_draw,
            sized=False,
        ),
        Row(
            "begin",
            "Weights at the beginning",
            "seven numbers, +.11, -.20, +.20, +.31, -.12, -.28, +.41.",
            _sizes({"games": 40}, {"games": 400}, "{games} games a line", "{games} games a line"),
            partial(each_seed, {}),
            _begin,
            _begin_draw,
            sized=False,
        ),
        Row(
            "five",
            "5 x 5 dots",
            "the weights oscillate, which it puts down to the step size.",
            _sizes(
                {"games": 40, "tests": 20, "most": 10_000},
                {"games": 600, "tests": 500, "most": 1_000_000},
                f"40 {_LARGE} 10,000 positions a decision, {{seeds}}",
                f"600 {_LARGE} 1,000,000 positions a decision, {{seeds}}",
            ),
            partial(_large_units, 5),
            _large,
            _large_draw,
            sized=False,
        ),
        Row(
            "six",
            "6 x 6 dots",
            "too slow, and given up.",
            _sizes(
                {"games": 20, "tests": 10, "most": 10_000},
                {"games": 600, "tests": 500, "most": 1_000_000},
                f"20 {_LARGE} 10,000 positions a decision, {{seeds}}",
                f"600 {_LARGE} 1,000,000 positions a decision, {{seeds}}",
            ),
            partial(_large_units, 6),
            _large,
            _large_draw,
            sized=False,
        ),
    ),
    "Perfect play is a table of all positions of 4 x 4 dots, built in seconds by backward induction.",
)
