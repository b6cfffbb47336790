"""Table 4.4.1 of the Dominion study: trained against each of six sets, tested against all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dovetail.experiments.studies.dominion import study as s
from dovetail.experiments.studies.dominion.learning import FORCED, GBC, SHUFFLED, learner, percent
from dovetail.experiments.studies.rows import (
    PERCENT,
    Compared,
    Done,
    Drawn,
    Result,
    Row,
    Size,
    Unit,
    by,
    interval,
    over,
    signed,
    total,
)

SETS = [["random"] * 3, ["money"] * 3, ["greedy"] * 3, ["blacksmith"] * 3, ["chapel"] * 3, GBC]


TRANSFER = [
    (26.1835, 100, 68.36, 29.99, 35.10, 78.24, 48.81),
    (15.1399, 100, 77.86, 38.64, 43.84, 85.38, 57.89),
    (17.3816, 100, 77.99, 39.27, 43.40, 84.58, 57.97),
    (13.785, 99.99, 77.46, 37.70, 44.76, 85.63, 58.28),
    (13.54538, 100, 75.18, 33.31, 42.66, 85.10, 55.17),
    (15.2097, 99.99, 76.41, 35.42, 43.61, 85.75, 56.51),
]


def _transfer_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[Unit]:
    return [{"set": row, **values, "seed": n} for row in range(len(SETS)) for n in seeds]


def _transfer(unit: Unit) -> Result:
    study = learner("12", SETS[unit["set"]], 4, FORCED, unit["seed"], {})
    s.run(study, unit["games"], 10_000, 10_000)
    found = [study.test(unit["again"], others) for others in SETS]
    own = found[unit["set"]]
    games = unit["games"] * 2 + len(SETS) * unit["again"]
    return {"won": [each.share[study.seat] for each in found], "rounds": own.rounds, "games": games}


def _transfer_draw(done: Done) -> Drawn:
    lines, compared = [], []
    names = ["3 Random", "3 Money", "3 Greedy", "3 Blacksmith", "3 Chapel", "G + B + C"]
    for (row,), results in by(done, "set").items():
        study = TRANSFER[row]
        lines.append(
            [f"{names[row]}, study", f"{study[0]:.2f}", *(f"{each:.2f}" for each in study[1:])]
        )
        rounds = over(results, "rounds")
        compared.append(Compared(f"{names[row]}: rounds", study[0], rounds, len(results)))
        cells = [signed(interval(rounds, 2), compared[-1])]
        for column in range(len(SETS)):
            won = percent(results, "won", column)
            text = interval(won)
            if column:
                name = f"{names[row]} v {names[column]}"
                compared.append(Compared(name, study[1 + column], won, len(results), PERCENT))
                text = signed(text, compared[-1])
            cells.append(text)
        lines.append([f"{names[row]}, ours", *cells])
    note = (
        "The study says neither how long these six learned nor by which exploration; here it is forced exploration on "
        "version 12. Its finding, that training against Random is worst and the rest alike, is the thing to look for; "
        "rounds are those of the games against the set trained against."
    )
    columns = ["trained against", "rounds", *names]
    return Drawn(columns, lines, total(done, "games"), SHUFFLED, compared, note)


ROW = Row(
    "transfer",
    "Trained against each of six sets, tested against all",
    "36 shares and mean rounds (table 4.4.1).",
    {
        "quick": Size(
            "10,000 training games (the study does not give its number), {seeds}",
            {"games": 10_000, "again": 2_000},
            2,
        ),
        "part": Size(
            "300,000 training games (the study does not give its number), {seeds}",
            {"games": 300_000, "again": 20_000},
        ),
        "study": Size(
            "2,000,000 training games (the study does not give its number), {seeds}",
            {"games": 2_000_000, "again": 100_000},
        ),
    },
    _transfer_units,
    _transfer,
    _transfer_draw,
    sized=False,
)
