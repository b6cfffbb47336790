"""The line that says how far a run is."""

from __future__ import annotations

import io
import time

import pytest

from dovetail.client.progress_line import Ticker


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_appears_at_a_terminal_after_a_while_and_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = Terminal()
    with Ticker(out) as ticker:
        ticker.show(1, 1200)
        assert out.getvalue() == ""
        now[0] = 110.0
        ticker.show(100, 1200)
        assert out.getvalue() == "\r100 of 1,200 episodes, about 1 min 50 s left"
        ticker.show(101, 1200)
        now[0] = 111.0
        ticker.show(1200, 1200)
        assert out.getvalue().split("\r")[-1].strip() == "1,200 of 1,200 episodes"
    assert out.getvalue().endswith("\r")
    assert out.getvalue().split("\r")[-2].strip() == ""


def test_nothing_is_written_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with Ticker(out) as ticker:
        now[0] = 200.0
        ticker.show(1, 2)
    assert out.getvalue() == ""
