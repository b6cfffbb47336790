"""docs/several-machines.md word for word, on two machines.

They are namespaces of this host, each with a name, a network, processes and temporary files of its
own, and a virtual link between them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.experiments.clusters import needs_ray
from tests.experiments.test_cluster import CUP, account, differences, filled, run

pytestmark = [
    needs_ray,
    *(pytest.mark.processes, pytest.mark.slow, pytest.mark.xdist_group("ray")),
    pytest.mark.timeout(1200),
]

GUIDE = Path(__file__).parents[2] / "docs" / "several-machines.md"
ADDRESSES = ("10.9.0.1", "10.9.0.2")
PATIENT = {
    **{"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"},
    "RAY_gcs_server_port_wait_time_s": "240",
}
"""Ray's settings for a busy machine."""
SCRIPTS = Path(sys.executable).parent


class Machine:
    """A machine.

    Args:
        process: the first of its processes; all others end with it.
        folder: the folder in which its programs are started.
        temporary: its folder of temporary files.
    """

    def __init__(self, process: int, folder: Path, temporary: str) -> None:
        self._enter = ["nsenter", f"--target={process}", "--net", "--mount", "--uts", "--pid"]
        self.folder = folder
        self._temporary = temporary

    def start(self, words: list[str]) -> subprocess.Popen[str]:
        """Start a program."""
        environment = {"PATH": f"{SCRIPTS}:{os.environ['PATH']}", "TMPDIR": self._temporary}
        return subprocess.Popen(
            [*self._enter, f"--wdns={self.folder}", "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **environment, **PATIENT},
        )

    def run(self, *words: str) -> str:
        """Run a program; return what it says."""
        code, said = self.tried(*words)
        assert code == 0, f"{shlex.join(words)}: {said}"
        return said

    def tried(self, *words: str) -> tuple[int, str]:
        """Run a program; return its exit code and what it says."""
        with self.start(list(words)) as program:
            said, _ = program.communicate(timeout=400)
        return program.returncode, said

    def started(self, *words: str) -> None:
        """Start a node, whose raylet has 30 s for its own start, too few on a busy machine."""
        for _ in range(3):
            if not self.tried(*words)[0]:
                return
            self.run("ray", "stop", "--force")
        self.run(*words)


@contextmanager
def machines(folder: Path) -> Iterator[list[Machine]]:
    """Two machines while a context lasts, each with a folder of its own in ``folder``."""
    if os.geteuid() or not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        pytest.skip("namespaces need root, unshare, nsenter and ip")
    with ExitStack() as stack:
        first: list[int] = []
        found = []
        folders = {name: folder / name for name in ("one", "two")}
        for own in folders.values():
            own.mkdir()
        for name, own in folders.items():
            unshare = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc"]
            hidden = [str(each) for each in folders.values() if each != own]
            orders = [f"hostname {name}", "ip link set lo up"]
            orders += [f"mount -t tmpfs none {each}" for each in ["/dev/shm", *hidden]]
            ready = " && ".join([*orders, "echo ready", "exec sleep infinity"])
            made = stack.enter_context(
                subprocess.Popen(
                    [*unshare, "sh", "-c", ready],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
            stack.callback(made.kill)
            assert made.stdout is not None
            if (said := made.stdout.readline().strip()) != "ready":
                pytest.skip(f"namespaces are not allowed here: {said}")
            children = Path(f"/proc/{made.pid}/task/{made.pid}/children").read_text().split()
            first.append(int(children[0]))
            stack.callback(os.kill, first[-1], signal.SIGKILL)
            # Ray's sockets need a short path.
            temporary = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            found.append(Machine(first[-1], own, temporary))
        links = [f"link-{process}" for process in first]
        _ip("link", "add", links[0], "type", "veth", "peer", "name", links[1])
        for machine, process, link, address in zip(found, first, links, ADDRESSES, strict=True):
            _ip("link", "set", link, "netns", str(process))
            machine.run("ip", "address", "add", f"{address}/24", "dev", link)
            machine.run("ip", "link", "set", link, "up")
        yield found


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def commands(heading: str) -> list[list[list[str]]]:
    """Return the commands of a part of the guide, by the block of code that has them."""
    text = GUIDE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    return [[shlex.split(line, comments=True) for line in b.splitlines()] for b in blocks]


def test_a_cluster_of_two_machines_plays_as_one(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs ray; `make test-ray` installs it")
    [_install, head, node], runs, *_ = commands("A Ray cluster")
    here = tmp_path / "here"
    filled(here)
    (here / "cup.toml").write_text(CUP)
    done = run(here / "cup.toml", "--in-process", "--out", str(here / "out"))
    assert done.returncode == 0, done.stderr
    with machines(tmp_path) as [one, two]:
        more = ["--num-cpus=1", "--object-store-memory=80000000", "--include-dashboard=false"]
        one.started(*head, *more)
        two.started(*node, *more[:2])
        for name in ("game.py", "helper.py", "cup.toml"):
            shutil.copy(here / name, one.folder)
        cup = next(each for each in runs if "cup.toml" in each)
        said = one.run(*cup)
        assert "on Ray: 2 nodes with 2 CPUs" in said
        placed = re.findall(r"shard \d: node (\w+) \(([\d.]+)\)", said)
        assert sorted(placed) == [("one", "10.9.0.1"), ("two", "10.9.0.2")]
        study = next(each for each in runs if "study" in each)
        said = one.run(*study, "--quick")
        assert "on Ray: 2 nodes with 2 CPUs" in said
    assert differences(account(one.folder / "out" / "cup"), account(here / "out" / "cup")) == []


def test_programs_join_from_another_machine(tmp_path: Path) -> None:
    [lab, me, broker, copy], [env], [agents, play], *_ = commands("Programs that join")
    text = CUP.replace("./game.py:Mine", "connect_four").replace("episodes = 600", "episodes = 60")
    here = tmp_path / "here"
    here.mkdir()
    (here / "FILE").write_text(text)
    done = run(here / "FILE", "--in-process", "--out", str(here / "out"))
    assert done.returncode == 0, done.stderr
    with machines(tmp_path) as [one, two], ExitStack() as stack:
        (one.folder / "FILE").write_text(text)
        one.run(*lab)
        one.run(*me)
        _ready(stack, one.start(broker))
        assert copy == ["scp", "lab.key", "lab:"]
        (one.folder / "lab.key").rename(two.folder / "lab.key")
        _ready(stack, two.start([word.replace("HOST", ADDRESSES[0]) for word in env]))
        _ready(stack, one.start(agents))
        one.run(*play)
    assert differences(account(one.folder / "out" / "cup"), account(here / "out" / "cup")) == []


def _ready(stack: ExitStack, program: subprocess.Popen[str]) -> None:
    """Wait until a program says that it is ready; end it with the context."""
    stack.enter_context(program)
    stack.callback(program.kill)
    assert program.stdout is not None
    said = next((line for line in program.stdout if " ready at " in line), "")
    assert said, "it is not ready"
