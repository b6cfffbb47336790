"""``dovetail broker``."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import common
from dovetail.cli.group import add_command
from dovetail.peer.address import AGENTS, BROKER, ENVIRONMENTS

if TYPE_CHECKING:
    from dovetail.peer.host import Host
    from dovetail.transport.endpoint import Web


class Sync(StrEnum):
    """When the journal is synced to the device."""

    none = "none"
    batch = "batch"
    always = "always"


def add(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, Options, broker)


@dataclass(frozen=True)
class Options:
    """The options of ``dovetail broker``.

    Args:
        bind: Address to listen on; * as the port picks a free one.
        journal: File to record episodes in; `none` for no journal.
        sync: When to force the journal to the device, against a power failure: none leaves it to
            the system, batch loses a second at most, always loses nothing and is slow.
        durable: Continue the runs in progress if the broker is killed and started again with the
            same journal.
        access: Encrypt, and admit only the keys in this file (`dovetail keys make`), each for what
            the file says; the file is read again when it changes.
        inside: With --access: a second address, a Unix socket or a loopback port, for programs of
            this machine, which need no key there: they count as the key that the file calls
            `inside`.
        insecure: Listen beyond this machine without keys, unencrypted: only in a network that you
            trust.
        web: Also listen here for programs in a browser (WebSocket, unencrypted), such as
            127.0.0.1:5758.
        web_origin: With --web: pages that may connect, such as https://play.example.org; may be
            repeated.
        heartbeat: Time between pings.
        peer_timeout: Disconnect an idle peer after this much silence.
        grace: How long to keep a lost peer's seats.
        finish: How long episodes in progress may continue when the broker stops.
        env: Host an environment inside the broker's process, which is faster; may be repeated.
        agent: Host an agent type inside the broker's process, for agents that answer at once; may
            be repeated.
        set_agent: Set an option of the one agent that --agent names; may be repeated.
    """

    bind: Annotated[str, typer.Option(metavar="ADDRESS", envvar=BROKER)] = common.ADDRESS
    journal: Annotated[str, typer.Option(metavar="PATH")] = "dovetail.journal"
    sync: Sync = Sync.none
    durable: bool = True
    token: common.Token = None
    access: Annotated[Path | None, typer.Option(metavar="PATH")] = None
    inside: Annotated[str, typer.Option(metavar="ADDRESS")] = ""
    insecure: bool = False
    web: Annotated[str | None, typer.Option(metavar="HOST:PORT")] = None
    web_origin: Annotated[list[str] | None, typer.Option(metavar="ORIGIN")] = None
    heartbeat: Annotated[float, typer.Option(min=0.05, metavar="SECONDS")] = 1.0
    peer_timeout: Annotated[float, typer.Option(min=0.1, metavar="SECONDS")] = 30.0
    grace: Annotated[float, typer.Option(min=0.0, metavar="SECONDS")] = 10.0
    finish: Annotated[float, typer.Option(min=0.0, metavar="SECONDS")] = 3.0
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME", autocompletion=common.complete_environment)
    ] = None
    agent: Annotated[
        list[str] | None, typer.Option(metavar="NAME", autocompletion=common.complete_agent)
    ] = None
    set_: common.Set = None
    set_agent: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None
    register_: common.Register = None

    def checked(self) -> Web | None:
        """Refuse to listen beyond this machine unencrypted; return where browsers connect.

        Raises:
            DovetailError: the text names the address, or what is not an origin.
        """
        if self.inside and (self.access is None or not loopback(self.inside)):
            raise common.UsageError(
                f"--inside {self.inside}: expected --access, and an address that only this machine "
                "reaches, such as ipc:///run/user/1000/broker"
            )
        said = f" ({BROKER} says so)" if self.bind == os.environ.get(BROKER) else ""
        if self.access is None and not (self.insecure or loopback(self.bind)):
            raise common.UsageError(
                f"other machines reach {self.bind}{said}, and nothing is encrypted; give --access "
                "for keys (see `dovetail keys make`), or use tcp://127.0.0.1 with a tunnel such as "
                "`ssh -L`, or give --insecure in a network that you trust"
            )
        if self.web is None:
            if self.web_origin:
                raise common.UsageError(
                    "--web-origin names pages for --web; give --web HOST:PORT as well"
                )
            return None
        from dovetail.peer.extras import needed
        from dovetail.transport.endpoint import Web

        if not (self.insecure or loopback(f"tcp://{self.web}")):
            raise common.UsageError(
                f"other machines reach {self.web}, and nothing there is encrypted; use 127.0.0.1 "
                "behind a proxy with TLS (see docs/browser.md), or give --insecure in a network "
                "that you trust"
            )
        needed("websockets")
        return Web(self.web, tuple(self.web_origin or ()))

    def hosts(self) -> dict[str, Host]:
        """Return the hosts inside the broker's process, by name."""
        environments, agents = self.env or [], self.agent or []
        given, told = common.settings(self.set_), common.settings(self.set_agent, "--set-agent")
        if given and len(environments) != 1:
            raise common.UsageError(
                "--set sets options of one environment; name just one with --env"
            )
        if told and len(agents) != 1:
            raise common.UsageError(
                "--set-agent sets options of one agent; name just one with --agent"
            )
        common.register(self.register_)
        hosts: dict[str, Host] = {}
        if environments:
            from dovetail.peer.environments.host import EnvironmentHost

            hosts[ENVIRONMENTS] = EnvironmentHost(
                [common.served("environment", each, given) for each in environments]
            )
        if agents:
            from dovetail.peer.agents.host import AgentHost

            hosts[AGENTS] = AgentHost([common.served("agent", each, told) for each in agents])
        return hosts


def broker(options: Options) -> None:
    """Run the broker that environments, agents and experiments connect to.

    The first Ctrl-C stops it gracefully, the second immediately. --set sets options of the one
    environment that --env names.

    Example: dovetail broker --journal games.journal

    Example: dovetail broker --env connect_four --agent random

    Example: dovetail broker --bind 'tcp://*:5757' --access access.toml

    Example: dovetail broker --web 127.0.0.1:5758 --web-origin http://127.0.0.1:8000
    """
    web = options.checked()
    hosts = options.hosts()
    from dovetail.broker.core.core import Settings
    from dovetail.broker.durable.journal import Journal
    from dovetail.broker.peers.access_file import AccessFile
    from dovetail.broker.shell.serve import serve
    from dovetail.broker.shell.server import Server

    common.log_to_stderr()
    bind, access = options.bind, options.access
    if options.token is None and access is None and not loopback(bind):
        common.warn(
            f"anyone who reaches {bind} may use this broker; give --token-file to restrict access"
        )

    def ready(server: Server) -> None:
        print(f"broker ready at {server.address}", flush=True)
        if server.web_address:
            print(f"web ready at {server.web_address}", flush=True)

    keys = None if access is None else AccessFile(access)
    if keys is not None and bool(options.inside) != bool(keys.access.inside):
        raise common.UsageError(
            f"--inside ADDRESS and `inside = NAME` in {access} belong together; give both or none"
        )
    journal = partial(Journal, Path(options.journal), sync=options.sync.value)
    serve(
        bind,
        settings=Settings(
            token=options.token,
            heartbeat=options.heartbeat,
            peer_timeout=options.peer_timeout,
            grace=options.grace,
        ),
        journal=None if options.journal == "none" else journal,
        durable=options.durable,
        finish=options.finish,
        ready=ready,
        hosts=hosts,
        access=keys,
        inside=options.inside,
        web=web,
    )


def loopback(address: str) -> bool:
    """Return whether only programs on this machine can reach an address.

    Raises:
        DovetailError: it is not an address.
    """
    from dovetail.transport.endpoint import parse

    found = parse(address, listen=True)
    if found.path or found.host in ("localhost", "lo"):
        return True
    try:
        return ipaddress.ip_address(found.host).is_loopback
    except ValueError:
        return False
