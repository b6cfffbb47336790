"""What axe-core finds wrong with the pages: nothing; and what cannot be measured by it."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from .playing import begin

PAGES = ("", "play/dominion", "replay", "results", "results/compare?of=0.1&of=0.2")


def found(page: Any, **options: Any) -> list[str]:
    """Return what axe finds, a line each."""
    result = Axe().run(page, options={"resultTypes": ["violations"], **options})
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in result.response["violations"]
        for node in each["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium: Any, url: str, scheme: Any) -> None:
    # Our own policy lets no script of a test in.  In the dark only the colours are others.
    only = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
    context = chromium.new_context(
        bypass_csp=True, color_scheme=scheme, viewport={"width": 400, "height": 800}
    )
    page = context.new_page()
    try:
        begin(page, url, "dominion")
        assert found(page, **only) == []
        for path in PAGES:
            page.goto(url + path)
            page.wait_for_load_state()
            assert found(page, **only) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
    finally:
        context.close()
