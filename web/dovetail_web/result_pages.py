"""The pages of results: lists of executions, one execution, and two side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dovetail.peer.quoting import path
from dovetail.protocol.errors import DovetailError
from dovetail_web.files import csv_file
from dovetail_web.results import Execution, Results, Section, differences
from dovetail_web.routes import Route
from dovetail_web.shown import Shown

STAGE = ("number", "kind", "name", "trained", "attempt", "started", "finished")
"""What is shown of a stage."""
PICTURE = "default-src 'none'; style-src 'unsafe-inline'"
"""The policy of a picture of a chart, whose styles stand in the file."""


class ResultPages:
    """The routes below ``/results``.

    Args:
        stores: whose executions are shown.
        shown: makes a page.
    """

    def __init__(self, stores: Sequence[str], shown: Shown) -> None:
        self._results = Results(stores)
        self._shown = shown

    def routes(self) -> list[Route]:
        """Return them."""
        one = "/results/{store:number}/{number:number}"
        return [
            Route("/results", self.listed),
            Route("/results/compare", self.compare),
            Route("/results/compare.csv", self.differences),
            Route("/results/{store:number}/executions.csv", self.executions),
            Route(one, self.execution),
            Route(f"{one}/run.csv", self.stages),
            Route(f"{one}/episodes.csv", self.episodes),
            Route(f"{one}/{{section}}/{{name}}.csv", self.table),
            Route(f"{one}/{{section}}/{{name}}.svg", self.picture),
        ]

    async def listed(self, request: Request) -> Response:
        """The executions of all stores."""
        found = await asyncio.to_thread(lambda: list(self._results.listed()))
        return self._shown(request, "results", stores=found, when=when)

    async def executions(self, request: Request) -> Response:
        """The executions of a store as CSV."""
        listed = await asyncio.to_thread(lambda: list(self._results.listed()))
        number = request.path_params["store"]
        if number >= len(listed):
            raise HTTPException(404, f"There is no store {number}.")
        _, found, problem = listed[number]
        if problem:
            raise HTTPException(404, problem)
        rows = [
            {**each, "stages": each["stages"][1], "stages_finished": each["stages"][0]}
            for each in found
        ]
        return csv_file("executions", rows)

    async def stages(self, request: Request) -> Response:
        """The stages of an execution, when each was played, as CSV."""
        path = request.path_params
        found = await self._found(f"{path['store']}.{path['number']}")
        return csv_file("stages", [{name: each[name] for name in STAGE} for each in found.stages])

    async def execution(self, request: Request) -> Response:
        """One execution."""
        found = await self._found(f"{request.path_params['store']}.{request.path_params['number']}")
        return self._shown(
            request,
            "execution",
            title=f"{found.file.name}, execution {found.row['id']}",
            sides=[(request.url.path, found)],
            rows=[(each, [each]) for each in found.sections],
            differences=None,
            when=when,
        )

    async def compare(self, request: Request) -> Response:
        """Two executions side by side."""
        names, (one, other) = await self._both(request)
        keys = dict.fromkeys([each.key for side in (one, other) for each in side.sections])
        rows: list[tuple[Section, list[Section | None]]] = []
        for key in keys:
            both = [one.section(key), other.section(key)]
            found = [each for each in both if each is not None]
            # Trials of one sweep have the same table over seeds.
            same = key.startswith("seeds") and len(found) == 2 and found[0].sheet == found[1].sheet
            rows.append((found[0], both[:1] if same else both))
        return self._shown(
            request,
            "execution",
            title=f"{_title(one)} and {_title(other)}",
            sides=[
                (path("results", *name.split(".")), each)
                for name, each in zip(names, (one, other), strict=True)
            ],
            rows=rows,
            differences=differences(one.file, other.file),
            when=when,
        )

    async def differences(self, request: Request) -> Response:
        """What the files of two executions do not share, as CSV."""
        _, (one, other) = await self._both(request)
        found = differences(one.file, other.file)
        rows = [{"setting": key, "first": first, "second": second} for key, first, second in found]
        return csv_file("differences", rows)

    async def _both(self, request: Request) -> tuple[list[str], list[Execution]]:
        """Return the names of the two executions to be compared, and both."""
        names = request.query_params.getlist("of")
        if len(names) != 2:
            raise HTTPException(400, f"Choose two executions to compare; you chose {len(names)}.")
        return names, [await self._found(name) for name in names]

    async def episodes(self, request: Request) -> Response:
        """All episodes of an execution as CSV."""
        store, number = request.path_params["store"], request.path_params["number"]
        await self._found(f"{store}.{number}")
        found = await asyncio.to_thread(self._results.episodes, store, number)
        return csv_file("episodes", found)

    async def table(self, request: Request) -> Response:
        """A table of a section as CSV."""
        section, name = await self._section(request)
        if name not in section.tables:
            raise HTTPException(404, f"This section has no table {name[:80]!r}.")
        return csv_file(name, section.tables[name])

    async def picture(self, request: Request) -> Response:
        """A picture of a section."""
        section, name = await self._section(request)
        if name not in section.pictures:
            raise HTTPException(404, f"This section has no picture {name[:80]!r}.")
        policy = {"Content-Security-Policy": PICTURE}
        return Response(section.pictures[name], media_type="image/svg+xml", headers=policy)

    async def _section(self, request: Request) -> tuple[Section, str]:
        path = request.path_params
        found = (await self._found(f"{path['store']}.{path['number']}")).section(path["section"])
        if found is None:
            raise HTTPException(404, f"There is no section {path['section'][:80]!r}.")
        return found, path["name"]

    async def _found(self, name: str) -> Execution:
        """Return the execution that ``STORE.NUMBER`` names."""
        store, _, number = name.partition(".")
        if not (store.isdecimal() and number.isdecimal() and len(name) < 20):
            raise HTTPException(404, f"{name[:80]!r} does not name an execution.")
        try:
            return await asyncio.to_thread(self._results.execution, int(store), int(number))
        except DovetailError as error:
            raise HTTPException(404, str(error)) from None


def _title(of: Execution) -> str:
    return f"{of.file.name} {of.row['id']}"


def when(seconds: float | None) -> str:
    """Return a time of the table ``executions`` for a reader."""
    return "-" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
