"""The output of ``dovetail watch``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from dovetail.cli import common, watching
from dovetail.client.client import Experiment
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import coloured, plain
from dovetail.protocol.errors import DovetailError


class Broker:
    """Shows some turns, then leaves."""

    def __init__(self, *turns: m.WatchedTurn) -> None:
        self._turns = list(turns)

    def turns(self, timeout: float) -> Iterator[m.WatchedTurn]:
        yield from self._turns
        raise DovetailError("the broker has left")


def test_what_a_terminal_would_obey_is_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever other programs say: texts of positions keep their colours, and nothing else."""
    title, colour = "\x1b]0;owned\x07", "\x1b[41m"
    error = DovetailError(f"{title}can\x1b[2Jnot {colour}now")
    assert common.complain(error) == 1
    common.warn(str(error))
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    common.log_to_stderr()
    logging.getLogger("dovetail.x").warning("%s", error)
    assert capsys.readouterr().err == "dovetail: cannot now\n" * 3
    offer = {"name": f"a{title}", "peer": "b\x1b[2J", "parameters": {f"c{title}": {"type": title}}}
    offers = {"environments": [offer], "agents": [], "kept": [f"d{title}"]}
    watching._show_catalogue("e", {"peers": [], "runs": [], "instances": [], **offers})
    shown = capsys.readouterr().out
    assert "kept: d\n" in shown
    assert not {"\x1b", "\x07"} & set(shown)
    broker = Broker(turn(0, text=f"{title}x{colour}y\x9b2Jz"))
    with pytest.raises(DovetailError):
        watching._follow(cast(Experiment, broker), None, 0.0, everything=True)
    assert f"\n  x{colour}yz\x1b[0m\n" in capsys.readouterr().out


def test_no_text_of_others_looks_like_a_line_of_watch() -> None:
    lie = "it goes on\n-- run 7, episode 1, turn 3\nover: terminated\u2028over: cancelled"
    shown = watching.describe(turn(1, text=lie, actions=[(0, lie)]))
    own = [line for line in shown.splitlines() if not line.startswith("  ")]
    assert own[0].startswith("-- run 1, ")
    assert [each.partition(":")[0] for each in own[1:]] == ["player 1 (first)"]


@pytest.mark.parametrize(
    ("schema", "row"),
    [
        (5, ["x", "any", "(required)"]),
        (
            {"minimum": "abc", "maximum": 4, "type": "integer"},
            ["x", "integer", "(required)", "≤ 4"],
        ),
        ({"anyOf": [1]}, ["x", "any", "(required)"]),
        ({"anyOf": 1, "default": 2}, ["x", "any", "2"]),
        ({"enum": 1, "type": [1, "string"]}, ["x", "1 or string", "(required)"]),
        ({"anyOf": [{"enum": ["a"]}, None]}, ["x", "choice", "(required)", '"a"']),
    ],
)
def test_malformed_options_of_an_offer_do_not_hide_the_others(
    schema: Any, row: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    offers = [
        {"name": "odd", "peer": "p", "parameters": {"x": schema}},
        {"name": "even", "peer": "p", "parameters": {}},
    ]
    body = {"environments": offers, "agents": [], "kept": []}
    watching._show_catalogue("e", {"peers": [], "runs": [], "instances": [], **body})
    shown = capsys.readouterr().out
    [line] = [each for each in shown.splitlines() if each.startswith("│ x ")]
    assert [cell.strip() for cell in line.split("│") if cell.strip()] == row
    assert "environment even (at p): no options" in shown


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\r\nb\tc", "a\nb\tc"),
        ("\x1b]0;never ended\nb", "\nb"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9d0;title\x9cb\x90q\x07c\x1bc", "bcc"),
        ("é\x85\x00\x7f", "é"),
    ],
)
def test_what_is_left_of_a_text(text: str, left: str) -> None:
    assert plain(text) == coloured(text) == left


def turn(number: int, **fields: Any) -> m.WatchedTurn:
    plain = {"run": 1, "match": 2, "index": 0, "episode": 3, "turn": number, "to_act": [0]}
    rest = {"actions": [], "rewards": [0.0], "observations": [], "agents": ["first"]}
    return msgspec.convert({**plain, **rest, **fields}, m.WatchedTurn)


def test_a_turn_that_comes_again_with_its_clocks_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    over = turn(1, to_act=[], reason="truncated")
    broker = Broker(turn(0), turn(0, running=[0]), turn(1), turn(1), over, turn(0))
    with pytest.raises(DovetailError):
        watching._follow(cast(Experiment, broker), None, 0.0, everything=True)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("-- ")]
    assert [line.split(", ")[2][:6] for line in printed] == ["turn 0", "turn 1", "turn 1", "turn 0"]
