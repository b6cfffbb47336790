"""The promises of docs/versions.md: one version everywhere, a line where contracts differ."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dovetail import __version__
from dovetail.broker.peers import limits
from dovetail.broker.peers.handshake import check
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError

pytestmark = pytest.mark.fast
TOP = Path(__file__).resolve().parents[1]


def test_everything_that_is_released_together_has_one_version() -> None:
    def read(name: str) -> str:
        return (TOP / name).read_text(encoding="utf-8")

    def found(pattern: str, name: str) -> str:
        match = re.search(pattern, read(name), re.MULTILINE)
        assert match is not None, name
        return match[1]

    space = "{http://maven.apache.org/POM/4.0.0}"
    versions = {
        "wheel": tomllib.loads(read("pyproject.toml"))["project"]["version"],
        "studies": tomllib.loads(read("studies/pyproject.toml"))["project"]["version"],
        "rust": tomllib.loads(read("clients/rust/Cargo.toml"))["package"]["version"],
        "typescript": json.loads(read("clients/typescript/package.json"))["version"],
        "typescript hello": found(
            r'"dovetail-typescript (.+?)"', "clients/typescript/src/peer/serve.ts"
        ),
        "java": ElementTree.fromstring(read("clients/java/pom.xml")).findtext(f"{space}version"),
        "java hello": found(
            r'"dovetail-java (.+?)"', "clients/java/src/main/java/dev/dovetail/Session.java"
        ),
        "cpp": found(r"VERSION (\S+) LANGUAGES", "clients/cpp/CMakeLists.txt"),
        "cpp hello": found(r'"dovetail-cpp (.+?)"', "clients/cpp/include/dovetail/session.hpp"),
        "citation": found(r"^version: (.+)$", "CITATION.cff"),
    }
    assert set(versions.values()) == {__version__}, versions


def test_a_peer_with_another_version_of_the_contract_is_told_both() -> None:
    page = (TOP / "docs/versions.md").read_text(encoding="utf-8")
    hello = m.Hello(version=m.VERSION + 1, role="agent")
    with pytest.raises(ProtocolError) as refused:
        check(hello, None, limits.Allowance())
    assert refused.value.code == "version"
    assert str(refused.value) in page
