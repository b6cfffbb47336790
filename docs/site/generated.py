"""The parts of the reference that are written from the code while the site is built."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import typer.main
from msgspec import Struct
from msgspec import inspect as kinds

from dovetail.cli import app
from dovetail.client.results import ClockPart
from dovetail.protocol.messages import GameRules
from dovetail_experiments.arena import description as arena
from dovetail_experiments.files import file, sweep
from dovetail_experiments.statistics.sprt import Sprt

NONE = kinds.NoneType()
LINKS = {
    "; see `lookahead`": " ([looking ahead](../lookahead.md#looking-ahead))",
    "; see Stacked turns in SPEC.md": " ([stacked turns](../stacked.md))",
    "(SPEC.md, Seeds)": "([seeds](../../protocol/SPEC.md#seeds))",
    "See `secrets`.": "See [secrets](../experiments.md#secrets).",
    "`OUT:AGENT`": "[`OUT:AGENT`](../records.md#states-of-learners)",
}


def commands() -> Iterator[str]:
    """Yield the command line: a section for each command, with its arguments and options."""
    root: Any = typer.main.get_command(app)
    yield from _command(root, root.context_class(root, info_name="dovetail"), 2)


def _command(command: Any, context: Any, depth: int) -> Iterator[str]:
    name = context.command_path
    usage = " ".join(command.collect_usage_pieces(context))
    if depth > 2:
        yield f"{'#' * (depth - 1)} {name}\n"
    yield EXAMPLES.sub(_block, inspect.cleandoc(command.help or "").replace("\b\n", "")) + "\n"
    yield f"```text\n{name} {usage}\n```\n"
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    rows = [_parameter(each, context) for each in shown if each.name != "help"]
    if rows:
        yield "| option or argument | meaning |\n|---|---|"
        yield from rows
        yield ""
    for each in command.list_commands(context) if hasattr(command, "list_commands") else ():
        _, below, _ = command.resolve_command(context, [each])  # loads its module
        if below is not None and not below.hidden:
            yield from _command(
                below, below.context_class(below, info_name=each, parent=context), depth + 1
            )


EXAMPLES = re.compile(r"(?:^Example: .*$\n*)+", re.MULTILINE)


def _block(found: re.Match[str]) -> str:
    """Return the examples of a command as a block that can be copied."""
    lines = found.group().replace("Example: ", "").split("\n")
    return "\n".join(["```sh", *filter(None, lines), "```\n"])


def _parameter(each: Any, context: Any) -> str:
    if not (record := each.get_help_record(context)):
        named = each.make_metavar(context) if each.param_type_name == "argument" else each.opts[0]
        record = (named, getattr(each, "help", None) or "")
    option, meaning = (" ".join(str(part).split()).replace("|", "\\|") for part in record)
    return f"| `{option}` | {meaning} |"


RULES = "Rules of play"
EXPERIMENT: dict[str, type[Struct]] = {
    "At the top": file.ExperimentFile,
    "`seeds`, `repeats`, `sweep`, `report`": sweep.Keys,
    "`[environment]`": file.EnvironmentPart,
    "`[agents.NAME]`": file.AgentPart,
    "`[[phases]]`": file.Phase,
    "`[[evaluations]]`": file.Evaluation,
    "Keys of phases and evaluations": file.PlayPart,
    "`[[leagues]]`": file.League,
    "`[[tournaments]]`": file.Tournament,
    RULES: file.PartRules,
    "`clock`": ClockPart,
    "`sprt`": Sprt,
    "`[sweep]`": sweep.SweepPart,
    "`[sweep.tasks.NAME]`": sweep.TaskPart,
    "A range of values": sweep.ValueRange,
    "`objective`": sweep.Objective,
    "`[report]`": sweep.ReportPart,
    "`[processes]`": file.ProcessesPart,
}
"""The tables of an experiment file, by heading."""
ARENA: dict[str, type[Struct]] = {
    "At the top": arena.Arena,
    "`[[seasons]]`": arena.SeasonPlan,
    "`[submissions]`": arena.SubmissionLimits,
    "`[[ladders]]`": arena.Ladder,
    RULES: GameRules,
    "`clock`": ClockPart,
    "`[[ladders.baselines]]`": arena.Baseline,
}


def sections(tables: dict[str, type[Struct]]) -> Iterator[str]:
    """Yield a section for each table of a file; tables that no heading names come last."""
    tables = dict(tables)
    done: set[str] = set()
    while left := [heading for heading in tables if heading not in done]:
        done.add(heading := left[0])
        struct = tables[heading]
        yield f"## {heading}\n"
        lines = inspect.cleandoc(struct.__doc__ or "").replace("``", "`")
        if words := re.sub(r"^`[^`]*`(: |\.$)", "", lines):
            yield f"{words[0].upper()}{words[1:]}\n"
        if also := [name for name, each in tables.items() if each in struct.__mro__[1:]]:
            links = " and ".join(f"[{name}](#{_anchor(name)})" for name in also)
            yield f"It also has the keys under {links}.\n"
        yield from _table(struct, tables)
        yield ""


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _meanings(struct: type) -> dict[str, str]:
    """Return the docstring of each field, of the nearest class that has one."""
    found: dict[str, str] = {}
    for cls in reversed(struct.__mro__):
        if not issubclass(cls, Struct) or cls.__module__.startswith("msgspec"):
            continue
        (tree,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(cls))).body
        assert isinstance(tree, ast.ClassDef)
        for field, after in zip(tree.body, tree.body[1:], strict=False):
            match field, after:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[name] = _linked(" ".join(text.replace("``", "`").split()))
    return found


def _linked(text: str) -> str:
    """Return a docstring with links in place of what it refers to."""
    for words, link in LINKS.items():
        text = text.replace(words, link)
    return text


def _table(struct: type[Struct], tables: dict[str, type[Struct]]) -> Iterator[str]:
    """Yield the keys that no other table of the file has for this one."""
    info, meanings = kinds.type_info(struct), _meanings(struct)
    assert isinstance(info, kinds.StructType)
    above = [each for each in tables.values() if each in struct.__mro__[1:]]
    shared = {name for each in above for name in each.__struct_fields__}
    kept = [
        each
        for each in info.fields
        if each.name not in shared or each.name in vars(struct).get("__annotations__", {})
    ]
    if not kept:
        return
    yield "| key | values | default | meaning |\n|---|---|---|---|"
    for field in kept:
        if not (meaning := meanings.get(field.name, "")):
            raise ValueError(f"{struct.__name__}.{field.name} needs a docstring")
        cells = [_words(field.type, tables), _default(field), meaning]
        row = " | ".join(each.replace("|", "\\|") for each in cells)
        yield f"| `{field.encode_name}` | {row} |"


def _default(field: kinds.Field) -> str:
    if field.required:
        return "required"
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    if value is None or isinstance(value, Struct) or value in ([], {}, ""):
        return "none"
    text = msgspec.json.encode(value).decode()
    return f"`{text}`"


def _words(kind: kinds.Type, tables: dict[str, type[Struct]]) -> str:
    """Return the values that a type allows, in words; a table that is new joins the others."""
    match kind:
        case kinds.Metadata():
            return str((kind.extra or {}).get("form") or _words(kind.type, tables))
        case kinds.LiteralType(values=values):
            return ", ".join(f"`{each}`" for each in values)
        case kinds.UnionType(types=members):
            return " or ".join(_words(each, tables) for each in members if each != NONE)
        case kinds.ListType(item_type=item) | kinds.VarTupleType(item_type=item):
            return f"array of {_words(item, tables)}"
        case kinds.DictType(value_type=value):
            return f"table of {_words(value, tables)}"
        case kinds.StructType(cls=cls):
            known = (heading for heading, each in tables.items() if issubclass(each, cls))
            if (heading := next(known, None)) is None:
                heading = inspect.cleandoc(cls.__doc__ or cls.__name__).split("``")[1]
                tables[heading := f"`{heading}`"] = cls
            return f"[{heading}](#{_anchor(heading)})"
        case kinds.IntType() | kinds.FloatType():
            word = "integer" if isinstance(kind, kinds.IntType) else "number"
            bounds = [
                f"{sign} {bound:g}"
                for sign, bound in (("≥", kind.ge), (">", kind.gt), ("≤", kind.le))
                if bound is not None and abs(bound) < 1e15
            ]
            return " ".join([word, *bounds])
    names = {"StrType": "text", "BoolType": "boolean", "AnyType": "any value"}
    return names.get(type(kind).__name__, type(kind).__name__.removesuffix("Type").lower())


TEXTS = {
    "commands": lambda: "\n".join(commands()),
    "experiment file": lambda: "\n".join(sections(EXPERIMENT)),
    "arena file": lambda: "\n".join(sections(ARENA)),
}
"""The text for each mark ``<!-- from the code: NAME -->`` of a page."""
