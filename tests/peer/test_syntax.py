"""Names and paths reach other syntaxes through builders only, in all of the sources."""

from __future__ import annotations

import ast
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.peer.quoting import command
from dovetail_experiments.quoting import cell, file_name, origin, path

TOP = Path(__file__).resolve().parents[2]
FOLDERS = (
    "src",
    "protocol",
    "studies",
    "web",
    "experiments",
    "agent_servers",
    "env_servers",
    "bridges",
)

SYNTAXES = {
    "URL": re.compile(r"(?:sqlite|postgres\w*|https?|wss?|file)(?:\+\w+)?:[^\s]*$|[?&][\w-]+=$"),
    "path of a page": re.compile(r"^/(?:[\w-]+/)+$"),
    "HTML": re.compile(r"(?<!\?P)</?[a-z][\w-]*(?:\s[^<>]*)?>[^<>]*$|<[a-z][\w-]*\s[^<>]*=['\"]?$"),
    "SQL": re.compile(r"\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|DROP|ALTER|CREATE)\s[^;]*$"),
    "command": re.compile(r"(?:^|`|: )dovetail [a-z][\w-]*(?: [\w./=-]+)* $"),
}
"""Text just before a value that is formatted into a syntax."""

ALLOWED = {
    (
        "experiments/dovetail_experiments/records/migrations.py",
        "ALTER TABLE {} ADD COLUMN ",
    ): "SQLAlchemy compiled the column",
    (
        "studies/dovetail_studies/pages.py",
        "`dovetail study ",
    ): "a study's name and its row's are constants",
}


def formatted(source: str) -> Iterator[tuple[int, str]]:
    """Yield what stands before each value that is formatted into text, and its line."""
    tree = ast.parse(source)
    parts = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for each in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            before = ""
            for each in node.values:
                if isinstance(each, ast.Constant):
                    before += str(each.value)
                else:
                    yield node.lineno, before
                    before += "\0"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            left = node.left
            if isinstance(left, ast.Constant) and isinstance(left.value, str):
                text = left.value
                yield node.lineno, text.partition("%")[0] if isinstance(node.op, ast.Mod) else text
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            and isinstance(node.func.value, ast.Constant)
            and id(node.func.value) not in parts
        ):
            for before in before_places(str(node.func.value.value)):
                yield node.lineno, before


def before_places(text: str) -> Iterator[str]:
    """Yield what stands before each place of a format."""
    for found in re.finditer(r"\{[^{}]*\}", text):
        yield text[: found.start()]


def offences(source: str) -> list[tuple[int, str, str]]:
    """Return lines, syntaxes and the text before the values that are formatted into them."""
    return [
        (line, name, before)
        for line, before in formatted(source)
        for name, form in SYNTAXES.items()
        if form.search(before)
    ]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('f"sqlite:///{folder}/x"', "URL"),
        ('f"http://{host}:{port}"', "URL"),
        ('f"{where}?chair={key}"', "URL"),
        ('"postgresql+psycopg://" + name', "URL"),
        ('"https://%s/" % host', "URL"),
        ('f"/play/{name}"', "path of a page"),
        ('f"<td>{cell}</td>"', "HTML"),
        ("f'<a href=\"{link}\">'", "HTML"),
        ('f"SELECT * FROM {table}"', "SQL"),
        ('"DROP TABLE {}".format(name)', "SQL"),
        ('f"run it with: dovetail arena {path}"', "command"),
        ('f"use `dovetail journal repair {path}`"', "command"),
    ],
)
def test_the_search_finds_text_formatted_into_a_syntax(source: str, name: str) -> None:
    assert [each[1] for each in offences(source)][:1] == [name]


@pytest.mark.parametrize(
    "source", ['f"cannot read {path}"', 'f"{a}/{b}: {c}"', 'f"dovetail {version}"', '"a" + b']
)
def test_other_text_is_no_offence(source: str) -> None:
    assert offences(source) == []


@pytest.mark.learners
def test_no_source_formats_a_name_into_another_syntax() -> None:
    files = [each for name in FOLDERS for each in (TOP / name).rglob("*.py")]
    assert len(files) > 300
    found = []
    for each in files:
        place = each.relative_to(TOP).as_posix()
        for line, name, before in offences(each.read_text(encoding="utf-8")):
            if not any(p == place and before.endswith(end) for p, end in ALLOWED):
                found.append(f"{place}:{line}: {name}: {before[-60:]!r}; use a quoting module")
    assert found == []


LINK = re.compile(r'(?:href|src|action)="([^"]*)"')
SAFE = re.compile(
    r"\|\s*urlencode"  # quoted
    r"|^(?:base|link|address|about\.again)$"  # built in Python by ``path``
    # numbers and keys of ours
    r"|^(?:\w+\.)*(?:id|number|unit|player|key)$|^(?:store|player|table|name)$"
)


def test_links_of_templates_are_quoted() -> None:
    """A name in an address is quoted; numbers, keys and what is built in Python are as they are."""
    found = [
        f"{each.name}: {place}"
        for each in (TOP / "web" / "templates").glob("*.html")
        for address in LINK.findall(each.read_text(encoding="utf-8"))
        for place in re.findall(r"\{\{\s*(.*?)\s*\}\}", address)
        if not SAFE.search(place) and "| replace" not in place
    ]
    assert found == []
    assert not SAFE.search("offer.name")
    assert not [
        each.name
        for each in (TOP / "web" / "templates").glob("*.html")
        if re.search(r"\|\s*safe\b|autoescape false", each.read_text(encoding="utf-8"))
    ]


def test_scripts_of_the_page_build_no_html_and_quote_what_is_in_addresses() -> None:
    for each in (TOP / "web" / "static").glob("*.js"):
        text = each.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text), (
            each.name
        )
        for address in re.findall(r"`(/[a-z]+/[^`]*)`", text):
            for place in re.findall(r"\$\{([^}]*)\}", address):
                assert place.startswith("encodeURIComponent("), f"{each.name}: {address}"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_file_name_is_one_name_of_a_file(name: str) -> None:
    found = file_name(name)
    assert found == Path(found).name
    assert "\0" not in found
    assert found not in (".", "..")
    assert not found.startswith("-")
    assert len(found.encode()) <= 120
    assert re.fullmatch(r"[\x20-\x7e]+", found)


@pytest.mark.learners
@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_different_names_have_different_files(names: list[str]) -> None:
    one, other = (file_name(each) for each in names)
    assert one != other


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(min_size=1))
def test_a_path_is_read_as_it_was_built(part: str, value: str) -> None:
    value = value.encode("utf-8", "replace").decode()
    read = urllib.parse.urlsplit(path("play", part, of=value))
    assert [urllib.parse.unquote(each) for each in read.path.split("/")] == ["", "play", part]
    assert urllib.parse.parse_qs(read.query, keep_blank_values=True) == {"of": [value]}
    assert (read.scheme, read.netloc, read.fragment) == ("", "", "")


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_begins_as_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-5, -0.5, "-5", "+1.5e3", "td", "", None, True, "a=b"])
def test_numbers_and_other_text_are_cells_as_they_are(value: object) -> None:
    assert cell(value) == value


def test_a_command_is_read_as_it_was_built() -> None:
    assert command("run", "a b/$(x).json") == "dovetail run 'a b/$(x).json'"


def test_an_origin_has_brackets_about_an_address_of_ipv6() -> None:
    assert origin("::1", 8080) == "http://[::1]:8080"
