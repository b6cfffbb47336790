"""Mistakes in experiment files that the file's form does not show: options, programs, positions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files import sweep
from dovetail_experiments.files.checking import check
from dovetail_experiments.files.file import located
from dovetail_experiments.stages import places, runner, trials
from dovetail_experiments.stages.runner import RunnerOptions

pytestmark = pytest.mark.processes


def test_the_files_of_the_project_name_options_that_exist() -> None:
    files = Path(__file__).parents[2] / "experiments/dovetail_experiments/examples"
    for path in files.glob("connect_four_*.toml"):
        check(sweep.read(path))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "parameters = { hidden = 8 }",
            "parameters = { hiden = 8 }",
            "line 11: [agents.one]: agent td has no option 'hiden'; did you mean 'hidden'? it has",
        ),
        (
            'type = "td"\nparameters = { hidden = 8 }',
            'type = "td"\n[agents.one.parameters]\ntraces = "dutch"\nhidden = "haf"',
            "line 13: [agents.one]: agent td, option 'hidden': it must be 'half' or an integer, "
            "not 'haf'; did you mean 'half'?",
        ),
        (
            "rows = 4",
            "rowz = 4",
            "line 7: environment connect_four has no option 'rowz'; did you mean 'rows'?",
        ),
        (
            "rows = 4",
            "rows = -4",
            "line 7: environment connect_four, option 'rows': it must be an integer >= ",
        ),
        ('"connect_four"', '"conect_four"', "line 6: no environment 'conect_four'; did you mean"),
        ("seed = 5", f"seed = {2**63}", "line 3: seed must be an integer <= 9223372036854775807"),
        ('type = "td"', 'type = "tdd"', "line 10: [agents.one]: no agent 'tdd'; did you mean"),
    ],
)
def test_an_option_is_wrong(small: Path, old: str, new: str, complaint: str) -> None:
    small.write_text(small.read_text().replace(old, new, 1))
    with pytest.raises(DovetailError) as caught:
        check(sweep.read(small))
    assert str(caught.value).startswith(f"{small}, {complaint}")
    assert "\n" not in str(caught.value)


def test_an_option_is_wrong_on_the_command_line(small: Path) -> None:
    key = "agents.two.parameters.hiden"
    with pytest.raises(DovetailError) as caught:
        check(sweep.read(small, {key: 8}))
    assert str(caught.value).startswith(
        f"{small}, --set {key}: [agents.two]: agent td has no option 'hiden'; did you mean 'hidden'?"
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'seats = ["dice", "two"]',
            'seats = ["dice", "two"]\nopenings = "no.txt"',
            "two: cannot read the openings no.txt: No such file or directory",
        ),
        ('type = "random"', 'type = "random"\nstate = "no.state"', "[agents.dice]: cannot read"),
    ],
)
def test_a_file_that_a_late_stage_needs_is_missing(
    small: Path, tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    """It is told before anything is played."""
    small.write_text(small.read_text().replace(old, new, 1))
    with pytest.raises(DovetailError, match=re.escape(complaint)):
        runner.execute(small, out=tmp_path, options=RunnerOptions(in_process=True))
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (
            """
[agents.searching]
type = "alpha-beta"

[[tournaments]]
name = "cup"
players = ["one", "searching"]
""",
            "cup: alpha-beta cannot search connect_four without lookahead: its own rules differ; set its "
            "`parameters.configuration` to the environment's, or `lookahead = true` in the tournament 'cup'",
        ),
        (
            """
[agents.other]
type = "dots-player"

[[leagues]]
name = "more"
learner = "one"
pool = ["other"]
""",
            "more: dots-player plays dots only, not connect_four",
        ),
        (
            """
[[tournaments]]
name = "three"
players = ["one", "two", "dice"]
seats = 3
episodes = 6
""",
            "three: connect_four has 2 seats as configured, not 3; set `seats` of the tournament 'three'",
        ),
    ],
)
def test_an_agent_that_cannot_sit_in_a_late_stage(
    small: Path, tmp_path: Path, more: str, complaint: str
) -> None:
    """It is told before anything is played: after the training it was too late."""
    lines = len(small.read_text().splitlines())
    small.write_text(small.read_text() + more)
    with pytest.raises(DovetailError) as caught:
        runner.execute(small, out=tmp_path, options=RunnerOptions(in_process=True))
    found = re.fullmatch(rf"{re.escape(str(small))}, line (\d+): (.*)", str(caught.value))
    assert found is not None
    assert int(found[1]) > lines
    assert found[2] == complaint
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_last_value_of_a_sweep_is_wrong(small: Path, tmp_path: Path, jobs: int) -> None:
    """It is found before the first value is played."""
    begin = len(small.read_text().splitlines())
    small.write_text(
        f'{small.read_text()}\n[sweep.parameters]\n"agents.one.parameters.epsilon" = [0.1, 0.2, 2.0]\n'
    )
    with pytest.raises(DovetailError) as caught:
        trials.execute(small, out=tmp_path, jobs=jobs)
    assert str(caught.value) == (
        f"{small}, line {begin + 3}: [agents.one]: agent td, option 'epsilon': it must be a number "
        "<= 1.0, not 2.0 (with epsilon=2)"
    )
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "connect = 3",
            "connect = 9",
            "line 7: one: the run failed: environment connect_four, option 'connect': 9 in a row",
        ),
        (
            'seats = ["one", "two"]\nepisodes = 50\nevaluate_every = 20',
            'seats = ["one", "two", "dice"]',
            "line 22: play: connect_four has 2 seats as configured, not 3",
        ),
        (
            "evaluate_every = 20",
            "openings = [[9]]",
            "line 24: play: opening 1 of 1, turn 0: action 9 is not legal; legal: 0, 1, 2, 3",
        ),
        (
            "evaluate_every = 20",
            'openings = "no.txt"',
            "line 24: play: cannot read the openings no.txt: No such file",
        ),
        (
            'type = "random"',
            'type = "random"\nstate = "no.state"',
            "line 19: [agents.dice]: cannot",
        ),
        ('type = "random"', 'type = "random"\nregister = ["x"]', "line 19: 'x' cannot be regist"),
        (
            'type = "random"',
            'type = "random"\ncommand = ["x"]',
            "line 19: [agents.dice]: a program",
        ),
    ],
)
def test_what_cannot_be_played_is_found_in_the_file(
    small: Path, tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    small.write_text(small.read_text().replace(old, new, 1))
    with pytest.raises(DovetailError) as caught:
        runner.execute(small, out=tmp_path, options=RunnerOptions(in_process=True))
    assert str(caught.value).startswith(f"{small}, {complaint}")
    assert "\n" not in str(caught.value)


def test_a_learner_that_fails_at_the_last_end(small: Path, tmp_path: Path) -> None:
    """Its next request is the save after its training."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from dovetail import Agent\n"
        "class Mine(Agent):\n"
        "    def step(self, decision): return decision.legal[0]\n"
        "    def end(self, end): self.left = getattr(self, 'left', 50) - 1; 1 / self.left\n"
    )
    learner = f'type = "{mine}:Mine"'
    text = small.read_text().replace('type = "td"\nparameters = { hidden = 8 }', learner, 1)
    small.write_text(text.replace("evaluate_every = 20\n", "", 1))
    with pytest.raises(DovetailError) as caught:
        runner.execute(small, out=tmp_path, options=RunnerOptions(in_process=True))
    assert str(caught.value) == (
        "[agents.one]: Mine at the end of an episode raised ZeroDivisionError: division by zero (mine.py:4)"
    )


def test_what_only_the_agent_can_check(small: Path) -> None:
    """The option that its answer names is found in the file."""
    more = '[agents.dice.parameters]\nencoder = "byte"'
    small.write_text(small.read_text().replace('type = "random"', f'type = "q-learning"\n{more}'))
    plan = sweep.read(small)
    check(plan)
    with (
        places.in_this_program(plan.base) as place,
        pytest.raises(DovetailError) as caught,
        located(plan.source),
    ):
        place.seat(plan.base, {})
    assert str(caught.value).startswith(
        f"{small}, line 20: [agents.dice]: agent q-learning, option 'encoder': no encoder 'byte'; did"
    )


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (
            'command = ["./nothing"]',
            "line 19: cannot start agent-dice: {folder}/nothing: No such file",
        ),
        (
            'register = ["x"]',
            "line 17: the process of agent-dice ended with code 2: --register: 'x'",
        ),
    ],
)
def test_a_program_that_does_not_start(small: Path, more: str, complaint: str) -> None:
    small.write_text(small.read_text().replace('type = "random"', f'type = "random"\n{more}'))
    plan = sweep.read(small)
    with (
        pytest.raises(DovetailError) as caught,
        located(plan.source),
        places.own_processes(plan.base),
    ):
        pass
    complaint = complaint.replace("{folder}", str(small.parent))
    assert str(caught.value).startswith(f"{small}, {complaint}")
