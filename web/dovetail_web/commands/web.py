"""``dovetail web``."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.broker import loopback
from dovetail.cli.common import ADDRESS, KeyFile, Token, UsageError, log_to_stderr, refusing, warn
from dovetail.protocol import outside
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys

if TYPE_CHECKING:
    from dovetail.transport.endpoint import Web

_PEERS = re.compile(r"wss?://[\w.:\[\]-]+(/[\w./-]*)?")

GAMES = ("connect_four", "amazons", "rlgame", "dots", "dominion", "tetris", "2048")
AGENTS = (
    *("random", "greedy", "mcts", "alpha-beta", "td", "amazons-player", "tetris-player"),
    *("ntuple-2048", "dots-player", "dominion-money", "dominion-big-money"),
)
STAND_INS = ("mcts",)
"""Agents of a second program, free while those of the first are thinking."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(web)


def web(
    connect: Annotated[str, typer.Option(metavar="ADDRESS", envvar="DOVETAIL_BROKER")] = ADDRESS,
    token: Token = None,
    key: KeyFile = None,
    games: bool = False,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8757,
    journal: Annotated[Path | None, typer.Option(metavar="PATH")] = None,
    store: Annotated[list[str] | None, typer.Option(metavar="OUT")] = None,
    arena: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    peers: Annotated[str | None, typer.Option(metavar="ADDRESS")] = None,
    password_file: Annotated[Path | None, typer.Option(metavar="PATH")] = None,
    name: Annotated[list[str] | None, typer.Option(metavar="HOST")] = None,
    show: Annotated[bool, typer.Option("--open/--no-open")] = True,
) -> None:
    """Watch, play and replay games in a browser, and look at results.

    Example: dovetail web --games

    Example: dovetail web --connect tcp://127.0.0.1:5757 --journal dovetail.journal

    Example: dovetail web --store out/connect_four_two_learners

    Example: dovetail web --arena arena.toml

    Args:
        connect: Where the broker is.
        games: Start a broker with all games and some agents, instead of connecting.
        host: Address to listen on.
        port: Port to listen on; 0 picks a free one.
        journal: Journal whose episodes can be replayed.
        store: Results to show: the folder of an experiment (out/NAME), a SQLite file, or the URL of
            a database; may be repeated.
        arena: Show the arena that FILE describes, at its broker and with its journal.
        peers: Let visitors write agents, which connect to the broker here (`dovetail broker
            --web`), such as wss://play.example.org.
        password_file: File with the password that visitors must give, with any name; without it,
            DOVETAIL_PASSWORD.
        name: Name under which a proxy serves the page, such as play.example.org; may be repeated.
            With a password every name is served.
        show: Open the page.
    """
    from dovetail.peer.extras import needed

    for package in ("starlette", "uvicorn", "jinja2", "websockets", "python_multipart", "resvg_py"):
        needed(package)
    if store or arena:
        needed("sqlalchemy")
    if store:
        needed("matplotlib")
        _readable(store)
    if journal is not None and not games:  # the broker of --games makes it
        _journal(journal)
    from dovetail_bridges.connection_limits import listening
    from dovetail_web.serve import serve

    log_to_stderr()
    password = _password(password_file)
    if not loopback(f"tcp://{host}:{port}") and not password:
        raise UsageError(
            f"--host {host} is reachable from other machines; give a --password-file, or listen on "
            "127.0.0.1"
        )
    if games and arena:
        raise UsageError("--games starts a broker, and --arena has one; give only one of them")
    if games and key is not None:
        raise UsageError("--games starts a broker that uses no keys; remove --key")
    if arena is not None:
        from dovetail_experiments.arena import description

        described = description.read(arena)
        where = description.folder(arena, described)
        connect, token = description.reached(described), description.token(arena, described)
        if described.keys:
            token, os.environ[keys.FILE] = None, str(where / description.OWN_KEY)
        else:
            os.environ.pop(keys.FILE, None)
        journal = journal or where / description.JOURNAL
    # uvicorn sends itself the signal that ended it once more, and that must not skip the cleanup.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if peers is not None and (arena is not None or not _PEERS.fullmatch(peers)):
        raise UsageError(
            f"--peers {peers}: expected the address of `dovetail broker --web`, such as "
            "ws://127.0.0.1:5758, and no --arena"
        )
    # First: a page that cannot be shown starts no broker, which would leave a journal.
    with contextlib.closing(listening(host, port)) as listener, contextlib.ExitStack() as stack:
        if games:
            if journal is None:
                journal = Path("dovetail.journal")
            os.environ.pop(keys.FILE, None)
            web_ = _web(host, listener.getsockname()[1])
            connect, own = stack.enter_context(started(journal, token, web_))
            peers = peers or own

        def ready(url: str) -> None:
            if store and connect == ADDRESS and arena is None:  # nothing but results was asked for
                url += "results"
            print(f"the page is at {url}", flush=True)
            if games:
                print(f"connect your own programs with: --connect {connect}", flush=True)
            if show:
                import webbrowser

                webbrowser.open(url if arena is None else f"{url}arena")

        serve(
            listener,
            connect,
            token,
            host=host,
            journal=journal,
            stores=store or (),
            arena=arena,
            peers=peers or "",
            password=password,
            names=name or (),
            showcase=games,
            ready=ready,
        )


def _readable(stores: list[str]) -> None:
    """Refuse stores that cannot be read; one that vanishes later is an error on the page."""
    from dovetail_experiments.records.records import Records

    for each in stores:
        with refusing("--store"):
            Records(each, check=False).close()


def _journal(journal: Path) -> None:
    """Refuse a file that is not a journal; one that vanishes later is an error on the page."""
    from dovetail.protocol.journal import entries

    if not journal.exists():
        raise UsageError(f"--journal: {journal} does not exist; `dovetail broker` writes it")
    with refusing("--journal"):
        next(entries(journal), None)


def _password(file: Path | None) -> str | None:
    """Return the password from a file or DOVETAIL_PASSWORD; `ps` would show an argument."""
    if file is None:
        return os.environ.get("DOVETAIL_PASSWORD") or None
    try:
        found = outside.text(file, outside.SHORT).strip()
    except (OSError, UnicodeDecodeError, DovetailError) as error:
        raise UsageError(f"--password-file: cannot read {file}: {error}") from None
    if not found or len(found.splitlines()) > 1:
        raise UsageError(f"--password-file: {file} has no single line; expected the password alone")
    return found


def _web(host: str, port: int) -> Web | None:
    """Return the address for visitors' agents; None if visitors are on other machines."""
    from dovetail.transport import VARIABLE
    from dovetail.transport.endpoint import Web
    from dovetail_experiments.quoting import origin

    if not loopback(f"tcp://{host}:{port}") or os.environ.get(VARIABLE) == "libzmq":
        return None
    names = ("127.0.0.1", "localhost", "::1")
    return Web("127.0.0.1:0", tuple(origin(each, port) for each in names))


@contextlib.contextmanager
def started(journal: Path, token: str | None, web: Web | None = None) -> Iterator[tuple[str, str]]:
    """Run a broker, the games and some agents; yield the broker's addresses for programs and
    browsers."""
    from dovetail.broker.core.core import Settings
    from dovetail.broker.durable.journal import Journal
    from dovetail.broker.shell.serve import in_thread

    found: list[str] = []
    broker = in_thread(
        "tcp://127.0.0.1:*",
        settings=Settings(token=token),
        journal=Journal(journal),
        web=web,
        ready=lambda server: found.append(server.web_address),
    )
    with broker as address, _programs(address, token):
        yield address, found[0]


@contextlib.contextmanager
def _programs(address: str, token: str | None) -> Iterator[None]:
    """Run the games and agents."""
    from dovetail.transport.process_owner import Owner
    from dovetail_experiments.child_processes import ends_with_this

    programs, owner = [], Owner()
    try:
        for kind, names in (("env", GAMES), ("agent", AGENTS), ("agent", STAND_INS)):
            line = [sys.executable, "-m", "dovetail", kind, *names, "--connect", address]
            env = os.environ if token is None else {**os.environ, "DOVETAIL_TOKEN": token}
            programs.append(
                subprocess.Popen(
                    line, env=env, stdout=subprocess.DEVNULL, preexec_fn=ends_with_this()
                )
            )
        yield
    finally:
        mine = programs if owner.here else []
        for program in mine:
            program.terminate()
        for program in mine:
            try:
                program.wait(5)
            except subprocess.TimeoutExpired:
                warn(f"process {program.pid} does not stop; killing it")
                program.kill()
