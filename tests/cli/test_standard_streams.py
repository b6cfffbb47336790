"""Lines that programs send over standard input are bounded."""

from __future__ import annotations

import io

import pytest

from dovetail.cli import standard_streams
from dovetail.cli.standard_streams import BoundedLines


def test_a_line_without_end_is_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_streams, "MAX_LINE", 8)
    text = "1234567\nuci\n" + "x" * 1000 + "\n12345678\nquit\nend"
    assert list(BoundedLines(io.StringIO(text))) == [
        "1234567\n",
        "uci\n",
        "\n",
        "\n",
        "quit\n",
        "end",
    ]
    assert list(BoundedLines(io.StringIO("y" * 100))) == ["\n"]
