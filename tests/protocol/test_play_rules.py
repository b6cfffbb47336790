"""A rule of play is declared once: a drill adds one and finds it wherever rules of play are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes
TOP = Path(__file__).resolve().parents[2]
FIELD = '    lookahead: bool = False\n    """True if agents may ask'
ADDED = '''    jokers: Natural = 0
    """Number of jokers that each seat may play."""
'''
SCRIPT = """
import inspect
from typing import get_type_hints
import msgspec
from dovetail import Experiment
from dovetail.client.run_options import RunOptions
from dovetail.protocol import codec
from dovetail.protocol.messages import Run, RunRules
from dovetail_experiments.arena.description import Ladder
from dovetail_experiments.files.file import League, Phase, Tournament
from dovetail_web import forms
from dovetail_web.tables import RULES

for kind, least in (
    (Phase, {"name": "p", "seats": ["a"]}),
    (League, {"name": "l", "learner": "a"}),
    (Tournament, {"name": "t", "players": ["a", "b"]}),
    (Ladder, {"name": "l", "game": "g"}),
):
    part = msgspec.convert({**least, "jokers": 2}, kind)
    assert part.rules()["jokers"] == 2, kind
meeting = msgspec.convert({"name": "t", "players": ["a", "b"], "jokers": 2}, Tournament)
assert meeting.pairing(["a", "b"], 0, 1).jokers == 2
assert get_type_hints(RunOptions)["jokers"] is int
assert "jokers: Number of jokers that each seat may play. Default 0." in inspect.getdoc(Experiment.run)
run = Run(1, "nim", ["a"], jokers=2)
assert msgspec.msgpack.decode(codec.encode(run))["jokers"] == 2
assert msgspec.convert(run, RunRules, from_attributes=True).jokers == 2
assert [each.kind for each in forms.fields(RULES) if each.name == "jokers"] == ["number"]
"""


def test_a_rule_that_is_added_once_is_found_everywhere(tmp_path: Path) -> None:
    names = ["src", "protocol", "experiments", "web/dovetail_web"]
    listed = subprocess.check_output(["git", "ls-files", *names], cwd=TOP, text=True)
    for name in listed.splitlines():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    source = tmp_path / "src/dovetail/protocol/messages.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(FIELD) == 1
    source.write_text(text.replace(FIELD, ADDED + FIELD), encoding="utf-8")
    packages = ("src", "protocol", "experiments", "web")
    path = os.pathsep.join(str(tmp_path / each) for each in packages)
    for arguments in (["-m", "dovetail_generate"], ["-c", SCRIPT]):
        subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
    for name, line in {
        "protocol/MESSAGES.md": "| `jokers` | integer ≥ 0 = 0 | Number of jokers that each seat may play. |",
        "clients/go/messages_experiment_gen.go": "Jokers int",
        "clients/typescript/src/core/messages.ts": "jokers",
        "protocol/schema.json": '"jokers"',
    }.items():
        assert line in (tmp_path / name).read_text(encoding="utf-8"), name
