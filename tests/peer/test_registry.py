"""Names from outside are looked up in the registry; only the person at this machine may import."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from dovetail import DovetailError
from dovetail.peer import plugins, registry
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.registry import register, registered
from dovetail_games.connect_four import ConnectFour

CODE = """
def coins(observation, seat):
    return 7
"""


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


def test_built_in_names_come_first_then_registered_then_installed() -> None:
    register("encoder", "bytes", 1)
    register("encoder", "mine", 2)
    assert registered("encoder", "bytes", {"bytes": 0}) == 0
    assert registered("encoder", "mine", {"bytes": 0}) == 2
    assert registered("environment", "connect_four") is ConnectFour
    assert registry.names("encoder") == ["bytes", "mine"]
    register("environment", "connect_four", Random)
    assert registered("environment", "connect_four") is Random


def test_an_installed_package_registers_by_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "coins-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "[dovetail.encoders]\ncoins = counting:coins\ngone = counting:gone\n"
    )
    (tmp_path / "counting.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert registered("encoder", "coins")(None, None) == 7
    assert registry.names("encoder") == ["coins", "gone"]
    with pytest.raises(DovetailError, match="encoder 'gone' cannot be loaded: AttributeError"):
        registered("encoder", "gone")


@pytest.mark.parametrize("kind", registry.GROUPS)
def test_what_is_not_there_is_said_in_one_line_with_what_is(kind: registry.Kind) -> None:
    register(kind, "coins", 1)
    with pytest.raises(DovetailError) as caught:
        registered(kind, "coin", {"bytes": 0}, who="agent x, option 'y'")
    text = str(caught.value)
    assert text.startswith(f"agent x, option 'y': no {kind} 'coin'; did you mean 'coins'? there ")
    assert "bytes, " in text
    assert "\n" not in text
    with pytest.raises(DovetailError) as caught:
        registered(kind, "os:system" * 100_000)
    assert len(str(caught.value)) < 1000


def test_the_command_line_registers_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "coins.py").write_text(CODE)
    plugins.register(f"encoder:mine={tmp_path / 'coins.py'}:coins")
    plugins.register("environment:four=connect_four")
    plugins.register("environment:five=dovetail_games.connect_four:ConnectFour")
    monkeypatch.chdir(tmp_path)
    plugins.register("policy:best=policy.zip")
    assert registered("encoder", "mine")(None, None) == 7
    assert registered("environment", "four") is registered("environment", "five") is ConnectFour
    assert registered("policy", "best") == str(tmp_path / "policy.zip")
    assert plugins.find("environment", "four") is ConnectFour


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("encoder:coins", "give KIND:NAME=FILE.py:NAME, where KIND is one of environment, "),
        ("coins=coins.py:coins", "give KIND:NAME=FILE.py:NAME"),
        ("encoders:coins=coins.py:coins", "give KIND:NAME=FILE.py:NAME"),
        ("encoder:coins=coins.py:coins", "there is no file "),
        ("encoder:coins=coins", "'coins' is not module:function or path/to/file.py:function"),
        ("encoder:coins=math:nowhere", "math has no function 'nowhere'"),
        ("environment:chess=chess", "no environment 'chess'; there are "),
    ],
)
def test_what_cannot_be_registered_is_said_in_one_line(text: str, said: str) -> None:
    with pytest.raises(DovetailError) as caught:
        plugins.register(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
