"""All pages of an arena."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.datastructures import FormData
from starlette.requests import Request

from dovetail_web.arena_entrants import EntrantPages
from dovetail_web.arena_operator import OperatorPages
from dovetail_web.arena_pages import ArenaPages
from dovetail_web.arena_site import ArenaSite
from dovetail_web.routes import Route
from dovetail_web.sessions import Sessions
from dovetail_web.shown import Shown


def routes(
    file: Path,
    shown: Shown,
    posted: Callable[[Request], Awaitable[FormData]],
    connected: Callable[[str], str],
    sessions: Sessions,
) -> tuple[list[Route], Callable[[str], bytes]]:
    """Return the routes, and a function that returns a ladder's leaders as JSON.

    Arguments and errors are those of ``ArenaSite`` and ``EntrantPages``.
    """
    site = ArenaSite(file, shown, posted, sessions)
    pages = ArenaPages(site)
    entrants, operator = EntrantPages(site, connected), OperatorPages(site)
    return [*entrants.routes(), *operator.routes(), *pages.routes()], pages.leaders
