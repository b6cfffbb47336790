"""The results of stores on the page: the figures of the report, and no others."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.experiments.blank import blank

from dovetail.peer.address import ADDRESS
from dovetail_experiments.records import database
from dovetail_experiments.records.records import Records
from dovetail_experiments.records.store import Store
from dovetail_experiments.reports import plot
from dovetail_experiments.reports.numbers import numbers
from dovetail_experiments.reports.reporting import file_of, replayed
from dovetail_experiments.stages.runner import RunnerOptions
from dovetail_experiments.stages.trials import execute
from dovetail_web.app import application
from dovetail_web.commands.web import web
from dovetail_web.hub import Hub
from dovetail_web.result_pages import lasted

from .conftest import EXPERIMENT, PATIENCE


@pytest.fixture(scope="module")
def browser(results: Path) -> Iterator[TestClient]:
    hub = Hub("tcp://127.0.0.1:9")  # never started
    stores = [str(results), str(results / "missing.sqlite")]
    with TestClient(application(hub, stores=stores), "http://127.0.0.1") as client:
        yield client


def table(browser: TestClient, address: str) -> list[dict[str, str]]:
    answer = browser.get(address)
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.text)))


DATA = re.compile(r'<script type="application/json">(.*?)</script>')


def shown(text: str) -> list[dict[str, Any]]:
    """Return the data of a page's charts."""
    return [json.loads(each) for each in DATA.findall(text)]


def test_executions_are_listed_and_a_missing_store_is_one_line(browser: TestClient) -> None:
    text = browser.get("/results").text
    assert text.index('href="/results/0/2"') < text.index('href="/results/0/1"')
    assert len(re.findall(r"missing.sqlite does not exist", text)) == 1
    listed = table(browser, "/results/0/executions.csv")
    assert [(row["id"], row["seed"]) for row in listed] == [("2", "6"), ("1", "5")]
    assert listed[0]["stages"] == listed[0]["stages_finished"] > "0"
    assert 'href="/results" aria-current="page"' in text
    assert text.index("2 runs") < text.index("<table"), "first what ran"
    (source,) = re.findall('data-source="([^"]+)"', text)
    assert browser.get(source).json()[0].startswith("one (one <b>): mean score 0.")
    (cup, *_) = browser.get("/results/0/2/headlines").json()
    assert re.match(r"cup: \w+ came first with \d+% \(\d+%..\d+%\) of the points, before", cup)


def test_the_tables_have_the_figures_of_the_report(browser: TestClient, results: Path) -> None:
    with Records(results) as records:
        row = next(records.rows("executions", where=["id=1"]))
        played, complete = replayed(records, file_of(row), 1)
        wanted = numbers(file_of(row), played)
        seats = len(list(records.rows(where=["execution=1"])))
    assert complete
    found = table(browser, "/results/0/1/stages/stages.csv")
    assert len(found) == len(wanted["stages"])
    for line, each in zip(found, wanted["stages"], strict=True):
        assert (line["agent"], int(line["wins"])) == (each["agent"], each["wins"])
        assert float(line["won_low"] or "nan") == pytest.approx(each["won"]["low"], nan_ok=True)
    cup = table(browser, "/results/0/1/tournament-1/standings.csv")
    assert [line["player"] for line in cup] == [
        each["player"] for each in wanted["tournaments"][0]["players"]
    ]
    crosses = table(browser, "/results/0/1/tournament-1/cross-table.csv")
    assert {(line["player"], line["games"]) for line in crosses} == {("one", "8"), ("dice", "8")}
    assert len(table(browser, "/results/0/1/episodes.csv")) == seats
    curve = table(browser, "/results/0/1/curves/curves.csv")
    assert sorted({int(line["episodes"]) for line in curve}) == [0, 10, 20]
    assert all(float(line["win rate_low"]) <= float(line["win rate"]) for line in curve)
    text = browser.get("/results/0/1").text
    assert {line["seat"] for line in found} == {"0", "1"}, "files have a seat's number"
    assert set(re.findall(r">((?:player|seat) \d)</td>", text)) == {"player 1", "player 2"}
    assert "one &lt;b&gt;" in text
    assert "one <b>" not in text
    links = re.findall(r'(?:href|src)="(/results/0/1/[^"]+)"', text)
    assert len(links) > 6
    assert "won-drawn-lost</th>" in text
    assert "W-D-L" not in text
    for link in links:
        assert browser.get(link).status_code == 200, link
    charts = shown(text)
    assert {each["title"] for each in charts} == {"Learning curves", "Ratings"}
    assert "<h2>Learning curves</h2>" not in text, "the chart has this title"
    assert "<dd>Connect Four</dd>" in text
    assert text.count("Decisions that are asked for together each count the whole") == 2
    for chart in charts:
        for line in chart["lines"]:
            assert len(line["x"]) == len(line["y"]) > 1
    assert "</b>" not in "".join(DATA.findall(text))


def test_what_agents_measured_is_shown_as_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "measured.toml"
    path.write_text(EXPERIMENT.replace('"random"', '"td"', 1).replace("[5, 6]", "[5]"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plot, "save", blank)
        execute(path, out=tmp_path, options=RunnerOptions(in_process=True))
    folder = tmp_path / "small"
    with TestClient(application(Hub("tcp://127.0.0.1:9"), stores=[str(folder)])) as client:
        text = client.get("http://127.0.0.1/results/0/1").text
        rows = table(client, "http://127.0.0.1/results/0/1/measures/measures.csv")
    (chart,) = (each for each in shown(text) if each["title"] == "td_error")
    report = shown((folder / "report.html").read_text())
    assert chart in report
    assert rows[0]["measure"] == chart["lines"][0]["name"] == "td_error of one"


def test_two_executions_stand_side_by_side(browser: TestClient) -> None:
    text = browser.get("/results/compare?of=0.1&of=0.2").text
    assert text.index("small, execution 1<") < text.index("small, execution 2<")
    assert "<td>seed</td><td>5</td><td>6</td>" in text
    (curves,) = (each for each in shown(text) if each["title"] == "Learning curves")
    assert sorted({line["name"].partition(":")[0] for line in curves["lines"]}) == [
        "small 1",
        "small 2",
    ]
    (link,) = re.findall('href="(/results/compare.csv[^"]+)"', text)
    differ = table(browser, link.replace("&amp;", "&"))
    assert {"setting": "seed", "first": "5", "second": "6"} in differ
    one = browser.get("/results/compare?of=0.1")
    assert one.status_code == 400
    assert "you chose 1" in one.text


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("/results/0/9", "has no execution 9"),
        ("/results/1/1", "does not exist"),
        ("/results/7/1", "there is no store 7"),
        ("/results/7/executions.csv", "There is no store 7"),
        ("/results/1/executions.csv", "does not exist"),
        ("/results/compare?of=0.1&of=x", "does not name an execution"),
        ("/results/0/1/stages/none.csv", "has no table"),
        ("/results/0/1/none/none.csv", "There is no section"),
        ("/results/0/9/sweep", "has no sweep with an execution 9"),
    ],
)
def test_what_is_not_there_is_one_line(browser: TestClient, address: str, what: str) -> None:
    answer = browser.get(address)
    assert answer.status_code == 404
    assert what in answer.text


def test_the_password_of_a_database_is_not_shown() -> None:
    stores = ["postgresql+psycopg://bob:secret@127.0.0.1:1/games"]
    app = application(Hub("tcp://127.0.0.1:9"), stores=stores)
    with TestClient(app, "http://127.0.0.1") as client:
        for address in ("/results", "/results/0/1"):
            text = client.get(address).text
            assert "bob:***@127.0.0.1" in text
            assert "secret" not in text


def test_an_execution_that_runs_shows_its_finished_stages(results: Path, tmp_path: Path) -> None:
    with Records(results) as records:
        row = next(records.rows("executions", where=["id=1"]))
    store = Store(database.url_of(tmp_path / "part.sqlite"))
    store.begin("part", row["file"], 5)
    store.close()
    hub = Hub("tcp://127.0.0.1:9")
    app = application(hub, stores=[str(tmp_path / "part.sqlite")])
    with TestClient(app, "http://127.0.0.1") as client:
        text = client.get("/results/0/1").text
    assert "still running, or was interrupted. Reload this page once" in text
    assert "All stages" not in text


def test_a_chart_answers_the_pointer_and_its_legend(chromium: Any, results: Path) -> None:
    context = chromium.new_context(viewport={"width": 1000, "height": 800}, color_scheme="dark")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    try:
        page.goto((results / "report.html").as_uri())
        plot = page.locator("figure.plot:has-text('Ratings')")
        plot.locator("canvas").wait_for()
        one, dice = (plot.locator(f".names button:has-text('{name}')") for name in ("one", "dice"))
        plot.locator(".u-over").hover()
        plot.locator(".tip").wait_for()
        assert plot.locator(".tip div").count() == 2
        one.click()
        assert (one.get_attribute("aria-pressed"), dice.get_attribute("aria-pressed")) == (
            "false",
            "true",
        )
        plot.locator(".u-over").hover(position={"x": 300, "y": 50})
        assert plot.locator(".tip div").count() == 1
        dice.click()  # the last one shows all again
        assert one.get_attribute("aria-pressed") == "true"
        plot.locator("input[type=range]").fill("60")
        assert "exponential average, 0.60" in plot.inner_text()
        plot.locator("button:has-text('Logarithmic axis')").click()
        assert plot.locator("canvas").count() == 1
        curves = page.locator("figure.plot:has-text('Learning curves')").first
        over = curves.locator(".u-over")
        width = over.bounding_box()["width"]
        over.hover(position={"x": width * 0.4, "y": 50})  # nearer to 10 of 20 than to 0
        assert "learning episodes: 10" in curves.locator(".tip").inner_text()
        middle = over.bounding_box()["x"] + width / 2
        marks = curves.locator(".u-cursor-x, .u-cursor-pt")
        boxes = [each.bounding_box() for each in marks.all() if each.is_visible()]
        assert len(boxes) > 1, "the line and a mark for each curve"
        for box in boxes:
            assert abs(box["x"] + box["width"] / 2 - middle) <= 2
        assert "left out" not in curves.inner_text()
        drawn = "(() => { const kept = []; const c = CanvasRenderingContext2D.prototype; "
        page.evaluate(
            drawn + "const before = c.fillText; c.fillText = function (text, ...rest) "
            "{ kept.push(text); return before.call(this, text, ...rest); }; window.kept = kept; })()"
        )
        curves.locator("button:has-text('Logarithmic axis')").click()
        page.wait_for_function("window.kept.length > 0")
        assert {"10", "20"} < {each for each in page.evaluate("window.kept") if each.isdigit()}
        assert "has no 0, so the points there are left out" in curves.inner_text()
        assert wrong == []
    finally:
        context.close()


def test_a_trial_lasts_from_its_first_stage(results: Path, browser: TestClient) -> None:
    with Records(results) as records:
        rows = {each["id"]: each for each in records.rows("executions")}
        begun = {
            number: min(
                each["started"] for each in records.rows("stages") if each["execution"] == number
            )
            for number in rows
        }
    assert begun[2] >= rows[1]["finished"]  # one after the other
    text = browser.get("/results/0/1/sweep").text
    for number, row in rows.items():
        assert f">{lasted(begun[number], row['finished'])}</td>" in text
    assert lasted(0.0, 3725.0) == "1 h 2 min"


def test_a_sweep_that_goes_on_shows_the_runs_under_way(results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "part"
    shutil.copytree(results, copy)
    with contextlib.closing(sqlite3.connect(copy / "results.sqlite")) as database, database:
        database.execute("UPDATE executions SET finished = NULL WHERE id = 2")
    app = application(Hub("tcp://127.0.0.1:9"), stores=[str(copy)])
    with TestClient(app, "http://127.0.0.1") as client:
        text = client.get("/results/0/1/sweep").text
        assert "Running, 1 of 2" in text
        assert 'data-follow="/results/0/1/sweep/curves.json"' in text
        (chart,) = shown(text)
        (line,) = chart["lines"]
        assert len(line["runs"]) == 2  # one of them is not in the mean
        assert client.get("/results/0/1/sweep/curves.json").json()["running"]


def test_trials_are_shown_over_seeds(browser: TestClient) -> None:
    assert 'href="/results/0/1/sweep"' in browser.get("/results/0/1").text
    assert 'href="/results/0/2/sweep"' in browser.get("/results").text
    text = browser.get("/results/0/1/sweep").text
    assert "one (one &lt;b&gt;)" in text
    assert "mean (95 %)" in text
    assert "data-follow" not in text
    (chart,) = shown(text)  # what dice scored is the same fact
    (curve,) = chart["lines"]
    assert (curve["x"], len(curve["runs"])) == ([0, 10, 20], 2)
    followed = browser.get("/results/0/1/sweep/curves.json").json()
    assert (followed["running"], followed["progress"]) == (False, "2 runs")
    assert followed["charts"] == [chart]
    (line,) = table(browser, "/results/0/1/sweep/seeds.csv")
    assert line["seeds"] == "2"
    assert "" not in line
    assert {"evaluation", "agent", "variant", "measure", "mean", "mean_low", "iqm", "p"} <= {*line}
    for name in ("mean", "mean_low", "mean_high", "iqm", "difference", "p"):
        assert re.fullmatch(r"(-?[0-9.]+(e-?[0-9]+)?)?", line[name]), name


def test_a_page_with_nothing_but_results_opens_on_them(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("dovetail_web.serve.serve", lambda *_, ready, **__: ready("http://h/"))
    for connect, path in ((ADDRESS, "results"), ("tcp://127.0.0.1:9", "")):
        web(connect, store=[str(results)], port=0, show=False)
        assert capsys.readouterr().out == f"the page is at http://h/{path}\n"
