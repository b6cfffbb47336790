"""The rules of games as HTML."""

from __future__ import annotations

import pytest

from dovetail_web.rules import html

pytestmark = pytest.mark.fast


def test_rules_are_headings_lists_and_tables() -> None:
    found = html("# Nim\n\n## Play\n\n- take\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    for part in ("<h4>Play</h4>", "<li>take</li>", "<td>2</td>"):
        assert part in found
    assert "Nim" not in found


def test_rules_of_others_bring_no_markup_scripts_or_pictures() -> None:
    found = html("<script>x</script> [a](javascript:x) ![b](https://example.org/b.png)")
    for part in ("<script", 'href="javascript', "<img"):
        assert part not in found
