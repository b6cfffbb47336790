"""Writes down what the Python types know: SPEC.md's tables, schema.json, vectors/, the clients'
messages.

``make generate`` writes the files; ``make check`` fails if one is out of date.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from pathlib import Path

from dovetail_generate import document, languages, page, python, schema, vectors
from dovetail_generate.model import contract

TOP = Path(__file__).resolve().parents[2]
CONTRACT = TOP / "protocol"
CLIENT = TOP / "src/dovetail/client"
WEB = TOP / "web"
STATIC = WEB / "dovetail_web/static"


def files() -> dict[Path, str]:
    """Return the text of every generated file."""
    written = {
        **{
            TOP / name: document.document(name, (TOP / name).read_text(encoding="utf-8"))
            for name in document.BLOCKS
        },
        CLIENT / "run_options.py": python.options(),
        CLIENT / "client.py": python.docstring((CLIENT / "client.py").read_text(encoding="utf-8")),
        WEB / "contract.d.ts": page.types(contract()),
        STATIC / "looks.js": page.script(),
        STATIC / "tokens.css": page.tokens((STATIC / "tokens.css").read_text(encoding="utf-8")),
        CONTRACT / "schema.json": schema.schema(),
        CONTRACT / "vectors" / "valid.json": vectors.valid_vectors(),
        CONTRACT / "vectors" / "malformed.json": vectors.malformed_vectors(),
        CONTRACT / "vectors" / "members.json": vectors.member_vectors(),
    }
    for module in pkgutil.iter_modules(languages.__path__):
        emitter = importlib.import_module(f"{languages.__name__}.{module.name}")
        if hasattr(emitter, "emit"):  # the others are helpers
            for name, text in emitter.emit(contract()).items():
                written[TOP / "clients" / name] = text
    return written


def stale() -> dict[Path, str]:
    """Return the generated files that are out of date, with the text they should have."""
    return {
        path: text
        for path, text in files().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or check them; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dovetail_generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only list files that are out of date")
    check = parser.parse_args(arguments).check
    old = stale()
    for path, text in old.items():
        name = path.relative_to(TOP)
        if check:
            print(f"{name} is out of date; run `make generate`")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and old else 0
