"""The page's types and looks: ``contract.d.ts``, ``looks.js``, colours in ``tokens.css``."""

from __future__ import annotations

import json
import re

from dovetail_experiments.reports import looks
from dovetail_generate import model
from dovetail_generate.languages.text import MARK
from dovetail_generate.languages.typescript import declared

SHOWN = ("Scene", "Seated", "Cell", "Piece", "Card", "Zone", "Mark", "Choice")
UNSENT = ("paths", "action")
"""Fields that the page's server does not pass on."""
_TYPES = {"integer": "number", "number": "number", "text": "string", "boolean": "boolean"}
START, END = "  /* generated: colours of boards */", "  /* end */"


def types(contract: model.Contract) -> str:
    """Return the declarations of scenes, whose fields with their default are left out."""

    def interface(record: model.RecordType) -> list[str]:
        lines = [f"/** {record.summary} */", f"interface {record.name} {{"]
        for field in record.fields:
            if field.name not in UNSENT:
                mark = "" if field.required else "?"
                kind = declared(field.type, lambda scalar: _TYPES.get(scalar, "unknown"))
                lines += [f"  /** {field.meaning} */", f"  {field.name}{mark}: {kind};"]
        return [*lines, "}"]

    lines = [line for name in SHOWN for line in interface(contract.record(name))]
    return "\n".join([f"// {MARK}", *lines, ""])


def script() -> str:
    """Return the table of looks as a module."""
    text = json.dumps(looks.table(), ensure_ascii=False, indent=2)
    return f"// {MARK}\n\nexport const LOOKS = {text};\n"


def tokens(text: str) -> str:
    """Return ``tokens.css`` with the colours of boards."""
    lines = [
        f"  --{role}: light-dark({light}, {dark});"
        for role, (light, dark) in looks.inked(dict(looks.ROLES)).items()
    ]
    block = "\n".join([START, *lines, END])
    return re.sub(rf"{re.escape(START)}.*?{re.escape(END)}", block, text, flags=re.DOTALL)
