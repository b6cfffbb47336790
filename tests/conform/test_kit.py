"""The kit passes Dovetail's own Python and catches every wrong client."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.conform.conformer import Conformer
from tests.forking import Forker

from dovetail.conform import program
from dovetail.conform import run as kit
from dovetail.peer.agents.host import AgentHost
from dovetail.protocol import messages as m
from dovetail.protocol.messages import Role

HERE = Path(__file__).parent


def _mistakes() -> dict[str, tuple[Role, str, Any]]:
    spec = importlib.util.spec_from_file_location("wrong_client", HERE / "wrong_client.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mistakes: dict[str, tuple[Role, str, Any]] = module.MISTAKES
    return mistakes


MISTAKES = _mistakes()


@pytest.fixture(scope="module")
def _forked() -> Iterator[None]:
    """Have the kit fork its programs instead of starting them."""
    forker = Forker("tests.conform.wrong_client")
    forking = SimpleNamespace(**{**vars(subprocess), "Popen": forker.popen})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "subprocess", forking)
        yield
    forker.close()


@pytest.fixture(scope="module")
def tried(request: pytest.FixtureRequest, _forked: None) -> dict[str, kit.CaseResult]:
    """Every wrong client of this session with its case, several at once: most only wait."""

    def run(name: str) -> kit.CaseResult:
        role, case, _ = MISTAKES[name]
        chosen = [each for each in kit.CASES[role] if each.name == case]
        assert len(chosen) == 1, f"there is no case {case}"
        [result] = kit.run(role, ["wrong_client", name, role], chosen, patience=3.0)
        return result

    names = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and "tried" in item.fixturenames
    ]
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(run, names), strict=True))


@pytest.mark.long
@pytest.mark.usefixtures("_forked")
@pytest.mark.parametrize("role", list(kit.CASES))
def test_dovetails_own_python_passes(role: Any) -> None:
    failed = {
        each.name: (each.expected, each.got)
        for each in kit.run(role, ["conformer", role], kit.select(role), patience=30.0)
        if not each.passed
    }
    assert failed == {}


@pytest.mark.xdist_group("wrong clients")
@pytest.mark.parametrize("name", list(MISTAKES))
def test_a_wrong_client_is_caught(name: str, tried: dict[str, kit.CaseResult]) -> None:
    result = tried[name]
    assert not result.passed
    assert result.expected
    foreseen = "told to" in result.stderr  # by the case
    assert foreseen or "Traceback" not in result.stderr, result.stderr


@pytest.mark.long
@pytest.mark.rule("S15.1", "S15.2")
@pytest.mark.usefixtures("_forked")
@pytest.mark.parametrize("role", list(kit.CASES))
def test_a_client_that_ignores_bad_frames_and_never_resumes_passes_level_1(role: Any) -> None:
    command = ["wrong_client", "speaks-level-1-only", role]
    one = kit.run(role, command, kit.select(role, level=1), patience=30.0)
    assert {each.name: (each.expected, each.got) for each in one if not each.passed} == {}


@pytest.mark.rule("S15.2")
def test_level_2_has_what_level_1_leaves_out() -> None:
    for role in kit.CASES:
        one, two = kit.select(role, level=1), kit.select(role, level=2)
        assert set(one) < set(two)
        assert {each.level for each in two} == {1, 2}


def test_names_are_unique() -> None:
    for cases in kit.CASES.values():
        names = [each.name for each in cases]
        assert len(set(names)) == len(names)
        assert all(each.rule and each.rules for each in cases)


def dovetail(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dovetail", "conform", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_report_names_the_rule_and_the_bytes(tmp_path: Path) -> None:
    wrong = [sys.executable, str(HERE / "wrong_client.py"), "answers-the-wrong-turn", "agent"]
    report = tmp_path / "report.json"
    found = dovetail("agent", "--only", "an-episode", "--json", str(report), "--", *wrong)
    assert found.returncode == 1
    assert "S6.4" in found.stdout
    assert "expected action with turn 0" in found.stdout
    assert "got action with turn 1" in found.stdout
    assert "a474797065a6616374696f6e" in found.stdout
    about = json.loads(report.read_text())
    assert about["passed"] is False
    assert about["cases"][0]["name"] == "an-episode"
    assert about["cases"][0]["frames"]


def test_wrong_usage_is_one_line() -> None:
    for arguments, text in (
        (["king", "--", "true"], "unknown role 'king'"),
        (["agnt", "--", "true"], "unknown role 'agnt'; did you mean 'agent'?"),
        (["agent"], "name the program after --"),
        (["agent", "--only", "no-such", "--", "true"], "no case"),
        (["agent", "--", "./no-such-program"], "cannot be started"),
    ):
        found = dovetail(*arguments)
        assert found.returncode == 2
        assert text in found.stderr
        assert len(found.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["true"], "true cannot be tested: it says no hello (got an exit with status 0)"),
        (["sleep", "60"], "it says no hello (got nothing in 2 s)"),
        ([sys.executable, "-c", "import sys; sys.exit('no luck')"], "its last words: no luck"),
    ],
)
def test_a_program_that_is_no_conformer_is_not_tried(command: list[str], text: str) -> None:
    found = dovetail("agent", "--patience", "2", "--", *command)
    assert found.returncode == 2
    assert text in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_a_program_of_another_role_or_type_is_not_tried() -> None:
    conformer = [sys.executable, str(HERE / "conformer.py")]
    found = dovetail("agent", "--", *conformer, "environment")
    assert "it says hello as environment, not as agent" in found.stderr
    found = dovetail("agent", "--", sys.executable, "-m", "dovetail", "agent", "random")
    assert (found.returncode, "it offers random; the kit needs" in found.stderr) == (2, True)


def test_a_report_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    conformer = [sys.executable, str(HERE / "conformer.py"), "agent"]
    found = dovetail("agent", "--json", str(tmp_path / "no" / "x"), "--", *conformer)
    assert (found.returncode, "does not exist" in found.stderr) == (2, True)


def test_the_hello_in_the_guide_is_that_of_the_conformer() -> None:
    guide = (HERE.parents[1] / "docs/reference/conformer.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    [offer] = AgentHost([Conformer]).offers()
    own = msgspec.to_builtins(m.Hello(m.VERSION, "agent", offers=[offer]))
    for extra in ("description", "stacked"):
        del own["offers"][0][extra]
    assert json.loads(shown) == own
