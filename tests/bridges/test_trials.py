"""The counts of the bridges' pages can be made again by everybody: ``dovetail bridges check``."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from tests.bridges.stand_ins import installed, stand_in
from typer.testing import CliRunner

from dovetail.cli import app
from dovetail_bridges import trials


def checked(*words: Any) -> str:
    result = CliRunner().invoke(app, ["bridges", "check", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def test_games_that_play_and_games_that_do_not_are_counted(tmp_path: Path) -> None:
    good = "(role a) (init x) (legal a go) (<= (next y) (true x)) (<= terminal (true y)) (goal a 9)"
    (tmp_path / "good.kif").write_text(good)
    (tmp_path / "bad.kif").write_text("(role a")
    said = checked("gdl", "--gdl", tmp_path)
    assert "gdl bad.kif: NotKIF: line 1" in said
    assert "gdl: 1 of 2 play" in said
    (one,) = map(json.loads, checked("gdl", "--only", "nim", "--json").splitlines())
    assert (one["bridge"], one["game"], one["problem"]) == ("gdl", "nim", "")
    assert "gdl: 0 of 0 play" in checked("gdl", "--gdl", tmp_path, "--only", "no such game")
    wrong = CliRunner().invoke(app, ["bridges", "check", "nobody"])
    assert "there are gymnasium, pettingzoo" in str(wrong.exception)


def ends(*_: Any, **__: Any) -> Any:
    """Stand in for an environment that takes its process with it."""
    os._exit(3)


def hangs(*_: Any, **__: Any) -> Any:
    """Stand in for an environment that is never made."""
    threading.Event().wait()


def spins(*_: Any, **__: Any) -> Any:
    """Stand in for an environment whose making takes all processor time there is."""
    while True:
        pass


gymnasium.register("tests/Spins-v0", entry_point=spins)
gymnasium.register("tests/Ends-v0", entry_point=ends)
gymnasium.register("tests/Hangs-v0", entry_point=hangs)


def test_what_is_late_or_dies_costs_its_own_place_alone() -> None:
    here = f"{__name__}:tests"
    idle, busy = ([(each, {"id": f"{here}/{each}-v0"})] for each in ("Hangs", "Spins"))
    (hung,) = trials.run("gymnasium", idle, 5.0, patience=1.0)
    assert hung.problem == "not over after 1 s"
    (spun,) = trials.run("gymnasium", busy, 0.5, patience=250.0)
    assert spun.problem == "not over after 0.5 s of processor time"
    games = [("Ends", {"id": f"{here}/Ends-v0"}), ("FrozenLake", {"id": "FrozenLake-v1"})]
    found = {each.game: each.problem for each in trials.run("gymnasium", games, 60.0)}
    assert found == {"Ends": "its process ended", "FrozenLake": ""}


def test_games_of_text_are_played_by_the_words_that_they_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs = stand_in("textarena", monkeypatch)
    games = dict(trials.textarena(()))
    assert games["TicTacToe-v0"] == {"id": "TicTacToe-v0"}
    said: list[str] = []
    kind = type(theirs.make("TicTacToe-v0-raw"))
    step = kind.step

    def heard(self: Any, text: str) -> Any:
        said.append(text)
        return step(self, text)

    monkeypatch.setattr(kind, "step", heard)
    trials.play("textarena", games["TicTacToe-v0"], seed=1)
    assert set(said) <= {f"[{each}]" for each in range(9)}
    assert len(said) > 2
    if not installed("textarena"):
        with pytest.raises(ValueError, match="expected a number"):
            trials.play("textarena", games["Faulty-v0"])
