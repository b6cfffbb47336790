"""Draw the Mermaid diagrams of the documents, so that the site shows them without a script.

``make diagrams`` runs it after a diagram changed; it needs npm, Chromium and the network.  A
picture is named after the text that it shows, so that none can be out of date.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PICTURES = TOP / "docs/images/diagrams"
VERSION = "11.12.0"
"""Of Mermaid."""
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTINGS = """{startOnLoad: false, securityLevel: "strict", theme: "neutral", htmlLabels: false,
  deterministicIds: true, fontFamily: "sans-serif",
  flowchart: {htmlLabels: false, useMaxWidth: false}, state: {useMaxWidth: false}}"""


def picture(text: str) -> Path:
    """Return the file that shows a diagram."""
    return PICTURES / f"{sha256(text.encode()).hexdigest()[:12]}.svg"


def spoken(text: str) -> str:
    """Return a diagram's arrows as words.

    >>> spoken('flowchart TD\\n  a\\n  a --> b\\n  b --> c: then')
    'a to b; b to c: then'
    """
    arrows = [line.strip() for line in text.splitlines() if "-->" in line]
    return "; ".join(each.replace("-->", "to").replace("[*]", "outside") for each in arrows)


def shown(source: str, folder: str) -> str:
    """Return a document with its diagrams as pictures.

    Args:
        source: its Markdown.
        folder: the folder of the pictures, in addresses.
    """
    return BLOCK.sub(
        lambda found: f"![{spoken(found[1])}]({folder}/{picture(found[1]).name})", source
    )


def diagrams() -> Iterator[str]:
    """Yield the text of each diagram of the documents."""
    words = ["git", "-C", str(TOP), "ls-files", "*.md"]
    names = subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()
    for name in names:
        yield from BLOCK.findall((TOP / name).read_text(encoding="utf-8"))


def main() -> None:
    """Draw what lacks a picture, and remove the pictures of what is no more."""
    from playwright.sync_api import sync_playwright

    wanted = {picture(text): text for text in diagrams()}
    PICTURES.mkdir(exist_ok=True)
    for old in {*PICTURES.glob("*.svg")} - {*wanted}:
        old.unlink()
    missing = {path: text for path, text in wanted.items() if not path.exists()}
    if not missing:
        return
    tools = TOP / "build/mermaid"
    quiet = ["--silent", "--no-audit", "--no-fund", "--no-save"]
    install = ["npm", "install", *quiet, "--prefix", str(tools), f"mermaid@{VERSION}"]
    subprocess.run(install, check=True)
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.add_script_tag(path=tools / "node_modules/mermaid/dist/mermaid.min.js")
        page.evaluate(f"mermaid.initialize({SETTINGS})")
        for path, text in missing.items():
            drawn = page.evaluate("async text => (await mermaid.render('diagram', text)).svg", text)
            short = re.sub(r"(\d\.\d)\d+", r"\1", drawn)
            path.write_text(short + "\n", encoding="utf-8")
            print(path.relative_to(TOP))
        browser.close()


if __name__ == "__main__":
    main()
