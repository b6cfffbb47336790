"""Where in a user's own code an exception came from."""

from __future__ import annotations

import types
from pathlib import Path

from dovetail.peer.blame import place


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


def test_without_code_of_the_user_nothing_is_said() -> None:
    assert place(ValueError("never raised")) == ""
