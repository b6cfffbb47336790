"""Rows of the RLGame study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from dovetail_experiments.statistics import Estimate
from dovetail_studies import rows
from dovetail_studies.means import mean
from dovetail_studies.rlgame import tables as t
from dovetail_studies.rlgame import work as w
from dovetail_studies.rlgame.profiles import SHOWN

NOISE = (
    "The study ran one pair of networks, without a seed; the spread over ours is what one "
    "pair may give."
)
UNKNOWN = (
    "Why some figures differ is not known; details of the study's learner are known only "
    f"from later public programs of the same group. {NOISE}"
)


def _profiles(done: rows.Done) -> dict[str, list[rows.Result]]:
    return {name: results for (name,), results in rows.by(done, "profile").items()}


def _distinct(done: rows.Done, key: str = "distinct", of: str = "games") -> str:
    return f"{rows.total(done, key):,} of {rows.total(done, of):,}"


# -- self-play on 8 x 8 ----------------------------------------------------------------------------

# Wins in percent of 5,000, then the figures of ``tables``; a line each for White and Black.
_SELF_PLAY: list[tuple[float, ...]] = [
    *((4820, 48.19, 8.72, 8.57, 3.98, 2.29), (180, 142.64, 6.43, 8.43, 1.42, 0.77)),
    *((4780, 60.02, 8.18, 8.48, 2.76, 1.98), (220, 176.88, 5.70, 8.33, 0.84, 0.41)),
    *((1887, 281.73, 6.66, 6.55, 1.20, 0.19), (3113, 243.12, 7.30, 7.28, 1.72, 0.18)),
    *((2162, 269.71, 6.37, 6.96, 1.35, 0.07), (2838, 254.13, 6.33, 7.21, 1.47, 0.17)),
    *((2285, 275.74, 6.29, 6.91, 1.30, 0.01), (2715, 275.76, 6.05, 6.95, 1.12, 0)),
    *((2015, 263.23, 6.28, 7.01, 1.43, 0.01), (2985, 239.66, 6.45, 7.37, 1.60, 0)),
    *((2088, 267.44, 6.29, 6.88, 1.39, 0), (2912, 240.89, 6.29, 7.24, 1.56, 0.01)),
    *((2021, 262.52, 6.17, 7.10, 1.41, 0.01), (2979, 232.19, 6.35, 7.53, 1.65, 0.01)),
    *((2040, 257.08, 6.24, 7.14, 1.54, 0), (2960, 229.09, 6.41, 7.60, 1.64, 0)),
    *((2909, 281.40, 5.76, 6.99, 1.19, 0), (2091, 283.51, 5.68, 6.78, 0.93, 0)),
]


def _shares(printed: Sequence[tuple[float, ...]], games: int) -> list[tuple[float, ...]]:
    return [(100 * wins / games, *rest) for wins, *rest in printed]


def _whole(done: rows.Done) -> dict[str, list[rows.Result]]:
    return {name: [each["all"] for each in results] for name, results in _profiles(done).items()}


def _self_play_draw(done: rows.Done) -> rows.Drawn:
    compared: list[rows.Compared] = []
    found = _whole(done)
    lines = t.total_lines((100 * 27_007 / 50_000, 100 * 22_993 / 50_000, 217.94), found, compared)
    note = (
        f"{UNKNOWN} The study's share is a mean of a first fifth in which White wins 96 % and a "
        "rest in which it wins 44 %, so fewer games "
        "cannot be compared with its totals."
    )
    games = rows.total(done, "games")
    return rows.Drawn([*rows.HEAD[:2], *found], lines, games, _distinct(done), compared, note)


def _shapes(study: Sequence[tuple[float, ...]]) -> list[t.Shape]:
    """Return the wins and moves of the sets for which the study prints both players' figures."""
    pairs = zip(study[::2], study[1::2], strict=True)
    return [(found[0], found[1]) for found in (_phase(white, black) for white, black in pairs)]


def _sets_draw(
    study: Sequence[tuple[float, ...]], size: int, note: str, done: rows.Done
) -> rows.Drawn:
    """Draw results by set; only sets of the study's size are compared."""
    compared: list[rows.Compared] = []
    found = _profiles(done)
    own = done[0][0]["set"]
    printed = _shapes(study) if own == size else []
    if not printed:
        note = f"{note} A set here has {own:,} games, so the study's of {size:,} are left out."
    lines = t.shapes(printed, found, compared)
    games = rows.total(done, "games")
    picture = t.set_curves(printed, own, found)
    columns = [*rows.HEAD[:2], *found]
    return rows.Drawn(columns, lines, games, _distinct(done), compared, note, picture)


# -- minimax of depth 5 on 6 x 6 -------------------------------------------------------------------

_PHASES: list[tuple[float, ...]] = [
    *((50.6, 14.54, 9.69, 8.31, 6.77, 4.32), (49.4, 16.24, 9.65, 9.05, 6.85, 4.46)),
    *((95.6, 15.69, 9.10, 9.38, 5.41, 4.66), (4.4, 21.85, 7.19, 9.50, 3.51, 4.07)),
    *((100 * 1254 / 3500, 15.62, 9.66, 8.10, 6.46, 3.94),),
    *((100 * 2246 / 3500, 14.56, 9.67, 9.14, 6.58, 4.59),),
]
_MINIMAX_SETS: list[tuple[float, ...]] = [
    *((472, 15.12, 9.20, 9.43, 5.62, 4.76), (28, 19.32, 7.50, 9.75, 3.61, 4.57)),
    *((474, 15.77, 9.06, 9.44, 5.41, 4.72), (26, 22.65, 7.65, 9.42, 4.04, 3.96)),
    *((483, 15.97, 8.97, 9.36, 5.24, 4.58), (17, 25.35, 5.71, 8.94, 2.12, 3.29)),
    *((477, 15.54, 9.12, 9.32, 5.36, 4.61), (23, 21.43, 7.13, 9.57, 3.52, 4.13)),
    *((484, 16.04, 9.16, 9.34, 5.42, 4.62), (16, 21.88, 7.56, 9.69, 3.94, 4.12)),
]


_NAMED = ("two learners", "minimax", "the same learners, continued")
_SHARE = "White wins, %"


def _minimax_draw(done: rows.Done) -> rows.Drawn:
    compared: list[rows.Compared] = []
    found = _profiles(done)
    both = {profile: found.pop(profile) for profile in w.BOTH if profile in found}
    study = [_phase(white, black) for white, black in zip(_PHASES[::2], _PHASES[1::2], strict=True)]
    phases = {
        profile: list(zip(*(each["phases"] for each in results), strict=True))
        for profile, results in both.items()
    }
    lines = [
        [
            f"{_SHARE}: {name}",
            f"{printed[0]:.1f}",
            *(rows.interval(t.won(each[number], 0)) for each in phases.values()),
        ]
        for number, (name, printed) in enumerate(zip(_NAMED, study, strict=True))
    ]
    title = f"{_SHARE}: minimax, minus {_NAMED[2]}"
    lines.append(t.changes(title, 0, study, (2, 1), both, compared))
    for number, name in enumerate((_SHARE, *t.FIGURES)):
        title = f"{name}: minimax, minus {_NAMED[0]}"
        lines.append(t.changes(title, number, study, (0, 1), both, compared))
    cut = [[each["phases"][1] for each in results] for results in both.values()]
    lines.append(["games with minimax cut at 20,000 moves", "not said", *map(t.cut, cut)])
    for profile, results in found.items():
        [parts] = zip(*(each["phases"] for each in results), strict=True)
        name, rest = f"two learners, {SHOWN.get(profile, profile)}", ["-"] * (len(both) - 1)
        moves = rows.interval(t.moves(parts), 2)
        lines.append(
            [f"{_SHARE}: {name}", f"{study[0][0]:.1f}", rows.interval(t.won(parts, 0)), *rest]
        )
        lines.append([f"{t.FIGURES[0]}: {name}", f"{study[0][1]:.2f}", moves, *rest])
    note = rows.remark("rlgame", "minimax", noise=NOISE)
    columns, games = [*rows.HEAD[:2], *both], rows.total(done, "games")
    picture = t.phase_curves(_NAMED, study, both)
    return rows.Drawn(columns, lines, games, _distinct(done), compared, note, picture)


def _phase(white: Sequence[float], black: Sequence[float]) -> list[float]:
    """Return the study's figures over the games that either side won."""
    whole = white[0] + black[0]
    means = zip(white[1:], black[1:], strict=True)
    return [white[0], *((white[0] * a + black[0] * b) / whole for a, b in means)]


def _bug_draw(done: rows.Done) -> rows.Drawn:
    compared: list[rows.Compared] = []
    lines = []
    study = (100 * 1388 / 4000, 100 * 2612 / 4000, 8.64)
    found = {
        f"{profile}, {bug} the error": [each[bug] for each in results]
        for profile, results in _profiles(done).items()
        for bug in ("with", "without")
    }
    lines = t.total_lines(study, found, compared, like=lambda name: " with the" in name)
    note = (
        f"{NOISE} The study blames its result on the search, which did not see that the enemy's "
        "entering ends the game. Version 1.3 "
        "also took the first of equal moves; both columns do. The study's wins add up to 4,000 "
        "games, its text says 3,500."
    )
    return rows.Drawn(
        [*rows.HEAD[:2], *found], lines, rows.total(done, "games"), _distinct(done), compared, note
    )


# -- Connect Four ----------------------------------------------------------------------------------

# wins and moves of White, of Black, and draws
_FOUR: list[tuple[float, ...]] = [
    *((3387, 8.42, 1603, 8.33, 10), (3315, 8.03, 1683, 8.25, 2), (3238, 7.82, 1762, 8.28, 0)),
    *((3194, 7.86, 1806, 8.14, 0), (3248, 7.83, 1752, 8.09, 0), (3261, 7.80, 1738, 8.15, 1)),
    *((3312, 7.92, 1688, 8.17, 0), (3344, 7.86, 1656, 8.16, 0), (3310, 7.82, 1690, 8.20, 0)),
    (3282, 7.90, 1718, 8.21, 0),
]
_FOUR_MINIMAX: list[tuple[float, ...]] = [
    *((384, 10.99, 111, 12.34, 5), (388, 10.79, 111, 12.71, 1), (441, 9.85, 59, 11.63, 0)),
    *((439, 9.55, 61, 11.52, 0), (443, 9.88, 56, 12.04, 1), (435, 9.75, 64, 11.61, 1)),
    *((446, 9.51, 54, 11.98, 0), (431, 9.54, 68, 12.18, 1), (431, 9.52, 68, 11.47, 1)),
    (444, 9.30, 56, 11.09, 0),
]


def _four_units(minimax: bool, values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    return [{**unit, "minimax": minimax} for unit in rows.every(values, seeds, profile=w.BOTH)]


def _four_draw(
    study: Sequence[tuple[float, ...]],
    size: int,
    totals: tuple[float, float, float],
    drawn: str,
    note: str,
    done: rows.Done,
) -> rows.Drawn:
    compared: list[rows.Compared] = []
    whole = _whole(done)
    lines = t.total_lines(totals, whole, compared, drawn)
    flat = [each for white, m, black, n, _ in study for each in ((white, m), (black, n))]
    printed = _shapes(_shares(flat, size)) if done[0][0]["set"] == size else []
    found = _profiles(done)
    lines += t.shapes(printed, found, compared)
    picture = t.set_curves(printed, done[0][0]["set"], found)
    ahead = [
        sum(part["wins"][0] > part["wins"][1] for part in result["sets"]) for _, result in done
    ]
    count = len(done[0][1]["sets"])
    note += (
        f" White wins more games than Black in all {count} sets with {ahead.count(count)} of "
        f"{len(ahead)} pairs"
        f"{f', in none with {ahead.count(0)}' if ahead.count(0) else ''}."
    )
    columns = [*rows.HEAD[:2], *whole]
    games = rows.total(done, "games")
    return rows.Drawn(columns, lines, games, _distinct(done), compared, note, picture)


# -- the rest --------------------------------------------------------------------------------------


def _pilot_draw(done: rows.Done) -> rows.Drawn:
    results = [result for _, result in done]
    steps = [rows.over(results, "steps", seat) for seat in (0, 1)]
    games = rows.total(done, "games")
    shares = [[100 * each["wins"][seat] / each["games"] for each in results] for seat in (0, 1)]
    wins = " and ".join(rows.interval(rows.within(mean(each), *rows.PERCENT)) for each in shares)
    added = sum(sum(r["returns"]) for r in results)
    lines = [
        ["agents", "one, which plays both sides", "two"],
        [
            "steps",
            "one sum",
            f"{rows.interval(steps[0], 0)} and {rows.interval(steps[1], 0)} a seed",
        ],
        ["returns", "one sum", f"of each seat; together {added:g}"],
        [
            (
                "games in which the first seat had neither as many decisions as the second nor one "
                "more"
            ),
            "-",
            f"{rows.total(done, 'unequal')} of {games}",
        ],
        [
            "wins, %",
            "-",
            f"{wins}; by seed {min(shares[0]):.0f} to {max(shares[0]):.0f} for the first",
        ],
    ]
    note = (
        "RL-Glue knows one agent, so the study's plays both sides and learns from the "
        "observation whose turn it is. Here `td-rlgame` sits "
        "in each seat and knows nothing of the other."
    )
    distinct = _distinct(done)
    return rows.Drawn(rows.HEAD, lines, games, distinct, (), note)


def _alpha_draw(done: rows.Done) -> rows.Drawn:
    results = [result for _, result in done]
    parts = [result["all"] for result in results]
    faults, replayed = rows.total(done, "faults"), rows.total(done, "replayed")
    exact = rows.Compared("games with a difference", 0.0, Estimate(faults, faults, faults), 0)
    lines = [
        ["games replayed by the plain rules", "selected ones, by eye", f"{replayed:,}"],
        ["moves replayed", "-", f"{rows.total(done, 'moves'):,}"],
        ["games with a difference", "none", rows.signed(f"{faults:,}", exact)],
        ["White wins, % of all games", "-", rows.interval(t.won(parts, 0))],
        ["moves of the winner", "-", rows.interval(t.moves(parts), 2)],
        ["games cut at 20,000 moves", "not said", t.cut(parts)],
    ]
    note = (
        "Every game that is replayed is the last of a block; its moves, winner and living "
        "pawns are compared."
    )
    return rows.Drawn(rows.HEAD, lines, rows.total(done, "games"), _distinct(done), (exact,), note)


def _old_draw(done: rows.Done) -> rows.Drawn:
    results = [result for _, result in done]
    endless = [each["endless"] for each in results]
    short = [each["short"] for each in results]
    equal, games = rows.total(done, "equal"), rows.total(done, "compared")
    unfinished = rows.within(
        mean([100 * each["cut"] / each["games"] for each in endless]), *rows.PERCENT
    )
    by_seed = t.moves_by_seed(short)
    decided, pairs = len(by_seed), len(results)
    compared = [
        rows.Compared("games not over", 100.0, unfinished, pairs, rows.PERCENT),
        rows.Compared("White wins", 100.0, t.won(short, 0), pairs, rows.PERCENT),
        rows.Compared("moves of the winner", 13.0, t.moves(short), decided, seeds=by_seed),
    ]
    lines = [
        [
            (
                f"greedy games after {done[0][0]['long']:,} of training that were not over after "
                "10,000 moves, %"
            ),
            "100",
            rows.signed(rows.interval(unfinished), compared[0]),
        ],
        [
            "the same, % by pair",
            "-",
            t.by_seed(endless, lambda part: 100 * part["cut"] / part["games"]),
        ],
        [
            f"greedy games after {done[0][0]['short']:,}: White wins, %",
            "100",
            rows.signed(rows.interval(t.won(short, 0)), compared[1]),
        ],
        [
            f"moves of the winner, {decided} of {len(short)} pairs",
            "13",
            rows.signed(rows.interval(t.moves(short), 2), compared[2]),
        ],
        ["distinct games among these", "1", _distinct(done, "short distinct", "greedy")],
        ["games cut at 10,000 moves", "0 of 100", t.cut(short)],
        ["games equal move by move in the other program", "all", f"{equal} of {games}"],
    ]
    note = (
        f"{NOISE} Greedy players still learn, as the study's do. Our other program is the same "
        "learner in Python over the plain rules, "
        f"which played {rows.total(done, 'moves'):,} moves of learning on 6 x 6 beside the "
        "compiled one."
    )
    return rows.Drawn(
        rows.HEAD,
        lines,
        rows.total(done, "games"),
        "greedy games repeat themselves; see the table",
        compared,
        note,
    )


_SETS_NOTE = f"{UNKNOWN} Figures are means over a seed's won games, then over seeds."
_MINIMAX_NOTE = (
    f"{UNKNOWN} The games are those of the row `minimax`; minimax learns and "
    "explores while it is counted."
)


def _of_minimax(done: rows.Done) -> rows.Done:
    """Return the pieces of work with minimax games, as if there were no others."""
    return [
        (
            unit,
            {**result, "distinct": result["minimax distinct"], "games": unit["set"] * unit["sets"]},
        )
        for unit, result in done
        if unit["sets"]
    ]


def _minimax_sets_draw(done: rows.Done) -> rows.Drawn:
    return _sets_draw(_shares(_MINIMAX_SETS, 500), 500, _MINIMAX_NOTE, _of_minimax(done))


_FOUR_NOTE = (
    "Why games are shorter than the study's in nine of ten pairs is not known. Ours need 4.5 to 11 "
    "moves by pair, the study's 10.12: its mean of 10.16 counts its ten draws as 21 moves, ours "
    f"leaves draws out. {NOISE} Its table of positions, which keeps bounds as if they were values, "
    "cannot be the reason: lines of three moves meet at the horizon only, where values are exact."
)
_SETS = partial(_sets_draw, _shares(_SELF_PLAY, 5_000), 5_000, _SETS_NOTE)
_DRAWS = f"{NOISE} A draw counts for neither side."
_PLAYED = partial(_four_draw, _FOUR, 5_000, (65.782, 34.192, 8.02), "13 of 50,000", _DRAWS)
_SEARCHED = (_FOUR_MINIMAX, 500, (85.64, 14.16, 10.12), "10 of 5,000", _FOUR_NOTE)
_BOTH, _FIRST = (partial(rows.every, profile=profiles) for profiles in (w.BOTH, w.BOTH[:1]))
STUDY = rows.declared(
    "rlgame",
    {
        "pilot": (rows.every, w.pilot, _pilot_draw),
        "alpha": (_FIRST, w.alpha, _alpha_draw),
        "self-play": (_BOTH, w.self_play, _self_play_draw),
        "self-play-sets": (_BOTH, w.self_play, _SETS),
        "old-and-new": (_FIRST, w.old_and_new, _old_draw),
        "minimax-bug": (_FIRST, w.minimax_bug, _bug_draw),
        "minimax": (w.minimax_units, w.minimax, _minimax_draw),
        "minimax-sets": (w.minimax_units, w.minimax, _minimax_sets_draw),
        "connect-four": (partial(_four_units, False), w.connect_four, _PLAYED),
        "connect-four-minimax": (
            partial(_four_units, True),
            w.connect_four,
            partial(_four_draw, *_SEARCHED),
        ),
    },
)
