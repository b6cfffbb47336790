"""The guides, as their reader follows them: from the wheel, in an empty folder.

The tutorial word for word, and a command of each kind that the other guides have.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.experiments.arena.programs import port, until
from tests.test_docs import TEXTS, command_lines, resolved, words_of

TOP = Path(__file__).resolve().parents[1]
TEXT = (TOP / "docs/tutorial.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"Save\s+this\s+as\s+`(?P<name>[\w.]+)`[^`]*```\w+\n(?P<file>.*?)^```$"
    r"|^```sh(?P<mark>[ \w-]*)\n(?P<shell>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment that has the wheel, and borrows its libraries.

    `make release` names one that has its own.
    """
    if found := os.environ.get("TRY_INSTALLED"):
        return Path(found)
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(TOP)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    programs = folder / "venv/bin"
    place = ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(
        [programs / "python", *place], check=True, capture_output=True, text=True
    ).stdout.strip()
    (Path(packages) / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)
    return programs


class Reader:
    """Types what the page says, in its order."""

    def __init__(self, folder: Path, programs: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.terminals: list[subprocess.Popen[bytes]] = []
        kept = {name: each for name, each in os.environ.items() if not name.startswith("DOVETAIL")}
        self.env = kept | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "DOVETAIL_BROKER": f"tcp://127.0.0.1:{port()}",
            "DOVETAIL_SECRET": "none",
            "HOME": str(folder / "home"),
        }
        self.page = f"http://127.0.0.1:{port()}/"

    def run(self, command: str) -> str:
        """Return what a command printed."""
        done = subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, command: str) -> None:
        """Start a command in a terminal of its own; return when it says that it is ready."""
        words = command.replace("dovetail web", f"dovetail web --no-open --port {self.page[17:-1]}")
        log = self.folder / f"terminal-{len(self.terminals)}.log"
        with log.open("wb") as said:
            one = subprocess.Popen(
                ["bash", "-ec", words], cwd=self.folder, env=self.env, stdout=said,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.terminals.append(one)
        self.stack.callback(self._end, one)
        said_so = re.compile(r"ready at|listening|http://")
        until(lambda: one.poll() is not None or said_so.search(log.read_text()), 60)
        assert one.poll() is None, f"{command}{log.read_text()}"

    def stop(self) -> None:
        """Press Ctrl-C in all terminals, the last one first."""
        while self.terminals:
            self._end(self.terminals.pop())

    @staticmethod
    def _end(one: subprocess.Popen[bytes]) -> None:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGINT)
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(one.pid, signal.SIGKILL)
                one.wait()


@contextmanager
def reader(folder: Path, programs: Path) -> Iterator[Reader]:
    with ExitStack() as stack:
        yield Reader(folder, programs, stack)


@pytest.mark.slow
def test_a_reader_who_follows_the_tutorial_comes_to_its_end(
    tmp_path: Path, installed: Path
) -> None:
    printed = {}
    with reader(tmp_path, installed) as one:
        where = one.run("python -c 'import dovetail; print(dovetail.__file__)'")
        assert str(TOP) not in where
        for step in STEP.finditer(TEXT):
            if step["name"] == "arena.toml":
                with urllib.request.urlopen(f"{one.page}play/connect_four") as answer:
                    assert b"champion" in answer.read()
                one.stop()
                one.env["DOVETAIL_ARENA"] = "arena.toml"
            if step["name"]:
                text = step["file"]
                if step["name"] == "arena.toml":
                    text = f'bind = "tcp://127.0.0.1:{port()}"\n{text}'
                (tmp_path / step["name"]).write_text(text)
            elif step["mark"].strip() == "terminal":
                one.start(step["shell"])
            elif not step["mark"].strip():
                command = step["shell"].strip()
                if command == "dovetail arena standings":
                    until(lambda: "ada/champion" in one.run("dovetail arena standings"), 60)
                printed[command] = one.run(command)
    assert (
        "5 of 5 checks passed"
        in printed["dovetail check agent learner.py:Lines --env connect_four"]
    )
    assert (tmp_path / "out/course/report.html").exists()
    assert "ada/champion" in printed["dovetail arena standings"]
    scores = re.findall(
        r"against random after [\d,]+: .*?lines \(seat 0\) wins ([\d.]+)%",
        printed["dovetail run course.toml"],
    )
    assert float(scores[-1]) > float(scores[0])


FILES = {
    "nim.py": ("docs/environments.md", "class Nim("),
    "mine.py": ("docs/agents.md", "class Learner("),
    "learners.toml": ("docs/experiments.md", 'name = "learners"'),
    "mine.toml": ("docs/clients.md", 'name = "mine"'),
    "heap.py": ("docs/registered-names.md", "def whole_heap("),
}
"""Files of the guides: the page, and a text in the block that is saved."""
GUIDES = """
$ cp CHECKOUT/tests/conform/conformer.py conformer.py
$ unset DOVETAIL_BROKER; dovetail list
$ unset DOVETAIL_BROKER; dovetail list connect_four
$ dovetail agent q-learning --help
$ dovetail agent language-model --options
$ dovetail check env nim.py:Nim --set heap=12
$ dovetail check agent mine.py:Learner --env nim.py:Nim
$ dovetail run learners.toml --in-process --set phases.0.episodes=64 --set phases.0.evaluate_every=32 --set phases.0.save_every=32 --set evaluations.0.episodes=32
$ dovetail run connect_four_cup --in-process --set phases.0.episodes=20 --set tournaments.0.episodes=4 --set tournaments.1.episodes=4
$ sed 's/^command.*//; s/my-agent/greedy/' mine.toml > connected.toml
$ dovetail run connected.toml --set tournaments.0.episodes=4 --shards 2 --track tensorboard
$ dovetail report out/learners
$ dovetail report out/connect_four_cup --exact 2
$ dovetail results out/learners
$ dovetail results out/learners --by agent,trained --where kind=evaluation
$ dovetail results out/learners --table measures --format csv
$ dovetail export out/learners results.csv
$ dovetail export out/learners results.parquet
$ dovetail export out/learners errors.jsonl --table measures --where name=td_error
$ dovetail export out/learners games.txt
$ dovetail export out/learners shards/
$ dovetail tensorboard out/learners runs
$ MINARI_DATASETS_PATH=$PWD/minari dovetail dataset out/learners connect-four/td-v0 --agent first
$ dovetail states list out/learners
$ dovetail states take out/learners:first first.state
$ echo q | dovetail play connect_four --against td-batch --state first.state
$ echo q | dovetail play connect_four --set rows=3 --set columns=3 --set connect=3 --against q-learning --set-agent min_visits=2 --register encoder:heap=heap.py:whole_heap
$ dovetail replay out/learners/games-1.journal --list
$ dovetail replay out/learners/games-1.journal last --turn 4 --svg position.svg
$ dovetail replay out/learners/games-1.journal last --video game.gif
$ dovetail verify out/learners/games-1.journal
$ dovetail journal check out/learners/games-1.journal
$ dovetail journal list out/learners/games-1.journal
$ dovetail journal export out/learners/games-1.journal > games.jsonl
$ dovetail journal repair out/learners/games-1.journal
$ dovetail journal compact out/learners/games-1.journal
$ dovetail run connect_four_sweep --in-process --trial 1/2 --set phases.0.episodes=20 --set phases.0.evaluate_every=20 --set 'seeds=[1]'
$ dovetail run connect_four_sweep --in-process --trial 2/2 --set phases.0.episodes=20 --set phases.0.evaluate_every=20 --set 'seeds=[1]'
$ dovetail merge out/connect_four_sweep out/connect_four_sweep/part-*
$ dovetail results out/connect_four_sweep --compare
$ dovetail keys make ada --access access.toml
$ dovetail keys make bob --access access.toml --role agent --out bob.key
$ dovetail keys make lab --access access.toml --role environment --out lab.key
$ dovetail keys make eve --out eve.key --server "$(sed -n 's/^server = "\\(.*\\)"/\\1/p' bob.key)"
$ dovetail keys make eva --access access.toml --role agent --public "$(sed -n 's/^public = "\\(.*\\)"/\\1/p' eve.key)"
$ dovetail keys make page --web --access access.toml
$ dovetail keys list --access access.toml
& dovetail broker --access access.toml --journal keyed.journal
& dovetail env connect_four --connect "$DOVETAIL_BROKER" --key lab.key
& dovetail agent greedy random --connect "$DOVETAIL_BROKER" --key bob.key
$ dovetail list --connect "$DOVETAIL_BROKER" --key home/.config/dovetail/keys/ada.key
$ dovetail run connected.toml --connect "$DOVETAIL_BROKER" --key home/.config/dovetail/keys/ada.key
$ dovetail keys revoke bob --access access.toml
.
$ (umask 077; openssl rand -hex 24 > token)
& dovetail broker --bind "$DOVETAIL_BROKER" --insecure --token-file token --journal games.journal --web 127.0.0.1:PORT --web-origin http://127.0.0.1:8000 --agent random --env connect_four
& DOVETAIL_TOKEN=$(cat token) dovetail agent greedy
& DOVETAIL_TOKEN=$(cat token) dovetail agent q-learning --register encoder:heap=heap.py:whole_heap
$ DOVETAIL_TOKEN=$(cat token) dovetail run connected.toml --connect "$DOVETAIL_BROKER"
$ DOVETAIL_TOKEN=$(cat token) timeout -s INT 8 dovetail watch || test $? = 124
& DOVETAIL_TOKEN=$(cat token) dovetail web --connect "$DOVETAIL_BROKER" --journal games.journal
.
& dovetail web --games
.
& dovetail web --store out/learners
.
& dovetail broker
& dovetail env nim.py:Nim --connect "$DOVETAIL_BROKER"
& dovetail agent mine.py:Learner --connect "$DOVETAIL_BROKER"
& dovetail agent recorded --set journal=out/learners/games-1.journal
.
$ dovetail conform agent --only offers --level 1 --show -- python conformer.py agent
$ dovetail conform environment --only offers --list
$ dovetail conform experiment --only run --patience 20 --json cases.json -- python conformer.py experiment
$ dovetail check env gdl --set game=tic_tac_toe
$ mkdir -p descriptions && cp CHECKOUT/bridges/dovetail_bridges/gdl/games/tic_tac_toe.kif descriptions
$ dovetail bridges check gdl --gdl descriptions
& dovetail ggp player random --port PORT
& dovetail ggp player mcts --port POR2
$ dovetail ggp match tic_tac_toe http://127.0.0.1:PORT http://127.0.0.1:POR2 --start-clock 2 --play-clock 2
.
$ printf 'uci\\nisready\\nquit\\n' | dovetail uci --agent random
$ printf 'boardsize 9\\ngenmove b\\nquit\\n' | dovetail gtp --agent random --size 9 --komi 6.5
& dovetail openenv --game connect_four --seat 0 --against greedy --sessions 4 --tables 4 --port PORT
& dovetail broker
& dovetail env gymnasium --set id=CartPole-v1
& dovetail env pettingzoo --set id=classic/tictactoe-v3
& dovetail env openspiel --set 'game=go(board_size=9,komi=6.5)'
.
"""
"""``$ COMMAND`` ends, ``& COMMAND`` runs in a terminal of its own until the next ``.``."""
APART = {
    "dovetail arena": "a competition of days; its own tests, and the tutorial",
    "dovetail study": "a wheel of its own, which `make release` tries",
    "dovetail train": "with the studies",
    "dovetail bench learner": "minutes; tests/experiments/test_benched.py",
    "dovetail mcp": "a client starts it; tests/bridges",
    "dovetail env kaggle": "a library that the lock lacks",
    "dovetail agent kaggle": "the same",
    "dovetail env textarena": "the same",
    "dovetail agent sb3": "the same",
    "dovetail agent uci": "needs an engine",
    "dovetail env openenv": "needs a server",
    "dovetail run --on": "needs Ray; `make test-ray`",
    "dovetail run --resume": "needs an interruption; tests/experiments/test_killed.py",
    "dovetail run --extend": "the same",
    "dovetail bridges check --module": "needs MiniGrid",
    "dovetail rlglue": "needs a legacy program; tests/bridges",
}
"""Commands, or their options, that are not tried here, and why."""


def uses(line: str) -> set[str]:
    """Return the command of a line, alone and with each of its long options."""
    command, used, _ = resolved(words_of(line))
    return {command, *(f"{command} {option}" for option in used)}


def test_what_the_guides_say_is_tried_from_the_wheel() -> None:
    tried = {"dovetail run --in-process"}
    for line in [*command_lines("docs/tutorial.md"), *GUIDES.splitlines()]:
        for found in re.findall(r"dovetail [a-z].*", line):
            tried |= uses(found)
    for page in TEXTS:
        if not re.match("docs/(?!decisions)", page):
            continue
        for line in command_lines(page):
            for use in uses(line) - tried:
                if any(each.startswith(f"{use} ") for each in tried):  # it names a group
                    continue
                assert any(f"{use} ".startswith(f"{each} ") for each in APART), f"{page}: {use}"


@pytest.mark.slow
@pytest.mark.timeout(1800)  # seventy programs, one after the other
def test_the_commands_of_the_guides_work_from_the_wheel(tmp_path: Path, installed: Path) -> None:
    for name, (page, text) in FILES.items():
        blocks = re.findall(r"^```\w*\n(.*?)^```", (TOP / page).read_text(), re.M | re.S)
        (tmp_path / name).write_text(next(each for each in blocks if text in each))
    ports = {"PORT": str(port()), "POR2": str(port()), "CHECKOUT": str(TOP)}
    with reader(tmp_path, installed) as one:
        for line in GUIDES.strip().splitlines():
            command = re.sub("PORT|POR2|CHECKOUT", lambda found: ports[found.group()], line[2:])
            if line == ".":
                one.stop()
            elif line.startswith("&"):
                one.start(command)
            else:
                one.run(command)
    assert (tmp_path / "game.gif").stat().st_size > 1000


@pytest.mark.slow
def test_what_deploy_starts_works_from_the_wheel(tmp_path: Path, installed: Path) -> None:
    """The units' and the compose file's commands, on loopback and in one folder."""
    (arena,) = (each["file"] for each in STEP.finditer(TEXT) if each["name"] == "arena.toml")
    (tmp_path / "arena.toml").write_text(f'bind = "tcp://127.0.0.1:{port()}"\n{arena}')
    (tmp_path / "password").write_text("a password\n")
    units = [
        (TOP / f"deploy/dovetail-{each}.service").read_text() for each in ("broker", "arena", "web")
    ]
    services = re.findall(r"^    command: (.*)$", (TOP / "deploy/compose.yaml").read_text(), re.M)
    assert len(services) == 4
    with reader(tmp_path, installed) as one:
        one.run("dovetail keys make ada --access access.toml")
        places = {
            "/opt/dovetail/bin/dovetail": "dovetail",
            "tcp://*:5757": one.env["DOVETAIL_BROKER"],
            "tcp://0.0.0.0:5757": one.env["DOVETAIL_BROKER"],
            "tcp://broker:5757": one.env["DOVETAIL_BROKER"],
            "0.0.0.0": "127.0.0.1",
            "/etc/dovetail/": "",
            "/var/lib/dovetail/": "",
            "/run/secrets/": "",
        }
        for commands in (
            re.findall(r"^ExecStart=(.*)$", "\n".join(units), re.M),
            [f"dovetail {each}" for each in services],
        ):
            for command in commands:
                for each, here in places.items():
                    command = command.replace(each, here)
                one.start(command)
            word = base64.b64encode(b"any:a password").decode()
            known = urllib.request.Request(one.page, headers={"Authorization": f"Basic {word}"})
            with urllib.request.urlopen(known) as answer:
                assert answer.status == 200
            one.stop()
    if verify := shutil.which("systemd-analyze"):
        folder = tmp_path / "units"
        folder.mkdir()
        for name, text in zip(("broker", "arena", "web"), units, strict=True):
            here = text.replace("/opt/dovetail/bin", str(installed))
            (folder / f"dovetail-{name}.service").write_text(here)
        found = subprocess.run(
            [verify, "verify", *folder.iterdir()], capture_output=True, text=True, check=False
        )
        assert (found.returncode, found.stderr) == (0, "")
