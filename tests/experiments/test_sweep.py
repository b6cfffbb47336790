"""Seeds and sweeps in a file: what is played, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files import sweep

pytestmark = pytest.mark.fast

SWEEP = """
[sweep]
method = "{method}"
{more}
[sweep.parameters]
"agents.one.parameters.hidden" = {hidden}
"agents.one.parameters.epsilon" = {epsilon}
"""
RATE = "{ low = 0.01, high = 0.5, log = true }"
AIM = 'objective = { evaluation = "one", agent = "one" }'


def written(
    small: Path,
    method: str = "grid",
    hidden: str = "[4, 8]",
    epsilon: str = "[0.1]",
    more: str = "",
) -> Path:
    text = small.read_text().replace("seed = 5", "seed = 5\nrepeats = 2")
    small.write_text(text + SWEEP.format(method=method, hidden=hidden, epsilon=epsilon, more=more))
    return small


def all_trials(plan: sweep.SweepPlan) -> list[sweep.Trial]:
    return [each for settings in plan.proposals() for each in plan.trials(settings, 1)]


def test_a_grid_has_every_combination_with_every_seed(small: Path) -> None:
    plan = sweep.read(written(small, epsilon="[0.1, 0.2, 0.3]"))
    found = all_trials(plan)
    assert len(found) == 12
    assert len({each.variant for each in found}) == 6
    assert found[0].variant == "hidden=4 epsilon=0.1"
    assert [each.file.seed for each in found[:2]] == plan.seeds
    assert plan.seeds[0] == 5 != plan.seeds[1]
    assert {each.file.agents["one"].parameters["hidden"] for each in found} == {4, 8}
    assert {each.file.agents["two"].parameters["hidden"] for each in found} == {8}


def test_different_values_have_different_labels() -> None:
    values = [1000000.0, 1000001.0, 0.5, 16, 16.5, "16", '"16"', True, "true", "a", "a b", "", []]
    assert [sweep.label({"x.y": each}) for each in values] == [
        *("y=1e+06", "y=1000001.0", "y=0.5", "y=16", "y=16.5", 'y="16"', 'y="\\"16\\""'),
        *("y=true", 'y="true"', "y=a", 'y="a b"', 'y=""', "y=[]"),
    ]


def test_a_file_without_seeds_is_one_execution(small: Path) -> None:
    plan = sweep.read(small)
    assert plan.alone
    assert [each.title for each in all_trials(plan)] == ["seed 5"]


def test_seeds_are_given_or_repeated(small: Path) -> None:
    plan = sweep.read(small, {"seeds": [3, 1, 2]})
    assert plan.seeds == [3, 1, 2]
    assert len(set(sweep.read(small, {"repeats": 20}).seeds)) == 20


def test_a_random_search_follows_from_the_seed(small: Path) -> None:
    path = written(small, "random", "{ low = 4, high = 16 }", RATE, "trials = 30")
    plan = sweep.read(path)
    found = plan.proposals()
    assert found == sweep.read(path).proposals() != sweep.read(path, {"seed": 6}).proposals()
    hidden = [each["agents.one.parameters.hidden"] for each in found]
    rates = [each["agents.one.parameters.epsilon"] for each in found]
    assert len(found) == 30
    assert all(isinstance(each, int) and 4 <= each <= 16 for each in hidden)
    assert all(0.01 <= each <= 0.5 for each in rates)
    assert len(set(rates)) == 30


def searched(plan: sweep.SweepPlan) -> list[dict[str, Any]]:
    """Look for hidden = 12 with Optuna."""
    search = sweep.optuna_search(plan)
    proposals = next(search)
    found: list[dict[str, Any]] = []
    while True:
        found += proposals
        try:
            proposals = search.send(
                [-abs(each["agents.one.parameters.hidden"] - 12.0) for each in proposals]
            )
        except StopIteration:
            return found


def test_optuna_learns_from_results_and_repeats_itself(small: Path) -> None:
    more = f"trials = 40\nbatch = 4\n{AIM}"
    plan = sweep.read(written(small, "optuna", "{ low = 4, high = 64 }", "[0.1, 0.2]", more))
    found = searched(plan)
    assert len(found) == 40
    assert found == searched(plan)
    late = [abs(each["agents.one.parameters.hidden"] - 12) for each in found[-10:]]
    early = [abs(each["agents.one.parameters.hidden"] - 12) for each in found[:10]]
    assert sum(late) < sum(early)


@pytest.mark.parametrize(
    ("changes", "overrides", "complaint"),
    [
        ({"epsilon": RATE}, {}, "a grid needs the values of 'agents.one.parameters.epsilon' as a"),
        ({"method": "best"}, {}, "must be one of grid, random, optuna, not 'best'"),
        ({"hidden": "[]"}, {}, "must be a list"),
        ({"more": "trails = 3"}, {}, "has no key 'trails'; did you mean 'trials'?"),
        ({"epsilon": "{ low = 2, high = 1 }"}, {}, "low = 2 is not below high = 1"),
        ({"method": "optuna"}, {}, "needs objective ="),
        (
            {"method": "optuna", "more": AIM.replace('"one" }', '"dice" }')},
            {},
            "'dice' does not learn; name an agent that does: one, two",
        ),
        ({"more": AIM}, {}, 'objective needs method = "optuna"'),
        ({}, {"seeds": [1, 2]}, "seeds and repeats cannot be used together"),
        ({}, {"repeats": 0}, "repeats must be an integer >= 1, not 0"),
        ({}, {"sweep.parameters": {"seed": [1]}}, "cannot change 'seed'"),
        ({}, {"sweep.parameters": {}}, "is empty; name a key"),
        (
            {},
            {"sweep.parameters": {"agnets.one": [1]}},
            "has no key 'agnets'; did you mean 'agents'",
        ),
        (
            {"hidden": '[1]\n"agents.onne.parameters.hidden" = [2]'},
            {},
            "small.toml, line 44: [agents.onne] needs 'type'; did you mean 'one'?",
        ),
        (
            {"hidden": '[1]\n"phases.3.episodes" = [2]'},
            {},
            "small.toml, line 44: there is no such place in the file; phases has 1, counted from 0",
        ),
        ({"more": "[report]\nlevl = 1"}, {}, "line 42: report has no key 'levl'; did you mean"),
    ],
)
def test_a_wrong_sweep_costs_one_line(
    small: Path, changes: dict[str, str], overrides: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(DovetailError) as caught:
        sweep.read(written(small, **changes), overrides)
    assert complaint in str(caught.value)
    assert str(small) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_equal_seeds_are_a_mistake(small: Path) -> None:
    with pytest.raises(DovetailError, match="seeds has 2 twice"):
        sweep.read(small, {"seeds": [1, 2, 2]})
