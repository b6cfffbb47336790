"""The pages of results: lists of executions, one execution, and two side by side."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.quoting import path
from dovetail_experiments.reports import charts, over_seeds, over_tasks
from dovetail_experiments.reports.charts import Chart
from dovetail_experiments.reports.over_seeds import VariantRow
from dovetail_experiments.reports.sheets import sheet
from dovetail_web.files import csv_file
from dovetail_web.results import Execution, Results, Section, Sweep, differences
from dovetail_web.routes import Route

STAGE = ("number", "kind", "name", "trained", "attempt", "started", "finished")
"""The columns of a stage that are shown."""
MOST_COMPARED = 12
"""Maximum executions in a comparison."""
WIDTH = 240
"""The width of a column of intervals, in pixels."""


class ResultPages:
    """The routes below ``/results``.

    Args:
        stores: the stores to show.
        shown: renders a page.
    """

    def __init__(self, stores: Sequence[str], shown: Callable[..., Response]) -> None:
        self._results = Results(stores)
        self._shown = shown

    def routes(self) -> list[Route]:
        one = "/results/{store:number}/{number:number}"
        return [
            Route("/results", self.listed),
            Route("/results/compare", self.compare),
            Route("/results/compare.csv", self.differences),
            Route("/results/{store:number}/executions.csv", self.executions),
            Route(one, self.execution),
            Route(f"{one}/headlines", self.headlines),
            Route(f"{one}/run.csv", self.stages),
            Route(f"{one}/episodes.csv", self.episodes),
            Route(f"{one}/sweep", self.sweep),
            Route(f"{one}/sweep/headlines", self.headlines_of_sweep),
            Route(f"{one}/sweep/curves.json", self.curves),
            Route(f"{one}/sweep/seeds.csv", self.seeds),
            Route(f"{one}/{{section}}/{{name}}.csv", self.table),
        ]

    async def listed(self, request: Request, problem: str = "") -> Response:
        """Return the page of all stores' executions."""
        found = await asyncio.to_thread(lambda: list(self._results.listed()))
        status = 400 if problem else 200
        return self._shown(
            request, "results", status, stores=found, when=when, lasted=lasted, problem=problem
        )

    async def executions(self, request: Request) -> Response:
        """Return a store's executions as CSV."""
        listed = await asyncio.to_thread(lambda: list(self._results.listed()))
        number = request.path_params["store"]
        if number >= len(listed):
            raise HTTPException(404, f"There is no store {number}.")
        store = listed[number]
        if store.problem:
            raise HTTPException(404, store.problem)
        rows = [
            {**each, "stages": each["stages"][1], "stages_finished": each["stages"][0]}
            for each in store.executions
        ]
        return csv_file("executions", rows)

    async def stages(self, request: Request) -> Response:
        """Return an execution's stages with their times as CSV."""
        path = request.path_params
        found = await self._found(f"{path['store']}.{path['number']}")
        return csv_file("stages", [{name: each[name] for name in STAGE} for each in found.stages])

    async def execution(self, request: Request) -> Response:
        """Return the page of an execution."""
        found = await self._found(f"{request.path_params['store']}.{request.path_params['number']}")
        return self._shown(
            request,
            "execution",
            title=f"{found.file.name}, execution {found.row['id']}",
            sides=[(request.url.path, found)],
            rows=[(each, [each]) for each in found.sections],
            charts=[],
            differences=None,
            when=when,
        )

    async def headlines(self, request: Request) -> Response:
        """Return what an execution found as JSON; reading it may take some seconds."""
        found = await self._found(f"{request.path_params['store']}.{request.path_params['number']}")
        return _json(found.headlines)

    async def headlines_of_sweep(self, request: Request) -> Response:
        """Return what a sweep found as JSON."""
        _, found = await self._swept(request)
        return _json(found.headlines)

    async def compare(self, request: Request) -> Response:
        """Return executions in shared charts, and two of them side by side."""
        names = request.query_params.getlist("of")
        if not 2 <= len(names) <= MOST_COMPARED:
            text = f"Choose two to {MOST_COMPARED} executions to compare; you chose {len(names)}."
            return await self.listed(request, text)
        found = [await self._found(each) for each in names]
        laid: dict[str, dict[str, Chart]] = {}
        for each in found:
            for section in each.sections:
                for chart in section.charts:
                    laid.setdefault(f"{section.key} {chart.title}", {})[_named(each)] = chart
        sides = [
            (path("results", *name.split(".")), each)
            for name, each in zip(names, found, strict=True)
        ]
        return self._shown(
            request,
            "execution",
            title=", ".join(map(_title, found)),
            sides=sides,
            rows=self._beside(*found) if len(found) == 2 else [],
            charts=[chart for each in laid.values() for chart in charts.overlaid(each)],
            differences=differences(*(each.file for each in found)) if len(found) == 2 else None,
            when=when,
        )

    @staticmethod
    def _beside(one: Execution, other: Execution) -> list[tuple[Section, list[Section | None]]]:
        """Return the sections of two executions, paired by key."""
        keys = dict.fromkeys([each.key for side in (one, other) for each in side.sections])
        rows = []
        for key in keys:
            both = [one.section(key), other.section(key)]
            rows.append((next(each for each in both if each is not None), both))
        return rows

    async def sweep(self, request: Request) -> Response:
        """Return the page of a sweep."""
        store, found = await self._swept(request)
        groups = [(over_seeds.tables([group])[0], group) for group in found.groups]
        return self._shown(
            request,
            "sweep",
            store=store,
            number=request.path_params["number"],
            sweep=found,
            tables=[
                *(
                    (sheet(table), [None] * len(group))
                    for group in found.over
                    for table in over_tasks.tables([group])
                ),
                *((sheet(table), bars(group)) for table, group in groups),
            ],
            when=when,
            lasted=lasted,
        )

    async def curves(self, request: Request) -> Response:
        """Return a sweep's charts as JSON, for live updates."""
        _, found = await self._swept(request)
        body = {"running": found.running, "progress": found.progress, "charts": found.charts}
        return _json(body)

    async def seeds(self, request: Request) -> Response:
        """Return a sweep's results over seeds as CSV."""
        _, found = await self._swept(request)
        return csv_file(f"{found.name}-seeds", found.plain())

    async def _swept(self, request: Request) -> tuple[int, Sweep]:
        store, number = request.path_params["store"], request.path_params["number"]
        try:
            return store, await asyncio.to_thread(self._results.sweep, store, number)
        except DovetailError as error:
            raise HTTPException(404, str(error)) from None

    async def differences(self, request: Request) -> Response:
        """Return the differing settings of two executions as CSV."""
        names = request.query_params.getlist("of")
        if len(names) != 2:
            raise HTTPException(400, f"Choose two executions to compare; you chose {len(names)}.")
        one, other = [await self._found(name) for name in names]
        found = differences(one.file, other.file)
        rows = [{"setting": key, "first": first, "second": second} for key, first, second in found]
        return csv_file("differences", rows)

    async def episodes(self, request: Request) -> Response:
        """Return an execution's episodes as CSV."""
        store, number = request.path_params["store"], request.path_params["number"]
        await self._found(f"{store}.{number}")
        found = await asyncio.to_thread(self._results.episodes, store, number)
        return csv_file("episodes", found)

    async def table(self, request: Request) -> Response:
        """Return a table of a section as CSV."""
        path = request.path_params
        section = (await self._found(f"{path['store']}.{path['number']}")).section(path["section"])
        if section is None:
            raise HTTPException(404, f"There is no section {path['section'][:80]!r}.")
        name = path["name"]
        if name not in section.tables:
            raise HTTPException(404, f"This section has no table {name[:80]!r}.")
        return csv_file(name, section.tables[name])

    async def _found(self, name: str) -> Execution:
        """Return the execution named ``STORE.NUMBER``."""
        store, _, number = name.partition(".")
        if not (store.isdecimal() and number.isdecimal() and len(name) < 20):
            raise HTTPException(404, f"{name[:80]!r} does not name an execution.")
        try:
            return await asyncio.to_thread(self._results.execution, int(store), int(number))
        except DovetailError as error:
            raise HTTPException(404, str(error)) from None


def _json(body: Any) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json")


def _named(of: Execution) -> str:
    """Return the label of an execution's lines in a shared chart."""
    variant = of.row["variant"]
    return f"{_title(of)}, {variant}, seed {of.row['seed']}" if variant else _title(of)


def _title(of: Execution) -> str:
    return f"{of.file.name} {of.row['id']}"


def lasted(begun: float | None, ended: float | None) -> str:
    """Return a readable duration; `-` while it is unknown."""
    if begun is None or ended is None:
        return "-"
    seconds = max(0.0, ended - begun)
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def bars(group: Sequence[VariantRow]) -> list[tuple[float, float, float] | None]:
    """Return the positions in a column of each variant's mean and of its interval's ends."""
    ends = [
        [value if math.isfinite(value) else band.mean for value in (band.mean, band.low, band.high)]
        for band in (each.band for each in group)
    ]
    known = [value for each in ends for value in each if math.isfinite(value)]
    if not known or min(known) == max(known):
        return [None] * len(group)
    low, high = min(known), max(known)
    return [
        (place[0], place[1], place[2]) if all(map(math.isfinite, each)) else None
        for each in ends
        for place in [[round(WIDTH * (value - low) / (high - low), 1) for value in each]]
    ]


def when(seconds: float | None) -> str:
    """Return a readable time from the table ``executions``."""
    return "-" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
