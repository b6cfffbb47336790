"""Recorded games as films and pictures."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from dovetail.cli.records import replay
from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.errors import DovetailError
from dovetail_games.connect_four import ConnectFour


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
    replay(journal, "last", delay=0.1, video=out)
    with Image.open(out) as made:
        assert made.n_frames > 7  # type: ignore[attr-defined]
        assert made.size[0] > 300
    end = tmp_path / "end.svg"
    replay(journal, "1", svg=end)
    discs = Xml.fromstring(end.read_text()).findall("{*}g[@class='piece']")
    assert len(discs) > 6
    replay(journal, "1", svg=tmp_path / "first.svg", turn=0)
    assert "piece" not in (tmp_path / "first.svg").read_text()


def test_what_cannot_be_filmed_is_said(journal: Path, tmp_path: Path) -> None:
    with pytest.raises(DovetailError, match=r"ends in \.gif"):
        replay(journal, "last", video=tmp_path / "game.mp4")
    with pytest.raises(DovetailError, match=r"ends in \.svg or \.png"):
        replay(journal, "last", svg=tmp_path / "game.gif")
    with pytest.raises(DovetailError, match="has turns 0 to"):
        replay(journal, "1", svg=tmp_path / "a.png", turn=9999)
