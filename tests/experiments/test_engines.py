"""Engines without a cluster: what they need, and what is said if it is not there."""

from __future__ import annotations

import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.engines import engine, nodes
from dovetail_experiments.engines.hosts import HostLost
from dovetail_experiments.engines.nodes import Outfit
from dovetail_experiments.engines.ray import RayHost
from dovetail_experiments.engines.station import _port
from dovetail_experiments.stages.processes import EndCause, ProgramEnd

EVERYTHING = """
import sys
import dovetail_experiments.commands.arena, dovetail_experiments.commands.experiments
import dovetail_experiments.stages.trials, dovetail_studies.working
assert not {"ray", "dovetail_experiments.engines.ray"} & {*sys.modules}
"""
WATCH = """
import socket, time
from dovetail_experiments.engines import ray
ray.WATCH, ray.REFUSED, ray.ORPHANED = 0.05, 0.2, 0.4
head = socket.create_server(("127.0.0.1", 0))
with ray._watched("127.0.0.1:%d" % head.getsockname()[1]):
    time.sleep(1.0)
    print("there", flush=True)
    head.close()
    time.sleep(60)
"""
WORKER = WATCH.replace("with ray._watched(", "if not ray._end_with_head(")


def test_ray_is_not_imported_without_on() -> None:
    subprocess.run([sys.executable, "-c", EVERYTHING], check=True)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(DovetailError, match=r"pip install 'dovetail\[ray\]'"),
        engine.engine("ray:127.0.0.1:1", Outfit({})),
    ):
        pass


@pytest.mark.parametrize(("on", "complaint"), [
    ("slurm", "there is no engine 'slurm'; there is ray"),
    ("ray://127.0.0.2:1", "run this command on a machine of the cluster, with --on ray"),
    ("ray:somewhere", "expected ray or ray:HOST:PORT"),
])  # fmt: skip
def test_an_engine_that_there_is_not(on: str, complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        engine.engine(on, Outfit({}))
    assert complaint in str(caught.value)


def test_a_node_with_other_software_says_so() -> None:
    with pytest.raises(DovetailError) as caught:
        nodes.fit_out(Outfit({**nodes.versions(), "Dovetail": "0.0.1"}))
    here = nodes.versions()["Dovetail"]
    assert str(caught.value) == (
        f"node {nodes.node()}: it has Dovetail {here}, and this machine Dovetail 0.0.1; install "
        "the same"
    )


def test_ports_that_are_taken_are_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DovetailError, match=f"no port of {port}-{port} is free at 127.0.0.1"):
            _port("127.0.0.1", (port, port))


def test_a_head_that_is_gone_ends_the_command_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == "there\n"
    [line] = done.stderr.splitlines()
    assert line.startswith("dovetail: the head of the Ray cluster at 127.0.0.1:")
    assert "--resume" in line


class Answering:
    """Ray with one actor, whose programs have ended."""

    def __init__(self, ended: dict[str, ProgramEnd]) -> None:
        begun = SimpleNamespace(remote=lambda: ("", "", "a", "tcp://127.0.0.1:1", {"agent": 1}))
        answer = SimpleNamespace(remote=lambda: msgspec.msgpack.encode(ended))
        self.actor = SimpleNamespace(begun=begun, ended=answer)
        self.exceptions = SimpleNamespace(
            GetTimeoutError=TimeoutError, RayTaskError=KeyError, RayError=LookupError
        )

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return references, []

    def get(self, reference: Any, timeout: float | None = None) -> Any:
        return reference


@pytest.mark.parametrize(("cause", "error"), [
    (EndCause.EXIT, DovetailError),
    (EndCause.SIGNAL, HostLost),
])  # fmt: skip
def test_a_program_that_fails_by_itself_loses_no_host(
    cause: EndCause, error: type[DovetailError]
) -> None:
    reason = "the process of agent ended with code 3: a worker was ended by SIGKILL"
    ray = Answering({"agent": ProgramEnd(cause, reason, "agent.log")})
    host = RayHost(ray, ray.actor)
    assert host.ready(0.0)
    with pytest.raises(DovetailError) as caught:
        host.check()
    assert type(caught.value) is error
    assert str(caught.value) == f"{reason} (on node a)"


def test_a_worker_ends_soon_after_the_head() -> None:
    """Ray ends it only after a minute, with programs that nobody needs."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "there\n", "")
