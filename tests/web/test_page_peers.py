"""Agents, environments and experiments in a page, over WebSocket, with the compiled modules as they
are."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.clients.building import CLIENTS, LONGEST, build, program
from tests.web.conftest import PATIENCE

from dovetail.broker.core.core import Settings
from dovetail.broker.durable.journal import Journal
from dovetail.broker.shell.serve import in_thread
from dovetail.client.client import Experiment, RunFailed
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.serve import serve as serve_agents
from dovetail.peer.environments.serve import serve as serve_environments
from dovetail.transport.endpoint import Web
from dovetail_games.connect_four import ConnectFour

pytestmark = [pytest.mark.clients, pytest.mark.timeout(LONGEST)]
CLIENT = CLIENTS / "typescript"
PAGE = "/examples/page.html"
SOON = 60.0
IMPORTS = """<!doctype html><title>peers</title><script type="importmap">
{"imports": {"dovetail-client": "/dist/src/browser/index.js",
"dovetail-client/core": "/dist/src/core/index.js"}}</script>"""
"""A page in which the programs for Node find the client."""


class Files(http.server.SimpleHTTPRequestHandler):
    """The client's folder, and a page with an import map."""

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(IMPORTS.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Return the origin of a server with the client's folder."""
    build("typescript")
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(CLIENT)))
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}"
    made.shutdown()
    thread.join()
    made.server_close()


@contextmanager
def serving(serve: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Serve agents or an environment in a thread until the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=serve, args=arguments, kwargs={"stop": stop})
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def broker(site: str, tmp_path: Path, grace: float = 10.0) -> Iterator[tuple[str, str]]:
    """Run a broker with Connect Four; yield its addresses for programs and for pages."""
    found: list[str] = []
    with (
        in_thread(
            "tcp://127.0.0.1:*",
            settings=Settings(grace=grace),
            journal=Journal(tmp_path / "journal"),
            web=Web("127.0.0.1:0", (site,)),
            ready=lambda server: found.append(server.web_address),
        ) as address,
        serving(serve_environments, ConnectFour, address),
    ):
        yield address, found[0]


def enter(page: Any, site: str, web: str, name: str) -> None:
    """Have the example's page serve its agent."""
    if page.url != site + PAGE:
        page.goto(site + PAGE)
    page.fill("[name=broker]", web)
    page.fill("[name=name]", name)
    page.click("button")
    page.wait_for_selector(f"#status:has-text('Connected to {web}')")


def played(experiment: Experiment, one: str, other: str, episodes: int) -> list[Any]:
    """Return the outcomes and decisions of games with one seed."""
    agents = [experiment.create(each, seed=seed) for seed, each in enumerate((one, other))]
    run = experiment.run("connect_four", agents, episodes=episodes, seed=5, rotate=True)
    return [
        (each.outcome, each.reason, [seat.decisions for seat in each.seats]) for each in run.wait()
    ]


@pytest.mark.rule("S3.10")
def test_a_page_plays_as_the_client_for_node_does(page: Any, site: str, tmp_path: Path) -> None:
    with broker(site, tmp_path) as (address, web):
        enter(page, site, web, "page")
        line = program("typescript", "random")
        env = {**os.environ, "DOVETAIL_BROKER": address}
        with (
            subprocess.Popen(line, cwd=CLIENT, env=env, stdout=subprocess.DEVNULL) as node,
            Experiment.connect(address) as experiment,
        ):
            try:
                experiment.expect(["connect_four"], ["page", "random-typescript"], timeout=SOON)
                by_page = played(experiment, "page", "random-typescript", 20)
                by_node = played(experiment, "random-typescript", "random-typescript", 20)
            finally:
                node.terminate()
        assert by_page == by_node
        assert {reason for _, reason, _ in by_page} == {"terminated"}
        page.wait_for_function("document.querySelectorAll('#games li').length === 20")
        assert page.inner_text("#games li").startswith("connect_four, seat ")


def test_a_page_and_a_go_program_play_each_other(page: Any, site: str, tmp_path: Path) -> None:
    """One is connected by WebSocket, the other by ZeroMQ."""
    build("go")
    with broker(site, tmp_path) as (address, web):
        enter(page, site, web, "page")
        line = program("go", "random")
        env = {**os.environ, "DOVETAIL_BROKER": address}
        with (
            subprocess.Popen(line, cwd=CLIENTS / "go", env=env, stdout=subprocess.DEVNULL) as go,
            Experiment.connect(address) as experiment,
        ):
            try:
                experiment.expect(["connect_four"], ["page", "random-go"], timeout=SOON)
                games = played(experiment, "page", "random-go", 20)
            finally:
                go.terminate()
        assert {reason for _, reason, _ in games} == {"terminated"}
        assert {outcome[0] for outcome, _, _ in games} >= {0.0, 1.0}  # each wins some
        page.wait_for_function("document.querySelectorAll('#games li').length === 20")


def test_a_game_of_a_page_and_a_run_of_a_page(page: Any, site: str, tmp_path: Path) -> None:
    """An environment, an agent and an experiment, each over its own socket of one tab."""
    with broker(site, tmp_path) as (_, web):
        page.goto(site)
        reasons = page.evaluate(
            """async (broker) => {
              const { connect, serve } = await import("/dist/src/browser/index.js");
              const { othello } = await import("/dist/othello/environment.js");
              const stop = new AbortController();
              const options = { broker, signal: stop.signal };
              const step = ({ legal, random }) => random.choice(legal);
              const programs = [
                serve({ environments: [othello] }, options),
                serve({ agents: [{ name: "here", capacity: 0, create: () => ({ step }) }] }, options),
              ];
              const experiment = await connect({ broker });
              await experiment.expect(["othello"], ["here"]);
              const agents = [await experiment.create("here"), await experiment.create("here", { seed: 1 })];
              const run = await experiment.run("othello", agents, { episodes: 6, seed: 3, concurrency: 3 });
              const reasons = [];
              for await (const each of run) reasons.push(each.reason);
              await experiment.close();
              stop.abort();
              await Promise.all(programs);
              return reasons;
            }""",
            web,
        )
    assert reasons == ["terminated"] * 6


def test_a_page_watches_a_game_of_others(page: Any, site: str, tmp_path: Path) -> None:
    with (
        broker(site, tmp_path) as (address, web),
        Experiment.connect(address) as experiment,
        serving(serve_agents, [Random], address),
    ):
        page.goto(site)
        page.evaluate(
            """async (broker) => {
              const { connect } = await import("/dist/src/browser/index.js");
              const spectator = await connect({ broker });
              await spectator.watch();
              window.seen = [];
              void (async () => {
                for await (const turn of spectator.turns()) {
                  window.seen.push([turn.turn, turn.reason]);
                }
              })();
            }""",
            web,
        )
        experiment.expect(["connect_four"], ["random"], timeout=SOON)
        seats = [experiment.create("random", seed=seed) for seed in range(2)]
        [played] = experiment.run("connect_four", seats, seed=5).wait()
        page.wait_for_function("window.seen.length && window.seen.at(-1)[1]")
        turns = [[turn, None] for turn in range(played.turns)]
        assert page.evaluate("window.seen") == [*turns, [played.turns, "terminated"]]


def test_a_page_that_is_reloaded_plays_its_game_again(page: Any, site: str, tmp_path: Path) -> None:
    with broker(site, tmp_path, grace=0.2) as (address, web):
        page.goto(site)
        hang = """async ([broker, name]) => {
          const { serve } = await import("/dist/src/browser/index.js");
          const step = () => new Promise(() => (window.asked = true));
          await new Promise((ready) => void serve({ agents: [{ name, create: () => ({ step }) }] }, { broker, ready }));
        }"""
        page.evaluate(hang, [web, "tab"])
        with Experiment.connect(address) as experiment:
            experiment.expect(["connect_four"], ["tab"], timeout=SOON)
            agents = [experiment.create("tab"), experiment.create("tab", seed=1)]
            run = experiment.run("connect_four", agents, on_agent_lost="wait", episodes=2)
            page.wait_for_function("window.asked")
            enter(page, site, web, "tab")  # leaves the page without a word
            reasons = [episode.reason for episode in run.wait()]
            assert reasons[-2:] == ["terminated"] * 2
            assert set(reasons[:-2]) <= {"disconnected"}


def test_a_broken_connection_is_resumed_in_the_middle_of_a_game(
    page: Any, site: str, tmp_path: Path
) -> None:
    page.add_init_script(
        """window.sockets = [];
        window.WebSocket = class extends WebSocket {
          constructor(...given) { super(...given); window.sockets.push(this); }
        };"""
    )
    with broker(site, tmp_path) as (address, web):
        page.goto(site)
        page.evaluate(
            """async (broker) => {
              const { serve } = await import("/dist/src/browser/index.js");
              let decisions = 0;
              const step = ({ legal, random }) => {
                if (++decisions % 5 === 0) window.sockets.at(-1).close();
                return random.choice(legal);
              };
              const served = { agents: [{ name: "cut", capacity: 0, create: () => ({ step }) }] };
              await new Promise((ready) => void serve(served, { broker, ready }));
            }""",
            web,
        )
        with Experiment.connect(address) as experiment:
            experiment.expect(["connect_four"], ["cut"], timeout=SOON)
            assert {each[1] for each in played(experiment, "cut", "cut", 2)} == {"terminated"}
        assert page.evaluate("window.sockets.length") > 3


def renderer(chromium: Any, page: Any) -> int:
    """Return the process of a page, which is busy for seconds and so must not be connected yet."""
    page.evaluate("document.title = 'mine'")
    browser = chromium.new_browser_cdp_session()
    before = {
        each["id"]: each["cpuTime"]
        for each in browser.send("SystemInfo.getProcessInfo")["processInfo"]
        if each["type"] == "renderer"
    }
    # Work, not time: on a busy machine another renderer, which only starts, had spent more.
    page.evaluate("let sum = 0; for (let each = 0; each < 5e8; each++) sum += Math.sqrt(each); sum")
    after = browser.send("SystemInfo.getProcessInfo")["processInfo"]
    spent: dict[int, float] = {
        each["id"]: each["cpuTime"] - before[each["id"]] for each in after if each["id"] in before
    }
    browser.detach()
    return max(spent, key=spent.__getitem__)


@contextmanager
def suspended(page: Any, process: int, by: str) -> Iterator[None]:
    """Keep a page from doing anything, as a browser does with tabs in the background."""
    tab = page.context.new_cdp_session(page)
    if by == "debugger":
        tab.send("Debugger.enable")
        tab.send("Debugger.pause")
        yield
        tab.send("Debugger.disable")
    else:
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("by", ["debugger", "stopped"])
def test_a_suspended_page_loses_its_game_alone_and_plays_again(
    chromium: Any, page: Any, site: str, tmp_path: Path, by: str
) -> None:
    with (
        broker(site, tmp_path) as (address, web),
        Experiment.connect(address) as experiment,
        serving(serve_agents, [Random], address),
    ):
        page.goto(site + PAGE)
        process = renderer(chromium, page)
        enter(page, site, web, "page")
        experiment.expect(["connect_four"], ["page", "random"], timeout=SOON)
        seats = [experiment.create("page"), experiment.create("random")]
        others = [experiment.create("random", seed=seed) for seed in (1, 2)]
        with suspended(page, process, by):
            clock = {"decision": 12.0}
            run = experiment.run("connect_four", seats, clock=clock, retries=0, check=False)
            beside = experiment.run("connect_four", others, episodes=20).wait()
            assert [each.reason for each in beside] == ["terminated"] * 20
            assert run.poll(0.0) == []  # they did not wait for it
            [lost] = run.wait()
            assert (lost.reason, lost.blame) == ("timeout", 0), lost
        again = played(experiment, "page", "random", 2)  # it wakes up
        assert {reason for _, reason, _ in again} == {"terminated"}


@pytest.mark.parametrize("dies", ["page", "go"])
def test_who_is_killed_in_the_middle_of_a_game_is_to_blame(
    chromium: Any, site: str, tmp_path: Path, dies: str
) -> None:
    """The page's process, or the program in Go."""
    build("go")
    with ExitStack() as open_, broker(site, tmp_path, grace=0.5) as (address, web):
        page = open_.enter_context(chromium.new_context()).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(site)
        process = renderer(chromium, page)
        slow = """async (broker) => {
          const { serve } = await import("/dist/src/browser/index.js");
          const step = async ({ legal, random }) => {
            window.asked = (window.asked ?? 0) + 1;
            await new Promise((done) => setTimeout(done, 200));
            return random.choice(legal);
          };
          await new Promise((ready) => void serve({ agents: [{ name: "page", create: () => ({ step }) }] }, { broker, ready }));
        }"""
        page.evaluate(slow, web)
        line = program("go", "random")
        env = {**os.environ, "DOVETAIL_BROKER": address}
        go = open_.enter_context(
            subprocess.Popen(line, cwd=CLIENTS / "go", env=env, stdout=subprocess.DEVNULL)
        )
        open_.callback(go.kill)
        experiment = open_.enter_context(Experiment.connect(address))
        experiment.expect(["connect_four"], ["page", "random-go"], timeout=SOON)
        seats = [experiment.create("page"), experiment.create("random-go")]
        victim = process if dies == "page" else go.pid
        others = [experiment.create("random-go", seed=seed) for seed in (1, 2)]
        run = experiment.run("connect_four", seats, on_agent_lost="forfeit", check=False)
        page.wait_for_function("window.asked >= 2")
        os.kill(victim, signal.SIGKILL)
        lost = next(iter(run))
        blamed = ("page", "go").index(dies)
        assert (lost.reason, lost.blame) == ("stalled", blamed), lost
        assert lost.outcome == [float(seat != blamed) for seat in range(2)]
        with pytest.raises(
            RunFailed, match=r"^the run failed: [\w-]+ \([\w-]+\) did not come back$"
        ):
            run.wait()
        if dies == "page":
            beside = experiment.run("connect_four", others, episodes=2).wait()
            assert [each.reason for each in beside] == ["terminated"] * 2


def test_a_page_of_another_site_is_told_what_to_do(page: Any, site: str, tmp_path: Path) -> None:
    with broker("http://elsewhere.example", tmp_path) as (_, web):
        page.goto(site)
        said = page.evaluate(
            """async (broker) => {
              const { serve } = await import("/dist/src/browser/index.js");
              const agents = [{ name: "no", create: () => ({ step: () => 0 }) }];
              return serve({ agents }, { broker, wait: 0.5 }).then(() => "", (error) => error.message);
            }""",
            web,
        )
    assert said == (
        f"no broker answers at {web}; "
        f"start one with `dovetail broker --web HOST:PORT --web-origin {site}`"
    )


CODE = """function act({ legal, text, observation }) {
  if (!text.includes("0 1 2 3") || observation.shape.length !== 3) throw new Error("not seen: " + text);
  return Math.max(...legal);
}"""


def test_a_visitor_writes_an_agent_and_enters_it_in_a_game(
    page: Any, served: Any, site: str
) -> None:
    served.offers("connect_four")
    page.goto(f"{served.url}write")
    page.fill("[name=name]", "visitor")
    page.fill("#code", CODE)
    page.click("#writing button")
    page.wait_for_selector("#status:has-text('visitor is connected')")
    page.select_option("#game", "connect_four")
    page.select_option("#against", "random")
    served.offers("connect_four", "visitor")
    with page.context.expect_page() as opened:
        page.click("#entering button")
    opened.value.wait_for_selector("#status:has-text('The game is over')")
    assert page.locator("#log li").count() == 0, page.inner_text("#log")
    # Errors in the code are shown on the page, with their lines.
    page.fill("#code", "// mine\nfunction act({ legal }) {\n  return legal[;\n}")
    page.click("#writing button")
    page.wait_for_selector("#status:has-text('visitor is connected')")
    with page.context.expect_page():
        page.click("#entering button")
    page.wait_for_selector("#log li:has-text('(line 3)')")
