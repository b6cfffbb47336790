"""Where in a user's own code an exception came from."""

from __future__ import annotations

import logging
import sys
import types
from pathlib import Path

import pytest

from dovetail.peer.error_origin import described, place, trace


def raised(path: Path, source: str) -> Exception:
    module = types.ModuleType("mine")
    path.write_text(source)
    exec(compile(source, str(path), "exec"), module.__dict__)
    try:
        module.__dict__["act"]()
    except Exception as error:
        return error
    raise AssertionError("it raised nothing")


def test_the_innermost_line_of_the_user_is_named(tmp_path: Path) -> None:
    source = "def act():\n    help()\n\n\ndef help():\n    return 1 / 0\n"
    assert place(raised(tmp_path / "mine.py", source)) == " (mine.py:6)"


def test_frames_of_libraries_are_passed_over(tmp_path: Path) -> None:
    source = "import json\n\n\ndef act():\n    json.loads('{')\n"
    assert place(raised(tmp_path / "mine.py", source)) == " (mine.py:5)"


def test_the_module_of_a_compiled_wheel_is_not_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dovetail__mypyc", types.ModuleType("dovetail__mypyc"))
    source = "def act():\n    return 1 / 0\n"
    assert place(raised(tmp_path / "mine.py", source)) == " (mine.py:2)"


def test_without_code_of_the_user_nothing_is_said() -> None:
    assert place(ValueError("never raised")) == ""


def test_a_traceback_has_the_users_own_frames_alone(tmp_path: Path) -> None:
    source = "import json\n\n\ndef act():\n    try:\n        json.loads('{')\n    except ValueError as error:\n        raise KeyError('gone') from error\n"
    text = trace(raised(tmp_path / "mine.py", source))
    frames = [
        (Path(file.split('"')[1]).name, line)
        for file, line, *_ in (each.split(", ") for each in text.splitlines() if "  File " in each)
    ]
    assert "json/decoder.py" not in text
    assert {each for each in frames if each[0] != Path(__file__).name} == {
        ("mine.py", "line 6"),
        ("mine.py", "line 8"),
    }
    assert "KeyError: 'gone'" in text
    assert "JSONDecodeError" in text


def test_the_same_traceback_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("dovetail.test")
    error = raised(tmp_path / "mine.py", "def act():\n    return [][0]  # once\n")
    for _ in range(3):
        described(error, "agent x", log, "step")
    said = [each.getMessage() for each in caplog.records]
    assert "IndexError" in said[0]
    assert len(said[0].splitlines()) > 3
    assert said[1:] == ["step failed as before: list index out of range"] * 2
    for _ in range(150):
        described(error, "agent x", log, "step")
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == 7
    assert said[-1] == "step failed as before, for the 100th time: list index out of range"
