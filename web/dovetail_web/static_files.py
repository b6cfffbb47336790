"""The page's scripts and styles, compressed once and served at versioned addresses."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dovetail_experiments.quoting import path

IMPORT = re.compile(r"""^(?:import|export)\b[^"';]*?["']\./([\w.-]+)["']""", re.MULTILINE)
LASTING = "public, max-age=31536000, immutable"
"""The ``Cache-Control`` of a versioned address."""
COMPRESSED = (".js", ".css", ".svg")
STYLES = ("tokens.css", "style.css", "board.css")
"""The styles of all pages, in order of application."""
MOST = 8
"""Maximum files in one response."""


@lru_cache(64)
def _packed(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


class StaticFiles:
    """The files of some folders.

    Args:
        folders: the folders, whose files are read at once.
    """

    def __init__(self, *folders: Path) -> None:
        files = [each for folder in folders for each in sorted(folder.iterdir())]
        self._plain = {each.name: each.read_bytes() for each in files}
        whole = hashlib.blake2b(digest_size=6)
        for name, data in self._plain.items():
            whole.update(name.encode() + data)
        self.address = path("static", whole.hexdigest())
        """The base address of the files, relative to which modules import each other."""

    def __contains__(self, name: str) -> bool:
        return name in self._plain

    async def serve(self, request: Request) -> Response:
        """Return a file, or several joined by "+" in the name.

        An older page that asks at an older address gets the newest version.
        """
        name = request.path_params["name"]
        parts = name.split("+")
        if len(parts) > MOST or not all(each in self._plain for each in parts):
            raise HTTPException(404, "There is no such file.")
        data = b"\n".join(self._plain[each] for each in parts)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {"Vary": "Accept-Encoding"}
        if request.url.path.rpartition("/")[0] == self.address:
            headers["Cache-Control"] = LASTING
        if "gzip" in request.headers.get("accept-encoding", "") and name.endswith(COMPRESSED):
            headers["Content-Encoding"] = "gzip"
            data = _packed(data)
        return Response(data, media_type=kind, headers=headers)

    def thumbnail(self, game: str) -> str:
        """Return the address of a game's picture, which the page draws if it ships with none."""
        name = f"game-{game}.svg"
        return f"{self.address}/{name}" if name in self else path("thumbnail", game)

    def style(self, *names: str) -> Markup:
        """Return the element that loads the styles of all pages and these files as one file.

        A browser opens at most six connections to a server, so separate files would queue.
        """
        whole = "+".join((*STYLES, *names))
        return Markup('<link rel="stylesheet" href="{}/{}">').format(self.address, whole)

    def modules(self, name: str) -> list[str]:
        """Return a module and all that it imports, recursively."""
        found, rest = [], [name]
        while rest:
            each = rest.pop()
            if each not in found:
                found.append(each)
                rest += IMPORT.findall(self._plain[each].decode())
        return found

    def script(self, name: str) -> Markup:
        """Return the elements that load a module and its imports in parallel."""
        first, *others = (f"{self.address}/{each}" for each in self.modules(name))
        lines = [Markup('<script type="module" src="{}"></script>').format(first)]
        lines += [Markup('<link rel="modulepreload" href="{}">').format(each) for each in others]
        return Markup("\n").join(lines)
