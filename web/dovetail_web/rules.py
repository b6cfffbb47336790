"""The rules of a game as HTML, from the Markdown in which games write them."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from dovetail.peer import plugins

READER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
"""The renderer of the terminal's Markdown, too; HTML in the text is shown as it stands."""
BELOW = 2
"""The level of a page's headings below which those of the rules stand."""


@cache
def title(game: str) -> str:
    """Return the title of a game, which begins its rules; if it is not installed, its name.

    >>> title("connect_four"), title("tic_tac_toe")
    ('Connect Four', 'Tic tac toe')
    """
    head, _, _ = plugins.rules(game).partition("\n")
    text = head[2:].partition(":")[0] if head.startswith("# ") else game.replace("_", " ")
    return f"{text[:1].upper()}{text[1:]}"


def html(text: str) -> Markup:
    """Return rules as HTML, without the title at their beginning.

    >>> html("# Nim: the rules\\n\\nTake **one** match.")
    Markup('<p>Take <strong>one</strong> match.</p>\\n')
    """
    tokens = READER.parse(text)
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        del tokens[:3]
    for each in tokens:
        if each.type in ("heading_open", "heading_close"):
            each.tag = f"h{min(6, int(each.tag[1:]) + BELOW)}"
    return Markup(READER.renderer.render(tokens, READER.options, {}))
