"""Let the fixtures of a test know whether it passed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from tests.clients.stamps import PASSED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note whether the test itself passed; a skip is not a pass."""
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    return report
