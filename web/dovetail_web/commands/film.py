"""``dovetail film``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.common import UsageError
from dovetail.protocol.errors import DovetailError

if TYPE_CHECKING:
    from PIL import Image as Images

LAST = 3.0
"""Seconds for which the end is shown."""
FORMS = (".gif", ".svg", ".png")


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(film)


def film(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="A broker's journal.")],
    episode: Annotated[str, typer.Argument(help="Its number in the list, or `last`.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="A file that ends in .gif, .svg or .png.")
    ],
    turn: Annotated[
        int | None, typer.Option(min=0, help="With .svg or .png: the turn; the last unless given.")
    ] = None,
    pace: Annotated[float, typer.Option(min=0.02, max=60, help="Seconds for each turn.")] = 0.8,
) -> None:
    """Write a recorded episode as a film (.gif), or a position of it as a picture (.svg, .png).

    Example: dovetail film dovetail.journal last game.gif

    Example: dovetail film dovetail.journal 3 end.svg
    """
    from dovetail.peer.extras import needed
    from dovetail.protocol.journal import episode as pick

    form = out.suffix.lower()
    if form not in FORMS:
        raise UsageError(f"{out.name}: expected a name that ends in {', '.join(FORMS)}")
    if episode != "last" and not (episode.isdecimal() and int(episode) > 0):
        raise UsageError(
            f"{episode!r} is not an episode number; `dovetail replay --list` shows them"
        )
    for package in ("PIL", "resvg_py"):
        needed(package)
    from dovetail_web.positions import picture
    from dovetail_web.replays import positions

    number, record = pick(journal, episode)
    shown = list(positions(record))
    if form != ".gif":
        if turn is not None and turn >= len(shown):
            raise UsageError(f"--turn {turn}: episode {number} has turns 0 to {len(shown) - 1}")
        out.write_bytes(picture(shown[-1 if turn is None else turn], form[1:]))
        return
    write(out, [picture(each, "png") for each in shown], pace)
    print(f"{out}: {len(shown)} positions of episode {number}")


def write(out: Path, pictures: list[bytes], pace: float) -> None:
    """Write PNG pictures as an animated GIF.

    Args:
        out: the file.
        pictures: at least one; smaller ones are put into the upper left corner.
        pace: seconds for each.

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
