"""2048: the n-tuple network ``fives`` with temporal coherence, and the effect of each choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from dovetail_agents.games.game_2048 import saved
from dovetail_agents.games.game_2048.networks import layout
from dovetail_agents.general.feature_network.genome import decode, genes
from dovetail_agents.general.feature_network.handmade import PLANES
from dovetail_agents.general.feature_network.saved import Genome
from dovetail_studies import rows
from dovetail_studies.best.parts import COLUMNS, percent, shared
from dovetail_studies.game_2048.train import LearningRule, chunks, measure
from dovetail_studies.learned import learned
from dovetail_studies.tetris import games
from dovetail_studies.tetris import train as tetris
from dovetail_studies.tetris.searches import CMAES
from dovetail_studies.tetris.sliding import Sliding

SHAPE = (4, 4)
TILES = (2048, 4096, 8192, 16384)
BEYOND = 32768
COHERENT, PLAIN = LearningRule(1.0, coherent=True), LearningRule(0.1, coherent=False)
OPTIONS = (("lines", False), ("fives", False), ("lines", True), ("fives", True))
"""Network and temporal coherence of the shorter trainings."""
MEASURED = 1_000_000
"""Offset of the seeds of games without learning."""
WIDE = 16
"""Number of tiles that the searching network distinguishes: up to 32768."""
SEARCHED = {1: 1, 2: 10, 3: 250}
"""Divisor of the number of games by search depth in plies; a game at three plies takes 90 s."""
GENES = "the Tetris study's network"
GENERATIONS, POPULATION, EACH, FINAL = 60, 50, 10, 50
"""CMA-ES over all genes of six units: generations, population, games per candidate, and games of a
generation's mean."""


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    tests = {"tests": values["tests"]}
    found = rows.every({"games": values["games"], **tests}, seeds)
    for network, coherent in OPTIONS:
        option = {"network": network, "coherent": coherent}
        found += rows.every({**option, "games": values["short"], **tests}, seeds)
    generations = min(GENERATIONS, values["short"] // 20)
    found += _searching(values, seeds)
    found += rows.every({"network": GENES, "generations": generations, **tests}, seeds)
    return found


def _searching(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    """Return the trainings of searching players, with the network that they use."""
    return [
        unit
        for plies in (1, 2, 3)
        for unit in rows.every(
            {
                **{"exponents": WIDE, "plies": plies, "games": values["searching"]},
                "tests": max(1, values["tests"] // SEARCHED[plies]),
            },
            seeds,
        )
    ]


def _genes(unit: rows.Unit) -> rows.Result:
    genome = learned(f"genes-{unit['seed']}", partial(_search, unit), Genome.read)
    out = games.play(
        [Sliding(genome.network())],
        games.TetrisGame(*SHAPE),
        games.seeds(MEASURED + unit["seed"], 0, unit["tests"]),
    )[0]
    played = unit["generations"] * (POPULATION * EACH + FINAL) + unit["tests"]
    return {"score": round(float(out[:, 0].mean()), 1), "games": played}


def _search(unit: rows.Unit) -> bytes:
    half = np.full(6 * genes(*SHAPE), 0.5)
    first = decode(half, PLANES, *SHAPE)
    search = CMAES(half, 0.2, POPULATION, unit["seed"], diagonal=True, bounds=(0.0, 1.0))
    trials = tetris.Trials(games.TetrisGame(*SHAPE), unit["seed"], EACH, FINAL)
    player = tetris.sliding(first)
    best = tetris.best_of(list(tetris.search(search, player, trials, unit["generations"])))
    return Genome.of_genes(best.vector, (PLANES, *SHAPE)).bytes()


def _work(unit: rows.Unit) -> rows.Result:
    if unit.get("network") == GENES:
        return _genes(unit)
    kind, coherent = unit.get("network", "fives"), unit.get("coherent", True)
    exponents = unit.get("exponents")
    network = layout(kind, *SHAPE, exponents)
    parameters = saved.NTupleParameters(network=kind, exponents=exponents)

    def learn() -> bytes:
        weights = network.zeros()
        by = COHERENT if coherent else PLAIN
        for _ in chunks(network, weights, *SHAPE, unit["games"], unit["seed"], by):
            pass
        return saved.dump(parameters, SHAPE, weights, unit["games"])

    rule = "coherent" if coherent else "plain"
    name = f"{kind}{exponents or ''}-{rule}-{unit['games']}-{unit['seed']}"
    weights = learned(name, learn, saved.parse)[3]
    assert weights is not None
    tiles = (*TILES, BEYOND) if "plies" in unit else TILES
    plies = unit.get("plies", 1)
    out = measure(network, weights, SHAPE, unit["tests"], MEASURED + unit["seed"], plies)
    return {
        "score": round(float(np.mean(out[:, 0])), 1),
        "tiles": {str(tile): int((1 << out[:, 1] >= tile).sum()) for tile in tiles},
        "tests": unit["tests"],
        "games": unit["games"] + unit["tests"],
    }


def _draw(done: rows.Done) -> rows.Drawn:
    results = [result for unit, result in done if not {"network", "plies"} & unit.keys()]
    options = [each for each in done if "coherent" in each[0]]
    generations = done[-1][0]["generations"]
    searched = [result for unit, result in done if unit.get("network") == GENES]
    lines = [
        [
            "mean score",
            rows.interval(rows.over(results, "score"), 0),
            "-",
            "100,178 (2014); 609,104 with search (2016); 625,377 (2021)",
        ]
    ]
    for tile in TILES:
        found = shared([(each["tiles"][str(tile)], each["tests"]) for each in results])
        printed = "97.8 (2014)" if tile == 2048 else "-"
        lines.append([f"reaches {tile}, %", percent(found), "-", printed])
    for (plies,), group in rows.by([each for each in done if "plies" in each[0]], "plies").items():
        name = f"tiles up to {BEYOND}, {plies} {'ply' if plies == 1 else 'plies'}"
        lines.append([f"{name}: mean score", rows.interval(rows.over(group, "score"), 0), "-", "-"])
        for tile in (2048, 8192, 16384, BEYOND):
            reached = shared([(each["tiles"][str(tile)], each["tests"]) for each in group])
            lines.append([f"{name}: reaches {tile}, %", percent(reached), "-", "-"])
    for (name, coherent), group in rows.by(options, "network", "coherent").items():
        trained = f"`{name}`, {'temporal coherence' if coherent else 'plain TD'}, shorter"
        reached = shared([(each["tiles"]["2048"], each["tests"]) for each in group])
        lines.append(
            [f"{trained}: mean score", rows.interval(rows.over(group, "score"), 0), "-", "-"]
        )
        lines.append([f"{trained}: reaches 2048, %", percent(reached), "-", "-"])
    lines.append([f"{GENES}: mean score", rows.interval(rows.over(searched, "score"), 0), "-", "-"])
    note = rows.remark(
        "best",
        "2048",
        genes=GENES[0].upper() + GENES[1:],
        generations=generations,
        population=POPULATION,
        each=EACH,
    )
    text = "all, as each has its own sequence of tiles"
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), note)


CODE: rows.Code = (_units, _work, _draw)
