"""Sphinx's configuration: the site is made of the Markdown where it lies in the checkout.

``make docs`` runs it with the top of the checkout as the folder of sources, so that links between
pages are the same on the site as in an editor.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils import nodes
from jupyter_client.manager import AsyncKernelManager
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE), str(TOP)]

import diagrams  # noqa: E402
import generated  # noqa: E402

from dovetail import __version__  # noqa: E402

project = "Dovetail"
author = "the Dovetail authors"
copyright = author
release = version = __version__
root_doc = "docs/index"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
include_patterns = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/*.md",
    "clients/*/README.md",
    "docs/**",
    "protocol/*.md",
    "studies/pages/*.md",
]
exclude_patterns = [
    *(
        ".git",
        ".venv*",
        "build",
        "dist",
        "out",
        "**/node_modules",
        "**/target",
        "**/.*",
        "docs/site",
    ),
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_show_tb = True
# Without it, a kernel warns that others on this machine could read what it is sent.
AsyncKernelManager._transport_encryption_default = lambda manager: "auto"

autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "ignore-module-all": True,
}
add_module_names = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autoclass_content = "class"
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Options", "params_style")]

html_theme = "furo"
html_title = "Dovetail"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["root"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#1b5e83", "color-brand-content": "#1b5e83"},
    "dark_css_variables": {"color-brand-primary": "#7cc0e8", "color-brand-content": "#7cc0e8"},
}
# A docstring that begins with a shape, as in "[ended, seats]: the scores", is read as a type, whose
# words may be the names of several attributes.
suppress_warnings = ["ref.python"]
highlight_language = "none"  # a block without a language is a command or what one prints
smartquotes_action = "q"  # no dash in place of the -- of an option
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_prompt_text = "$ "


MARK = re.compile(r"<!-- (from the code|pages|list|links|table|rest): (.+?) -->")


RULES = re.compile(r"^\[The rules\]\((?P<file>\S+/rules\.md)\), .*$", re.MULTILINE)
"""The line of a game's page that links to its rules, which the site shows in its place."""


DECISION = re.compile(r"docs/decisions/\d")
"""The pages outside of the navigation, which is written into each page of the site."""


def fill(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace the marks of a page: by what the code says, or by links to other pages; its diagrams
    by pictures; and the link to a game's rules by the rules."""

    def text(found: re.Match[str]) -> str:
        kind, what = found.groups()
        if kind == "from the code":
            return generated.TEXTS[what]()
        if kind == "links":  # outside of the navigation, which takes half of the time to build
            return "\n".join(f"- []({each.name})" for each in sorted(folder.glob(f"{what}.md")))
        pages = "\n".join(what.split())
        if kind == "rest":  # those of the page's folder that it does not name
            here = {each.stem for each in folder.glob("*.md")}
            pages = "\n".join(sorted(here - {*source[0].split(), Path(name).name}))
        if not pages:
            return ""
        options = ":glob:\n:maxdepth: 1\n" + ("" if kind == "list" else ":hidden:\n")
        toctree = f"```{{toctree}}\n{options}\n{pages}\n```"
        if kind != "table":
            return toctree
        about = (described(folder, each) for each in what.split())
        return "\n".join(["| | |", "|---|---|", *about, "", toctree])

    folder = Path(app.env.doc2path(name)).parent
    filled = RULES.sub(lambda found: rules(folder / found["file"]), MARK.sub(text, source[0]))
    source[0] = diagrams.shown(filled, "/docs/images/diagrams")
    if DECISION.match(name):
        source[0] = f"---\norphan: true\n---\n\n{source[0]}"


def rules(file: Path) -> str:
    """Return a game's rules without their title."""
    return file.read_text(encoding="utf-8").partition("\n")[2].strip()


def described(folder: Path, page: str) -> str:
    """Return a table's row with the link to a page, and its first sentence."""
    text = (folder / f"{page}.md").read_text(encoding="utf-8")
    title, words = re.findall(r"^# (.*)\n+((?:.+\n)+)", text, re.MULTILINE)[0]
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(words.split()))
    return f"| [{title}]({page}.md) | {re.split(r'(?<=[.:]) ', plain)[0].rstrip(':')} |"


def unlink(app: Sphinx, document: nodes.document) -> None:
    """Leave the text of each link to what is in the checkout, but no page of the site.

    A link to what is nowhere stays, and fails the build.
    """
    page = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(document.findall(pending_xref)):
        target = str(link.get("reftarget", "")).partition("#")[0]
        if link.get("refdomain") == "doc":
            missing = target not in app.env.found_docs and (TOP / f"{target}.md").exists()
        else:
            missing = bool(target) and (page / target).exists()
        if missing:
            link.replace_self(nodes.inline("", "", *link.children))
    for link in list(document.findall(download_reference)):
        link.replace_self(nodes.inline("", "", *link.children))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what is the site's own."""
    app.connect("source-read", fill)
    app.connect("doctree-read", unlink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
