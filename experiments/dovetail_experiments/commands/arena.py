"""``dovetail arena``: a standing competition."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli import common
from dovetail.cli.broker import loopback
from dovetail.cli.group import CommandGroup, group
from dovetail.cli.standard_streams import reserved
from dovetail.peer.quoting import command
from dovetail.peer.stop_event import StopEvent, on_signals
from dovetail.protocol.display_text import line
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dovetail_experiments.arena.description import Arena
    from dovetail_experiments.arena.hosted import SubmittedAgents
    from dovetail_experiments.arena.standings import LadderTable
    from dovetail_experiments.arena.store import ArenaStore
    from dovetail_experiments.commands.arena_keys import Entrance, Tokens
    from dovetail_experiments.engines.engine import ClusterEngine
    from dovetail_experiments.files.shipping import Shipping


class _Group(CommandGroup):
    """``dovetail arena FILE`` is short for ``dovetail arena run FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


File = Annotated[
    Path,
    typer.Option(
        "--file", "-f", metavar="FILE", envvar="DOVETAIL_ARENA", help="The arena's description."
    ),
]
FILE = Path("arena.toml")
Who = Annotated[
    str,
    typer.Argument(
        metavar="WHO", help="An entrant, one program as ENTRANT/PROGRAM, or a baseline as /NAME."
    ),
]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, shown on the pages.")]


def add(app: typer.Typer) -> None:
    """Add the commands."""
    arena = group(
        _Group,
        name="arena",
        help="Run and operate a standing competition.\n\n"
        "`dovetail arena FILE` runs the arena that FILE describes; the other commands are for its "
        "operator and work whether or not it runs.",
    )
    for each in (run, invite, standings, pause, resume, ban, note, final, season, log, export):
        arena.command()(each)
    arena.command("import")(import_)
    arena.command("sign-in")(sign_in)
    app.add_typer(arena)


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    on: Annotated[str | None, typer.Option(metavar="ENGINE")] = None,
) -> None:
    """Run an arena until Ctrl-C; when restarted, even after kill -9, it continues where it was.

    Example: dovetail arena arena.toml

    Args:
        file: The arena's description, in TOML.
        on: Place each game and baseline on a node of a cluster: `ray` for the one of this machine,
            or ray:HOST:PORT.
    """
    from dovetail.broker.core.core import Settings
    from dovetail.broker.durable.append_file import InUse
    from dovetail.broker.durable.journal import Journal
    from dovetail.broker.shell.serve import in_thread
    from dovetail.client.client import Experiment
    from dovetail_experiments.arena.description import JOURNAL, OWN_KEY, SOCKET, check, folder
    from dovetail_experiments.arena.programs import Programs
    from dovetail_experiments.arena.referee import Referee
    from dovetail_experiments.commands.arena_keys import Entrance, Tokens
    from dovetail_experiments.stages.scratch import Scratch

    arena = _read(file)
    if not (arena.keys or arena.insecure or loopback(arena.bind)):
        raise common.UsageError(
            f"other machines reach {arena.bind}, and nothing is encrypted; set `keys = true`, or "
            "bind tcp://127.0.0.1 and use a tunnel such as `ssh -L`, or set `insecure = true` in a "
            "network that you trust"
        )
    if on is not None and not arena.keys:
        raise common.UsageError(
            f"--on {on}: programs on other machines need keys; set `keys = true`"
        )
    check(file, arena)
    common.log_to_stderr()
    where = folder(file, arena)
    os.umask(0o077)  # the operator's files: games, and the output of entrants' programs
    _for_owner(where)
    try:
        journal = Journal(where / JOURNAL)
    except InUse as error:
        raise DovetailError(
            f"the arena {arena.name} is already running: another process uses {error.path}; stop "
            f"that one first, or set another `folder` in a copy of {file}"
        ) from None
    token = _token(file, arena)
    stop = _stopped()
    with contextlib.ExitStack() as leaving, _store(file, arena, create=True, by="arena") as store:
        entrance = Entrance(where, store) if arena.keys else None
        if entrance is None:
            own, key, settings = token, keys.WITHOUT, Settings(token=token)
            shipping = None
            programs = Programs(arena, where, token)
        else:
            own, key, settings = None, keys.read(where / OWN_KEY), Settings()
            programs = Programs(arena, where, where / OWN_KEY, entrance.key.public)
            shipping = None if on is None else programs.shipping(file.parent)
            entrance.let_in(programs.known, programs.environments)

        tokens = None if entrance else Tokens(store, programs.known)
        scratch = Scratch()
        leaving.callback(scratch.remove)
        broker = in_thread(
            arena.bind,
            settings=settings,
            journal=journal,
            finish=0.0,
            also="" if arena.submissions is None else f"ipc://{scratch.path}/{SOCKET}",
            origins=True,
            returns=True,
            entrant=None if tokens is None else tokens.entrant,
            revoked=None if tokens is None else tokens.revoked,
            access=entrance,
        )
        with (
            broker as address,
            contextlib.nullcontext() if on is None else _cluster(on, shipping) as cluster,
            programs.running(arena.address if cluster and arena.address else address, cluster),
            Experiment.connect(
                address, name=f"arena-{secrets.token_hex(4)}", token=own, key=key
            ) as experiment,
            _hosted(arena, store, where, address, scratch.path, entrance, tokens) as hosted,
        ):
            referee = Referee(arena, store, experiment)
            print(f"arena {arena.name} ready at {address}", flush=True)
            while not stop.is_set():
                programs.tend()
                if hosted is not None:
                    hosted.tend()
                referee.step()
            store.absent()


def _cluster(
    on: str, shipping: Shipping | None
) -> contextlib.AbstractContextManager[ClusterEngine]:
    """Open the cluster that runs an arena's programs."""
    from dovetail_experiments.engines.engine import engine
    from dovetail_experiments.engines.nodes import Outfit, versions

    files = {} if shipping is None else shipping.files()
    return engine(on, Outfit(versions(), files, identity=f"arena-{os.getpid()}"))


def invite(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    public: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    file: File = FILE,
) -> None:
    """Create an entrant's access token or key, and print the commands with which its agents
    connect.

    If the name was invited before, its old token or key is revoked.

    Example: dovetail arena invite alice

    Example: dovetail arena invite alice --public 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7'

    Args:
        name: Name of the entrant in the tables.
        public: In an arena with keys: admit this public key, which the entrant made with `dovetail
            keys make`.
    """
    from dovetail_experiments.arena.description import NAME, folder

    if not NAME.fullmatch(name):
        raise common.UsageError(
            f"{name!r} is not a name; use up to 40 letters, digits, '_', '-' or '.'"
        )
    if public is not None and (wrong := keys.problem(public)):
        raise common.UsageError(wrong)
    arena = _read(file)
    to = f"export DOVETAIL_BROKER={arena.address or arena.bind}"
    with _store(file, arena, create=True) as store:
        if not arena.keys:
            if public is not None:
                raise common.UsageError(
                    f"--public needs an arena with keys; set `keys = true` in {file}"
                )
            print(f"{to} DOVETAIL_TOKEN={store.invite(name)}")
            return
        from dovetail_experiments.commands.arena_keys import server_key

        server = server_key(folder(file, arena)).public
        if public is not None:
            store.admit(name, public)
            print(f"{to} DOVETAIL_SERVER_KEY='{server}'")
            return
        key = keys.make(server)
        store.admit(name, key.public)
    # Keys (Z85) contain no character that ends a quoted word in a shell.
    parts = f"'public = \"{key.public}\"' 'secret = \"{key.secret}\"' 'server = \"{server}\"'"
    path = f'"$PWD/{name}.key"'
    print(f"(umask 077; rm -f {path}; printf '%s\\n' {parts} > {path}); {to} DOVETAIL_KEY={path}")


def standings(
    file: File = FILE,
    ladder: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    season: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    json: bool = False,
) -> None:
    """Print the table of each ladder.

    Example: dovetail arena standings --json

    Args:
        ladder: Only this ladder.
        season: An earlier season.
        json: Print JSON.
    """
    import msgspec

    from dovetail_experiments.arena.standings import standings as found_in

    arena = _read(file)
    ladders = arena.ladders if ladder is None else [arena.ladder(ladder)]
    found: dict[str, Any] = {}
    with _store(file, arena) as store:
        seasons = {each.name: each.number for each in store.seasons()}
        chosen = season or list(seasons)[-1]
        if chosen not in seasons:
            raise common.UsageError(
                f"there is no season {chosen!r}; there are {', '.join(seasons)}"
            )
        for each in ladders:
            found[each.name] = found_in(store, each, seasons[chosen], arena.seed)
    if json:
        with reserved() as out:
            print(msgspec.json.encode({"season": chosen, "ladders": found}).decode(), file=out)
        return
    for each in ladders:
        title = f"{each.name}, season {chosen}"
        common.show(*_shown(title, found[each.name]))


def _shown(title: str, table: LadderTable) -> list[Any]:
    from rich.markup import escape
    from rich.table import Table as Shown

    from dovetail_experiments.arena.standings import elo

    shown = Shown(title=escape(title), title_justify="left", title_style="bold")
    for column in ("", "player", "Elo", "points", "matches", "won", "drawn", "lost", "faults", ""):
        shown.add_column(column, justify="left" if column in ("player", "") else "right")
    for number, row in enumerate(table.rows, 1):
        playing = "baseline" if row.baseline else ""
        state = playing if row.state == "active" else row.state
        cells = (
            *(str(number), row.name, elo(row), f"{row.points:.3f}" if row.units else "", row.units),
            *(row.wins, row.draws, row.losses, row.faults, state),
        )
        shown.add_row(*(escape(str(each)) for each in cells))
    repeats = table.played - table.units
    caption = f"{table.units} matches count; Elo around {table.zero} with 95 % intervals"
    if repeats:
        caption += f"; left out, since they repeat games of others: {repeats}"
    if table.warning:
        caption += f"; {table.warning}"
    return [shown, caption]


def pause(who: Who, why: Why = "", file: File = FILE) -> None:
    """Stop pairing an entrant or program; a game in progress is finished.

    Example: dovetail arena pause alice/greedy --why "restarts too often"
    """
    _mark(file, who, "paused", why)


def resume(who: Who, file: File = FILE) -> None:
    """Resume pairing an entrant or program that was paused or banned.

    Example: dovetail arena resume alice/greedy
    """
    _mark(file, who, "active", "")


def ban(who: Who, why: Why = "", file: File = FILE) -> None:
    """Stop pairing an entrant or program, and revoke a banned entrant's access token.

    Example: dovetail arena ban mallory --why "plays two games at once"
    """
    _mark(file, who, "banned", why)


def _mark(file: Path, who: str, state: Any, why: str) -> None:
    with _store(file, _read(file)) as store:
        store.mark(who, state, why)


def note(
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    about: Annotated[str, typer.Option(metavar="WHO")] = "",
    file: File = FILE,
) -> None:
    """Add a note to the arena's log.

    Example: dovetail arena note "power failure in room 12" --about alice

    Args:
        about: The entrant or program concerned.
    """
    with _store(file, _read(file)) as store:
        store.note(about, text)


def final(
    rounds: Annotated[int, typer.Option(min=1, metavar="TIMES")] = 1, file: File = FILE
) -> None:
    """End the season with a round robin of all agents that have played in it and are not paused.

    No other units start. Units of an agent that is away wait for it; pause it to drop them. Once
    all are played, the season is over and its tables are kept. `dovetail arena season` starts
    another one.

    Example: dovetail arena final --rounds 2

    Args:
        rounds: Number of times each pair of agents meets.
    """
    arena = _read(file)
    with _store(file, arena) as store:
        for name, units in store.final(arena.seed, arena.sizes, rounds).items():
            print(f"{name}: {units} units")


def season(name: Annotated[str, typer.Argument(metavar="NAME")], file: File = FILE) -> None:
    """End the season, keep its tables, and start a new one with new ratings.

    Example: dovetail arena season 2027

    Args:
        name: Name of the new season.
    """
    with _store(file, _read(file)) as store:
        store.season(name)


def log(file: File = FILE, last: Annotated[int, typer.Option(min=1, metavar="LINES")] = 50) -> None:
    """Print invitations, arrivals, pauses, bans and notes, with their reasons.

    Example: dovetail arena log --last 10

    Args:
        last: Number of lines.
    """
    with _store(file, _read(file)) as store:
        for each in store.log(last):
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.at))
            by = f"({each.by})" if each.by else ""
            print(line(" ".join(filter(None, [when, each.what, each.about, each.text, by]))))


def export(archive: Annotated[Path, typer.Argument(metavar="ARCHIVE")], file: File = FILE) -> None:
    """Export everything to a single archive; the arena may be running.

    Example: dovetail arena export course.zip

    Args:
        archive: The file to write.
    """
    from dovetail_experiments.arena import archive as archives

    archives.export(file, _read(file), archive)


def import_(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE")],
    target: Annotated[Path, typer.Argument(metavar="FOLDER")],
) -> None:
    """Create an arena from an archive.

    Example: dovetail arena import course.zip course

    Args:
        archive: An archive written by `export`.
        target: A new or empty folder.
    """
    from dovetail_experiments.arena import archive as archives

    print(f"run it with: {command('arena', archives.restore(archive, target))}")


def sign_in(
    code: Annotated[str, typer.Argument(metavar="CODE")],
    connect: common.Connect = common.ADDRESS,
    token: common.Token = None,
    key: common.KeyFile = None,
) -> None:
    """Sign in on the arena's page with your key, which stays on this machine.

    It reads the same environment variables as your agents. Press Ctrl-C once you are signed in.

    Example: dovetail arena sign-in 3f9c01d2ab74e655

    Args:
        code: The code shown on the arena's page.
    """
    from dovetail_experiments.arena import sign_in as signing

    stop = _stopped()
    signing.show(
        code,
        connect,
        token,
        stop,
        lambda: print(
            f"connected to {connect}; press the button on the page, then Ctrl-C here", flush=True
        ),
    )


# -- parts ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _hosted(
    arena: Arena,
    store: ArenaStore,
    where: Path,
    address: str,
    scratch: Path,
    entrance: Entrance | None,
    tokens: Tokens | None,
) -> Iterator[SubmittedAgents | None]:
    """Run submitted agents while a context lasts; yield None if submissions are disabled."""
    from dovetail_experiments.arena.description import SOCKET
    from dovetail_experiments.arena.hosted import LOGS, SubmittedAgents
    from dovetail_experiments.arena.sandbox import Sandbox
    from dovetail_experiments.stages.processes import Processes

    if arena.submissions is None:
        yield None
        return
    sandbox = Sandbox(arena.submissions, where)
    print(f"submitted agents are confined by {sandbox.shown}", flush=True)
    with Processes(address=address, logs=where / LOGS) as processes:
        hosted = SubmittedAgents(
            store,
            arena.submissions,
            sandbox,
            processes,
            scratch / "code",
            scratch / SOCKET,
            "" if entrance is None else entrance.key.public,
            None if entrance is None else entrance.admit,
        )
        if tokens is not None:
            tokens.let_in(hosted.known)
        yield hosted


def _stopped() -> threading.Event:
    """Return an event that the first SIGINT or SIGTERM sets; a second one interrupts."""
    stop = StopEvent()
    on_signals(stop)
    return stop


def _for_owner(where: Path) -> None:
    """Restrict files that an earlier version left readable to their owner."""
    for name in ("journal*", "logs", "keys", "logs/*"):
        for each in where.glob(name):
            each.chmod(0o700 if each.is_dir() else 0o600)


def _read(file: Path) -> Arena:
    from dovetail.peer.extras import needed
    from dovetail_experiments.arena.description import read

    needed("sqlalchemy")
    return read(file)


def _store(file: Path, arena: Arena, *, create: bool = False, by: str = "command") -> ArenaStore:
    from dovetail_experiments.arena.description import folder
    from dovetail_experiments.arena.store import FILE, ArenaStore

    return ArenaStore(folder(file, arena) / FILE, create=create, by=by)


def _token(file: Path, arena: Arena) -> str:
    """Return the broker's own access token, for environments and pages; it never changes."""
    from dovetail_experiments.arena.description import TOKEN, folder, token

    path = folder(file, arena) / TOKEN
    with contextlib.suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with keys.private(path) as out:
            out.write(secrets.token_hex(24).encode())
    return token(file, arena)
