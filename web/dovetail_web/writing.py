"""The page on which visitors write agents that play from their browsers (docs/browser.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from dovetail_web.guard import POLICY
from dovetail_web.routes import Route

HERE = Path(__file__).parent
PLACES = (HERE / "client", HERE.parents[1] / "clients" / "typescript" / "dist" / "src")
"""Possible folders of the compiled client: in a wheel, and in a checkout."""
OPPONENTS = ("random", "greedy", "mcts")
"""The agents listed first."""
LACKING = (
    "Agents cannot be written here yet: the client for browsers is not built. Run "
    "make -C clients/typescript build in Dovetail's folder, and reload the page."
)


def built() -> bool:
    """Return whether there is a client to hand out."""
    return any((each / "browser" / "index.js").is_file() for each in PLACES)


class _Client(StaticFiles):
    """The compiled client's files, located at each request, since it may be built later."""

    def get_directories(self, *_: Any) -> list[Any]:
        return list(PLACES)


class WritePages:
    """The routes.

    Args:
        peers: the broker's address for programs in a browser, such as ``ws://127.0.0.1:5758``.
        shown: renders a page.
        games: returns one offer of each game, with its ``title``.
        agents: returns the agents by name, without people.
    """

    def __init__(
        self,
        peers: str,
        shown: Callable[..., Response],
        games: Callable[[], list[dict[str, Any]]],
        agents: Callable[[], Iterable[str]],
    ) -> None:
        self._peers = peers
        self._shown = shown
        self._games = games
        self._agents = agents

    def routes(self) -> list[Route | Mount]:
        return [Route("/write", self.write), Mount("/client", _Client())]

    async def write(self, request: Request) -> Response:
        """Return the box for an agent's code."""
        if not built():
            raise HTTPException(404, LACKING)
        answer = self._shown(
            request,
            "write",
            peers=self._peers,
            offers=self._games(),
            agents=sorted(self._agents(), key=lambda name: (name not in OPPONENTS, name)),
        )
        policy = POLICY.replace("connect-src 'self'", f"connect-src 'self' {self._peers}")
        answer.headers["content-security-policy"] = f"{policy}; worker-src blob:"
        return answer
