"""Recorded games as films and pictures, for ``dovetail replay``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.peer.extras import needed
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord

if TYPE_CHECKING:
    from PIL import Image as Images

PACE, LAST = 0.8, 3.0
"""Seconds per turn, and for the end."""
FILMS, PICTURES = (".gif",), (".svg", ".png")


def film(record: EpisodeRecord, out: Path, pace: float = 0.0) -> None:
    """Write an episode as a film.

    Args:
        record: the episode.
        out: a file that ends in ``.gif``.
        pace: seconds for each turn; 0 for the usual pace.

    Raises:
        DovetailError: it cannot be replayed, or the file cannot be written.
    """
    from dovetail_web.positions import picture

    write(out, [picture(each, "png") for each in _positions(record, out, FILMS)], pace or PACE)


def position(record: EpisodeRecord, out: Path, turn: int | None) -> None:
    """Write a position of an episode as a picture.

    Args:
        record: the episode.
        out: a file that ends in ``.svg`` or ``.png``.
        turn: the turn's number; None for the last.

    Raises:
        DovetailError: there is no such turn, or as for ``film``.
    """
    from dovetail_web.positions import picture

    shown = _positions(record, out, PICTURES)
    if turn is not None and turn >= len(shown):
        raise DovetailError(f"--turn {turn}: the episode has turns 0 to {len(shown) - 1}")
    made = picture(shown[-1 if turn is None else turn], out.suffix.lower()[1:])
    try:
        out.write_bytes(made)
    except OSError as error:
        raise DovetailError(f"{out} cannot be written: {error.strerror}") from None


def _positions(record: EpisodeRecord, out: Path, forms: tuple[str, ...]) -> list[dict[str, Any]]:
    if out.suffix.lower() not in forms:
        raise DovetailError(f"{out.name}: expected a name that ends in {' or '.join(forms)}")
    for package in ("PIL", "resvg_py"):
        needed(package)
    from dovetail_web.replays import positions

    return list(positions(record))


def write(out: Path, pictures: list[bytes], pace: float) -> None:
    """Write PNG pictures as an animated GIF.

    Args:
        out: the file.
        pictures: one or more pictures; smaller ones go to the upper left corner.
        pace: seconds per picture.

    Raises:
        DovetailError: the file cannot be written.
    """
    from PIL import Image

    images = [Image.open(io.BytesIO(each)).convert("RGB") for each in pictures]
    size = max(each.width for each in images), max(each.height for each in images)
    frames: list[Images.Image] = []
    for each in images:
        frame = Image.new("RGB", size, "white")
        frame.paste(each, (0, 0))
        frames.append(frame.quantize(128))
    durations = [round(1000 * pace)] * (len(frames) - 1) + [round(1000 * LAST)]
    try:
        frames[0].save(
            out, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True
        )
    except OSError as error:
        raise DovetailError(f"{out} cannot be written: {error.strerror}") from None
