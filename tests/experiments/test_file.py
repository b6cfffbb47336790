"""Experiment files: what they say, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files.file import read
from dovetail_experiments.stages.schedule import stages

pytestmark = pytest.mark.fast

FILES = Path(__file__).parents[2] / "experiments/dovetail_experiments/examples"


@pytest.mark.parametrize("path", sorted(FILES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_files_of_the_project_are_experiments(path: Path) -> None:
    assert read(path).name == path.stem
    assert stages(read(path)) or read(path).leagues


def test_seeds_are_derived_or_given(small: Path) -> None:
    file = read(small)
    again = read(small, {"agents.one.seed": 7, "phases.0.seed": 8})
    assert again.agent_seed("one") == 7
    assert again.agent_seed("two") == file.agent_seed("two") != file.agent_seed("one")
    assert again.play_seed(again.phases[0]) == 8
    assert file.play_seed(file.evaluations[0]) != file.play_seed(file.evaluations[1])
    assert read(small, {"seed": 6}).agent_seed("two") != file.agent_seed("two")


def test_who_plays_and_who_learns(small: Path) -> None:
    file = read(small)
    assert file.used() == ["one", "two", "dice"]
    assert file.learners() == ["one", "two"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('name = "small"', 'name = "a/b"', ", line 2: name must be letters, digits"),
        ('name = "small"', 'name = ".."', ", line 2: name must be letters, digits"),
        ("seed = 5", 'seed = "five"', ", line 3: seed must be an integer, not 'five'"),
        ("seed = 5", "sead = 5", ", line 3: the file has no key 'sead'; did you mean 'seed'?"),
        (
            "episodes = 50",
            "episodes = 0",
            "line 23: [[phases]] number 1, episodes must be an integer >= 1, not 0",
        ),
        (
            "episodes = 50",
            "epsodes = 50",
            "line 23: [[phases]] number 1 has no key 'epsodes'; did you mean 'episodes'?",
        ),
        (
            "episodes = 50",
            'mode = "lern"',
            "mode must be one of learn, evaluate, not 'lern'; did you mean 'learn'?",
        ),
        (
            "concurrency = 4",
            "concurrency = true",
            "[[evaluations]] number 2, concurrency must be an",
        ),
        (
            'seats = ["one", "two"]',
            'seats = ["one", "three"]',
            "line 22: 'play' seats 'three', but there is no [agents.three]; there are one, two, dice",
        ),
        (
            'seats = ["one", "two"]',
            'seats = ["one", "tow"]',
            "line 22: 'play' seats 'tow', but there is no [agents.tow]; did you mean 'two'?",
        ),
        (
            "episodes = 50",
            'frozen = ["dice"]',
            "line 23: 'play' freezes 'dice', which has no seat in it",
        ),
        (
            "episodes = 50",
            "clock = { decison = 1.0 }",
            "line 23: [[phases]] number 1, clock has no key 'decison'; did you mean 'decision'?",
        ),
        (
            "seed = 5",
            "seed = 5\nrepots = {}",
            ", line 4: the file has no key 'repots'; did you mean 'report'?",
        ),
        (
            "[agents.two]",
            "[agents.wto.parameters]\n[agents.two]",
            "line 13: [agents.wto] needs 'type'; did you mean 'two'?",
        ),
        ('seats = ["one", "two"]', "seats = []", "[[phases]] number 1, seats must be a list"),
        (
            'name = "two"',
            'name = "one"',
            "two phases, evaluations, leagues or tournaments are called 'one'",
        ),
        ("[environment]", "[environment", "is not valid TOML"),
        ("[[phases]]", "[phases]", ", line 20: phases must be a list of tables; write [[phases]]"),
        (
            'name = "small"',
            'name = "a b"',
            "line 2: name must be letters, digits, '.', '_' and '-', without '.' at its beginning, not 'a b'",
        ),
        ('type = "random"', "", ", line 17: [agents.dice] needs 'type'"),
    ],
)
def test_a_wrong_file_costs_one_line(small: Path, old: str, new: str, complaint: str) -> None:
    small.write_text(small.read_text().replace(old, new, 1))
    with pytest.raises(DovetailError) as caught:
        read(small)
    assert complaint in str(caught.value)
    assert str(small) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_with_a_byte_order_mark_and_windows_line_ends(small: Path) -> None:
    expected = read(small).phases
    text = small.read_text().replace("\n", "\r\n")
    small.write_bytes(text.encode("utf-8-sig"))
    assert read(small).phases == expected
    small.write_bytes(text.replace("seed = 5", "seeed = 5").encode("utf-8-sig"))
    with pytest.raises(DovetailError, match="line 3: the file has no key 'seeed'"):
        read(small)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DovetailError, match=r"cannot read .*no\.toml: No such file"):
        read(tmp_path / "no.toml")


@pytest.mark.parametrize("key", ["phases.9.episodes", "phases.x.episodes", "seed.below"])
def test_an_override_needs_a_place(small: Path, key: str) -> None:
    with pytest.raises(DovetailError, match=f"--set {key}"):
        read(small, {key: 1})


def test_a_table_on_the_command_line_is_json(small: Path) -> None:
    with pytest.raises(DovetailError) as caught:
        read(small, {"phases.0.clock": "{decision=1.0}"})
    assert str(caught.value) == (
        f"{small}, --set phases.0.clock: [[phases]] number 1, clock must be a table, "
        "not '{decision=1.0}'; write it as JSON, e.g. {\"decision\": VALUE}"
    )
    small.write_text(small.read_text().replace('seats = ["one", "two"]', 'seats = "one"', 1))
    with pytest.raises(DovetailError, match=r"seats must be a list, not 'one'$"):
        read(small)


def test_the_schedule_by_hand(small: Path) -> None:
    found = [
        (each.kind, each.part.name, each.first, each.episodes, each.trained)
        for each in stages(read(small))
    ]
    assert found == [
        ("evaluation", "one", 0, 10, 0),
        ("evaluation", "two", 0, 10, 0),
        ("phase", "play", 0, 20, 0),
        ("evaluation", "one", 0, 10, 20),
        ("evaluation", "two", 0, 10, 20),
        ("phase", "play", 20, 20, 20),
        ("evaluation", "one", 0, 10, 40),
        ("evaluation", "two", 0, 10, 40),
        ("phase", "play", 40, 10, 40),
        ("evaluation", "one", 0, 10, 50),
        ("evaluation", "two", 0, 10, 50),
    ]


def test_learners_are_saved_between_evaluations(small: Path) -> None:
    found = stages(read(small, {"phases.0.save_every": 15}))
    assert [
        (each.first, each.episodes, each.trained) for each in found if each.kind == "phase"
    ] == [
        (0, 15, 0),
        (15, 5, 15),
        (20, 10, 20),
        (30, 10, 30),
        (40, 5, 40),
        (45, 5, 45),
    ]
    assert [each.trained for each in found if each.kind == "evaluation"][::2] == [0, 20, 40, 50]
    alone = stages(read(small, {"phases.0.save_every": 40, "phases.0.evaluate_every": 0}))
    assert [(each.kind, each.trained) for each in alone] == [
        ("phase", 0),
        ("phase", 40),
        ("evaluation", 50),
        ("evaluation", 50),
    ]


def test_without_evaluate_every_there_is_one_evaluation_at_the_end(small: Path) -> None:
    found = stages(read(small, {"phases.0.evaluate_every": 0}))
    assert [(each.kind, each.trained) for each in found] == [
        ("phase", 0),
        ("evaluation", 50),
        ("evaluation", 50),
    ]
