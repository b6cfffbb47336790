"""The text that a person reads: help, errors in one line, exit codes, completion."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import dovetail as package
from dovetail import Experiment, cli
from dovetail.broker.core import core
from dovetail.broker.durable.journal import Journal
from dovetail.cli.group import summary
from dovetail.peer import plugins
from dovetail_experiments.arena.description import JOURNAL
from dovetail_experiments.commands import experiments as commands

TURNS = "turns_are_what_the_spec_says"
HERE = Path(__file__).parent
COMMANDS = ["agent", "bench", "broker", "demo", "env", "list", "play", "replay", "run", "watch"]


def run(*command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1", **more}
    return subprocess.run(
        [sys.executable, "-m", "dovetail", *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["broker", "--bnd", "x"], "No such option: --bnd"),
        (["broker", "--grace", "soon"], "'--grace'"),
        (["broker", "--peer-timeout", "-1"], "'--peer-timeout'"),
        (["agent"], "Missing argument"),
        (["agent", "randon"], "no agent 'randon'; did you mean 'random'?"),
        (["env", "chess"], "no environment 'chess'; there are "),
        (["env", "nowhere:Game"], "there is no module 'nowhere'"),
        (["env", "nowhere.py:Game"], "there is no file"),
        (["env", f"{HERE / 'count_up.py'}"], "name the class in it too"),
        (["env", f"{HERE / 'count_up.py'}:CountDown"], "did you mean 'CountUp'?"),
        (["env", f"{HERE / 'count_up.py'}:First"], "is not a subclass of Environment"),
        (["agent", f"{HERE / 'count_up.py'}:CountUp"], "is not a subclass of Agent"),
        (["agent", f"{HERE / 'count_up.py'}:First", "--seed", "1"], "--seed needs --as-one"),
        (["agent", "random", "td", "--set", "hidden=3"], "--set sets options of one agent"),
        (["agent", "td", "--set", "hiden=3"], "did you mean 'hidden'?"),
        (["agent", "recorded", "--as-one"], "agent recorded needs its option 'journal'"),
        (["agent", "recorded", "--set", "journal=none"], "cannot read the journal none"),
        (["broker", "--set-agent", "x=1"], "--set-agent sets options of one agent"),
        (["broker", "--agent", "td", "--set-agent", "hidden=-1"], "option 'hidden'"),
        (["agent", f"{HERE / 'count_up.py'}:First", "--as-one", "--set", "x"], "KEY=VALUE"),
        (
            ["agent", f"{HERE / 'count_up.py'}:Chance", "--as-one", "--set", "bias=9"],
            "option 'bias': it must be an integer <= 3",
        ),
        (
            ["agent", f"{HERE / 'count_up.py'}:Chance", "--as-one", "--set", "bis=1"],
            "has no option 'bis'; did you mean 'bias'? it has bias",
        ),
        (
            ["env", f"{HERE / 'count_up.py'}:Heaps", "--set", "heaps=3,4"],
            "option 'heaps': it must be a list, not '3,4'; write it as JSON, e.g. [3,4]",
        ),
        (["env", f"{HERE / 'count_up.py'}:Uncountable"], "the class must define start, step"),
        (["agent", f"{HERE / 'count_up.py'}:Undecided"], "the class must define step"),
        (["env", "connect_four", "--set", "connect=9"], "option 'connect': 9 in a row do not fit"),
        (["broker", "--env", "connect_four", "--set", "connect=9"], "9 in a row do not fit"),
        (["env", "gdl", "--set", "file=no.kif"], "cannot read file='no.kif'"),
        (
            ["web", "--store", "out/mni"],
            "--store: out/mni does not exist; `dovetail run` writes it",
        ),
        (
            ["web", "--journal", "nosuch"],
            "--journal: nosuch does not exist; `dovetail broker` writes it",
        ),
        (["web", "--journal", __file__], "test_usage.py is not a Dovetail journal"),
        (
            ["web", "--store", str(HERE)],
            "name the folder that `dovetail run` wrote, such as out/NAME",
        ),
        (["run", "missing.toml"], "experiment file missing.toml does not exist"),
        (["run", str(HERE)], "is a folder; name an experiment file in it, or a packaged one"),
        (["run", __file__, "--connect", "tcp://x", "--in-process"], "cannot be used together"),
        (["play", f"{HERE / 'count_up.py'}:CountUp", "--against", "nobody"], "no agent 'nobody'"),
        (["play", f"{HERE / 'count_up.py'}:CountUp", "--games", "0"], "'--games'"),
        (["play", "connect_four", "--state-name", "x"], "--state-name needs --connect"),
        (
            ["play", "connect_four", "--register", "encoder:x=y.py:z", "--connect", "tcp://x"],
            "--register works only within this program",
        ),
        (
            ["agent", "q-learning", "--register", "encoder:x=y.py:z"],
            "--register: encoder 'y.py:z': there is no file",
        ),
        (["replay", "journal", "tenth"], "'tenth' is not an episode number"),
    ],
)
def test_wrong_usage_is_one_line_and_2(dovetail: Any, arguments: list[str], line: str) -> None:
    answer = dovetail(*arguments)
    assert answer.code == 2
    assert answer.err.startswith("dovetail: ")
    assert answer.err.count("\n") == 1
    assert line in answer.err
    assert not answer.out


def test_what_failed_is_one_line_and_1(dovetail: Any) -> None:
    answer = dovetail("replay", "missing.journal")
    assert (answer.code, answer.out) == (1, "")
    assert (
        answer.err
        == "dovetail: cannot read the journal missing.journal: No such file or directory\n"
    )


def test_what_nobody_thought_of_is_one_line_too(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("class Odd:\n    pass\nraise RuntimeError('a\\nb')\n")
    for debug in ("0", "1"):
        found = run("agent", "odd:Odd", folder=tmp_path, DOVETAIL_DEBUG=debug)
        assert found.returncode == 1
        line = "dovetail: agent 'odd:Odd' cannot be loaded: RuntimeError: a b (odd.py:3)\n"
        assert found.stderr.endswith(line)
        assert ("Traceback" in found.stderr) == (debug == "1")
        assert debug == "1" or found.stderr == line


def test_debug_shows_where(dovetail: Any) -> None:
    answer = dovetail("--debug", "replay", "missing.journal")
    assert answer.code == 1
    assert "Traceback" in answer.err


def test_a_broker_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dovetail.peer.link import Link
    from dovetail.protocol.errors import DovetailError
    from dovetail.protocol.messages import VERSION, Hello

    for wait, said in ((0.2, []), (1.3, ["waiting for a broker at tcp://127.0.0.1:1"])):
        lines: list[str] = []
        with pytest.raises(DovetailError, match="start one with `dovetail broker`"):
            Link("tcp://127.0.0.1:1", Hello(VERSION, "agent"), wait=wait, warn=lines.append)
        assert lines == said
    for command in (("list", "--connect"), ("broker", "--bind")):
        found = run(*command, "nonsense", folder=tmp_path)
        assert found.returncode == 1
        assert found.stderr.startswith("dovetail: 'nonsense' is not a broker address")
    assert found.stderr.count("\n") == 1


def test_version(tmp_path: Path) -> None:
    found = run("--version", folder=tmp_path)
    how = "interpreted" if core.__file__.endswith(".py") else "compiled"
    assert (found.returncode, found.stdout) == (0, f"dovetail {package.__version__} ({how} core)\n")


def test_help_names_every_command(dovetail: Any) -> None:
    answer = dovetail("--help")
    assert answer.code == 0
    for command in COMMANDS:
        assert command in answer.out


@pytest.mark.parametrize(
    "command", [*(each for each in COMMANDS if each != "bench"), "bench learner"]
)
def test_help_of_a_command_has_an_example(dovetail: Any, command: str) -> None:
    answer = dovetail(*command.split(), "--help")
    assert answer.code == 0
    assert f"Example: dovetail {command}" in answer.out


def test_options_of_an_environment(dovetail: Any, game: str) -> None:
    for answer in (dovetail("env", game, "--options"), dovetail("env", game, "--help")):
        assert answer.code == 0
        row = next(line for line in answer.out.splitlines() if "│ target" in line)
        for part in ("integer", "10", "≥ 2, ≤ 1,000,000", "Who says it wins."):
            assert part in row
        assert "integer or null" in answer.out


def test_options_of_an_agent(dovetail: Any) -> None:
    name = f"{HERE / 'count_up.py'}:Chance"
    for answer in (dovetail("agent", name, "--options"), dovetail("agent", "--help", name)):
        assert answer.code == 0
        assert "bias" in answer.out
    assert "no options" in dovetail("agent", f"{HERE / 'count_up.py'}:First", "--options").out


@pytest.mark.parametrize(
    ("arguments", "failed", "last"),
    [
        (["agent", "Illegal"], "it_plays", "0 of 1 checks passed; the other 4 need it_plays"),
        (["env", "Array"], TURNS, f"1 of 2 checks passed; the other 8 need {TURNS}"),
    ],
)
def test_checks_stop_at_what_the_others_need(
    dovetail: Any, tmp_path: Path, arguments: list[str], failed: str, last: str
) -> None:
    (tmp_path / "wrong.py").write_text(
        """
import numpy as np
from dovetail import Agent
from dovetail_games.connect_four import ConnectFour

class Illegal(Agent):
    def step(self, decision):
        return 999

class Array(ConnectFour):
    def start(self, seed):
        turn = super().start(seed)
        turn.seats[0].legal = np.arange(7.0)
        return turn
"""
    )
    kind, name = arguments
    answer = dovetail("check", kind, f"wrong.py:{name}")
    assert (answer.code, answer.err) == (1, "")
    assert re.findall(r"^FAILED (\w+)", answer.out, re.MULTILINE) == [failed]
    assert answer.out.splitlines()[-1] == last


ENDING = """
import ctypes, os
from dovetail_games.connect_four import ConnectFour

class Zero(ConnectFour):
    def start(self, seed):
        os._exit(0)

class Crash(ConnectFour):
    def start(self, seed):
        ctypes.string_at(0)
"""


@pytest.mark.parametrize(
    ("name", "how"), [("Zero", "exit code 0"), ("Crash", "Segmentation fault")]
)
def test_code_that_ends_its_process_has_not_passed(
    dovetail: Any, tmp_path: Path, name: str, how: str
) -> None:
    (tmp_path / "ending.py").write_text(ENDING)
    answer = dovetail("check", "env", f"ending.py:{name}")
    assert (answer.code, answer.out) == (1, "passed spec_is_whole\n")
    assert answer.err == f"dovetail: the code under test ended its process ({how})\n"


def test_a_check_is_of_what_its_command_was_given(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["a program that calls the command line"])
    given = ["check", "env", "connect_four", "--strict", "--set", "columns=5", "--set", "rows=-4"]
    assert cli.app([*given, "--episodes", "1"], prog_name="dovetail", standalone_mode=False) == 2
    assert "rows" in capfd.readouterr().err


def test_a_skipped_check_is_not_counted_as_passed(dovetail: Any, tmp_path: Path) -> None:
    (tmp_path / "far.py").write_text(
        """
from dovetail.protocol.errors import NoLookahead
from dovetail_games.connect_four import ConnectFour

class Far(ConnectFour):
    def fork(self, seat, seed):
        raise NoLookahead("the server offers no lookahead")
"""
    )
    answer = dovetail("check", "env", "far.py:Far", "--episodes", "1")
    assert (answer.code, answer.err) == (0, "")
    assert "skipped forks_stand_alone: the server offers no lookahead" in answer.out.splitlines()
    assert answer.out.splitlines()[-1] == "9 of 10 checks passed, 1 skipped"


def test_an_arena_that_runs_already_is_left_alone(dovetail: Any, tmp_path: Path) -> None:
    (tmp_path / "arena.toml").write_text(
        "name = 'club'\nbind = 'tcp://127.0.0.1:1'\n[[ladders]]\nname = 'four'\ngame = 'connect_four'\n"
    )
    other = Journal(tmp_path / "arena" / JOURNAL)
    answer = dovetail("arena", "arena.toml")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "dovetail: the arena club is already running: another process uses arena/journal; stop that one "
        "first, or set another `folder` in a copy of arena.toml\n"
    )
    assert [each.name for each in (tmp_path / "arena").iterdir()] == [JOURNAL]
    other.close()


def test_list_names_what_is_installed(dovetail: Any) -> None:
    answer = dovetail("list")
    assert "``" not in answer.out  # docstrings have it, people need not
    assert answer.code == 0
    for names in (plugins.names("environment"), plugins.names("agent")):
        for name in names:
            assert re.search(rf"^ *{re.escape(name)} ", answer.out, re.MULTILINE)


def test_list_says_once_which_extra_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['numba'] = None")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "dovetail", "list"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    expected = "numba is not installed; install it with: pip install 'dovetail[games]', for "
    assert expected in line
    assert "amazons, " in line


def test_list_shows_one_of_them(dovetail: Any) -> None:
    answer = dovetail("list", "td")
    assert "learning_rate" in answer.out
    assert "connect_four" not in answer.out
    (found,) = json.loads(dovetail("list", "connect_four", "--json").out)
    assert (found["kind"], found["name"]) == ("environment", "connect_four")
    assert "rows" in found["options"]
    assert found["rules"].startswith("# Connect Four: the rules\n")
    assert "The board stands upright" in dovetail("list", "connect_four").out
    wrong = dovetail("list", "conect_four")
    assert wrong.code == 2
    assert "is installed; did you mean 'connect_four'?" in wrong.err


def test_list_obeys_the_variable_of_the_broker(
    dovetail: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOVETAIL_BROKER", "nonsense")
    assert "nonsense" in dovetail("list").err


def test_packaged_experiments_are_run_by_name(dovetail: Any) -> None:
    wrong = dovetail("run", "connect_four_two_learner")
    assert wrong.code == 2
    assert "did you mean 'connect_four_two_learners'?" in wrong.err
    assert commands.located(Path("dots_study")).is_file()


def test_run_prints_json_or_nothing(dovetail: Any, tmp_path: Path) -> None:
    Path(tmp_path, "two.toml").write_text(
        """
name = "two"
environment = { name = "connect_four", configuration = { rows = 4, columns = 4, connect = 3 } }
agents = { a = { type = "random" } }
evaluations = [{ name = "all", seats = ["a", "a"], episodes = 2 }]
"""
    )
    shown = dovetail("run", "two.toml", "--in-process", "--json")
    assert (shown.code, shown.err) == (0, "")
    found = json.loads(shown.out)
    assert found == json.loads(Path(tmp_path, "out", "two", "results.json").read_text())
    assert [row["games"] for row in found["stages"]] == [2, 2]
    quiet = dovetail("run", "two.toml", "--in-process", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_run_logs_what_happens(dovetail: Any, tmp_path: Path) -> None:
    Path(tmp_path, "two.toml").write_text(
        """
name = "two"
environment = { name = "connect_four", configuration = { rows = 4, columns = 4, connect = 3 } }
agents.a = { type = "random", seed = 7 }
phases = [{ name = "first", seats = ["a", "a"], episodes = 3, seed = 9 }]
"""
    )
    shown = dovetail("run", "two.toml", "--in-process", "--quiet", "-v")
    assert (shown.code, shown.out) == (0, "")
    lines = shown.err.splitlines()
    assert lines[0] == "dovetail: [agents.a]: random with seed 7, options {}, untrained"
    assert lines[1] == "dovetail: first: 3 episodes from number 0 with seed 9"
    ended = [line for line in lines if line.startswith("dovetail: first: episode ")]
    assert len(ended) == 3
    for number, line in enumerate(ended):
        assert line.startswith(f"dovetail: first: episode {number} with seed ")
        assert " terminated after " in line
    assert "dovetail: first: a is a state of 0 bytes" in lines


def test_built_in_names_are_those_that_brokers_are_told() -> None:
    kinds: tuple[plugins.Kind, plugins.Kind] = ("environment", "agent")
    for kind in kinds:
        for name in plugins.names(kind):
            found = plugins.find(kind, name)
            assert (found.name or found.__name__.lower()) == name


def test_a_module_here_is_found(dovetail: Any, tmp_path: Path) -> None:
    (tmp_path / "mine_for_cli.py").write_text((HERE / "count_up.py").read_text())
    assert "target" in dovetail("env", "mine_for_cli:CountUp", "--options").out


@pytest.mark.parametrize("shell", ["bash"])
def test_completion_script(tmp_path: Path, shell: str) -> None:
    found = run(folder=tmp_path, _DOVETAIL_COMPLETE=f"source_{shell}")
    assert found.returncode == 0
    assert "_DOVETAIL_COMPLETE" in found.stdout


def test_completion_of_names(tmp_path: Path) -> None:
    found = run(
        folder=tmp_path,
        _DOVETAIL_COMPLETE="complete_bash",
        COMP_WORDS="dovetail agent ra",
        COMP_CWORD="2",
    )
    assert found.stdout.split() == ["random"]


@pytest.mark.long
def test_output_that_nobody_reads(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dovetail", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        err = process.stderr.read()
    assert process.wait(60) == 1
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


LARGE = ("matplotlib", "sqlalchemy", "scipy", "numba", "pandas")


@pytest.mark.parametrize(
    ("arguments", "large"),
    [
        (["--help"], (*LARGE, "numpy", "zmq")),
        (["agent", f"{HERE}/count_up.py:First", "--seed", "1"], LARGE),
    ],
)
def test_little_is_imported(tmp_path: Path, arguments: list[str], large: tuple[str, ...]) -> None:
    code = (
        f"import sys; from dovetail.cli import main; sys.argv = ['dovetail', *{arguments}]; main(); "
        f"print([each for each in {large} if each in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout.endswith("[]\n")


def test_every_command_is_found_in_its_module_with_its_summary() -> None:
    commands = cli.commands()
    for home in {module for module, _ in commands.values()}:
        part = typer.Typer()
        importlib.import_module(home).add(part)
        added = typer.main.get_group(part).commands
        assert {name: summary(command.help) for name, command in added.items()} == {
            name: help_ for name, (module, help_) in commands.items() if module == home
        }


def test_a_group_lists_its_commands_with_whole_sentences(dovetail: Any) -> None:
    lines = " ".join(dovetail("keys", "--help").out.split())
    assert (
        "revoke Revoke a key; a running broker disconnects its programs within a second." in lines
    )


def test_a_group_without_a_command_shows_its_help(dovetail: Any) -> None:
    answer = dovetail("keys")
    assert answer.code == 2
    assert "Usage: dovetail keys" in answer.err


def every_command() -> Iterator[Any]:
    """Yield the commands and groups of the command line."""
    pending = [typer.main.get_command(cli.app)]
    while pending:
        command: Any = pending.pop()
        context = command.context_class(command)
        if hasattr(command, "list_commands"):
            names = command.list_commands(context)
            pending += [command.resolve_command(context, [name])[1] for name in names]
        yield command


def test_every_command_takes_the_same_seeds() -> None:
    found = {}
    for command in every_command():
        for option in command.params:
            if "--seed" in option.opts:
                found[command.help] = (option.type.min, option.type.max)
    assert len(found) > 10
    assert set(found.values()) == {(0, 2**63 - 1)}, found


def test_a_broker_listens_where_other_programs_look_for_it(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/b"
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail", "broker", "--journal", "none"],
        env={**os.environ, "DOVETAIL_BROKER": address},
        stdout=subprocess.PIPE,
        text=True,
    ) as broker:
        assert broker.stdout is not None
        try:
            assert broker.stdout.readline() == f"broker ready at {address}\n"
            with Experiment.connect(address) as experiment:
                assert experiment.catalogue()["environments"] == []
        finally:
            broker.send_signal(signal.SIGTERM)


def test_a_broker_that_would_listen_beyond_this_machine_says_who_told_it_to(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dovetail", "broker"],
        env={**os.environ, "DOVETAIL_BROKER": "tcp://10.1.2.3:5757"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "other machines reach tcp://10.1.2.3:5757 (DOVETAIL_BROKER says so)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_every_option_has_its_help_from_the_docstring() -> None:
    for command in every_command():
        assert "Args:" not in (command.help or "")
        of_core = getattr(command.callback, "__module__", "").startswith("dovetail.cli")
        for option in command.params if of_core else ():
            assert option.help, (command.name, option.name)
            assert "  " not in option.help
