"""Recorded games as films and pictures."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from dovetail.cli.common import UsageError
from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail_games.connect_four import ConnectFour
from dovetail_web.commands.film import film


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a journal with one game."""
    path = tmp_path_factory.mktemp("film") / "games.journal"
    with InProcess([ConnectFour], [Random], journal=path) as experiment:
        agents = [experiment.create("random", seed=seat) for seat in (1, 2)]
        experiment.run("connect_four", agents, seed=4).wait()
    return path


def test_a_game_becomes_a_film_and_its_end_a_picture(journal: Path, tmp_path: Path) -> None:
    out = tmp_path / "game.gif"
    film(journal, "last", out, pace=0.1)
    with Image.open(out) as made:
        assert made.n_frames > 7  # type: ignore[attr-defined]
        assert made.size[0] > 300
    end = tmp_path / "end.svg"
    film(journal, "1", end)
    discs = Xml.fromstring(end.read_text()).findall("{*}g[@class='piece']")
    assert len(discs) > 6
    film(journal, "1", tmp_path / "first.svg", turn=0)
    assert "piece" not in (tmp_path / "first.svg").read_text()


def test_what_cannot_be_filmed_is_said(journal: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.gif"):
        film(journal, "last", tmp_path / "game.mp4")
    with pytest.raises(UsageError, match="not an episode number"):
        film(journal, "first", tmp_path / "game.gif")
    with pytest.raises(UsageError, match="has turns 0 to"):
        film(journal, "1", tmp_path / "a.png", turn=9999)
