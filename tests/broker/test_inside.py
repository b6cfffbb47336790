"""A broker with keys has a second address for its own machine, where programs need none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dovetail.broker.peers.access import Access, Grant
from dovetail.broker.peers.access_file import problem
from dovetail.broker.shell.serve import serve
from dovetail.broker.shell.server import Server
from dovetail.cli import app
from dovetail.client.client import Experiment
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.host import Host
from dovetail.peer.serving import serve_host
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail.transport.keys import WITHOUT
from dovetail_games.connect_four import ConnectFour

pytestmark = pytest.mark.processes


class Known:
    """Keys that were made for one run."""

    def __init__(self) -> None:
        self.key = keys.make()
        self.driver = keys.make(self.key.public)
        programs = Grant(keys.make().public, roles=["environment", "agent"])
        driver = Grant(self.driver.public, roles=["experiment"], uses=["programs"])
        self.access = Access({"driver": driver, "programs": programs}, inside="programs")

    def changed(self) -> Access | None:
        return None


@contextmanager
def broker(known: Known, inside: str) -> Iterator[str]:
    ready, stop = threading.Event(), threading.Event()
    address = ""

    def up(server: Server) -> None:
        nonlocal address
        address = str(server.address)
        ready.set()

    def work() -> None:
        serve("tcp://127.0.0.1:*", access=known, inside=inside, ready=up, stop=stop)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert ready.wait(20)
        yield address
    finally:
        stop.set()
        thread.join()


def test_programs_inside_need_no_key_and_play_for_the_holder_of_one(tmp_path: Path) -> None:
    known, inside = Known(), f"ipc://{tmp_path}/inside"
    with broker(known, inside) as address:
        stop = threading.Event()
        threads = []
        hosts: list[Host] = [EnvironmentHost([ConnectFour]), AgentHost([Random])]
        for host in hosts:
            up = threading.Event()

            def offer(host: Host = host, up: threading.Event = up) -> None:
                serve_host(host, inside, stop=stop, key=WITHOUT, ready=lambda _: up.set())

            threads.append(threading.Thread(target=offer))
            threads[-1].start()
            assert up.wait(20)
        try:
            with Experiment.connect(address, key=known.driver) as experiment:
                player = experiment.create("random", seed=1)
                [result] = experiment.run("connect_four", [player, player], episodes=1).wait()
                assert result.reason == "terminated"
        finally:
            stop.set()
            for each in threads:
                each.join()
        with pytest.raises(DovetailError, match="'programs' may not be an experiment"):
            Experiment.connect(inside, key=WITHOUT)
        with pytest.raises(DovetailError, match="only programs with a key"):
            Experiment.connect(address, key=WITHOUT)


def test_an_address_inside_needs_keys_and_one_of_them(tmp_path: Path) -> None:
    assert "there is no [keys.nobody]" in problem(replace_inside(Known().access, "nobody"))
    for words in (
        ["--inside", f"ipc://{tmp_path}/x"],
        ["--inside", "tcp://0.0.0.0:1", "--access", "x"],
    ):
        done = CliRunner().invoke(app, ["broker", *words])
        assert "only this machine reaches" in str(done.exception or done.output)


def replace_inside(access: Access, name: str) -> Access:
    return Access(access.keys, inside=name)
