// Charts of a page: <figure class="plot"> with its data as JSON in a script element, or at data-source.
"use strict";
(() => {
  const HEIGHT = 340;
  const AGAIN = 3000;
  const COLOURS = 5;
  const DASHES = [[], [10, 5], [3, 4], [10, 4, 3, 4], [16, 4]];
  const WIDE = 760;
  const LETTER = 12;
  /** Pixels beside the last number of an axis, half of which stands right of its line. */
  const MARGIN = 24;
  /** Pixels from one number of a logarithmic axis to the next, at least. */
  const APART = 52;
  /** Pixels across the mark of a point that the pointer is at. */
  const MARK = 11;

  const element = (name, kind, ...inner) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    made.append(...inner);
    return made;
  };
  /** A colour from the page's variables, for the current theme. */
  const colour = (figure, name, alpha = 1) => {
    const probe = element("span", "");
    probe.style.color = `var(--p-${name})`;
    figure.append(probe);
    const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? ["0", "0", "0"];
    probe.remove();
    return `rgba(${parts.slice(0, 3).join(",")},${alpha})`;
  };
  const style = (at) => ({
    colour: 1 + (at % COLOURS),
    dash: DASHES[(at + Math.floor(at / COLOURS)) % DASHES.length],
  });
  const short = (value) =>
    value === null || value === undefined
      ? ""
      : Math.abs(value) >= 1000
        ? Math.round(value).toLocaleString("en")
        : Number(value.toPrecision(4)).toString();

  /** An exponential moving average with bias correction. */
  function smoothed(values, weight) {
    let sum = 0;
    let total = 0;
    return values.map((value) => {
      if (value === null) return null;
      sum = sum * weight + value * (1 - weight);
      total = total * weight + (1 - weight);
      return sum / total;
    });
  }

  /** Leave out the numbers of a logarithmic axis without room; 10, 100, ... go first, then 5, 2, ... */
  function roomy(plot, splits) {
    const kept = [];
    for (const first of [1, 5, 2, 3, 7, 4, 6, 8, 9])
      for (const split of splits) {
        const at = plot.valToPos(split, "x");
        if (split && split.toExponential(0)[0] === String(first))
          if (kept.every((each) => Math.abs(plot.valToPos(each, "x") - at) >= APART))
            kept.push(split);
      }
    return splits.map((split) => (kept.includes(split) ? split : null));
  }

  class Plot {
    constructor(figure) {
      this.figure = figure;
      this.hidden = new Set();
      this.lit = "";
      this.weight = 0;
      this.log = false;
      this.chart = null;
      this.shown = null;
      this.bar = element("div", "bar");
      this.names = element("div", "names");
      this.names.setAttribute("role", "group");
      this.names.setAttribute("aria-label", "Lines");
      const range = element("input", "");
      Object.assign(range, { type: "range", min: "0", max: "95", value: "0", step: "5" });
      const said = element("span", "", "off");
      range.addEventListener("input", () => {
        this.weight = Number(range.value) / 100;
        said.textContent = this.weight ? `exponential average, ${this.weight.toFixed(2)}` : "off";
        this.draw();
      });
      const log = element("button", "", "Logarithmic axis");
      log.type = "button";
      log.setAttribute("aria-pressed", "false");
      log.addEventListener("click", () => {
        this.log = !this.log;
        log.setAttribute("aria-pressed", String(this.log));
        this.draw();
      });
      this.tools = [element("label", "", "Smoothing", range, said), log];
      this.bar.append(...this.tools, this.names);
      this.title = element("h2", "");
      this.note = element("p", "muted small");
      this.place = element("div", "");
      this.tip = element("div", "tip");
      this.tip.hidden = true;
      figure.append(this.title, this.note, this.bar, this.place, this.tip);
      new ResizeObserver(() => {
        if (this.shown && this.shown.width !== this.place.clientWidth) this.draw();
      }).observe(this.place);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
      new MutationObserver(() => this.draw()).observe(document.documentElement, {
        attributeFilter: ["data-theme"],
      });
    }

    set(chart) {
      if (JSON.stringify(chart) === JSON.stringify(this.chart)) return;
      this.chart = chart;
      this.title.textContent = chart.title;
      for (const each of this.tools) each.hidden = chart.tools === false;
      this.bar.hidden = chart.tools === false && chart.lines.length < 2;
      this.legend();
      this.draw();
    }

    legend() {
      this.names.replaceChildren(
        ...this.chart.lines.map((line, at) => {
          const { colour: number, dash } = style(at);
          const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
          svg.setAttribute("viewBox", "0 0 28 12");
          svg.setAttribute("aria-hidden", "true");
          const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
          path.setAttribute("d", "M1 6H27");
          path.setAttribute("stroke-width", "3");
          path.setAttribute("stroke-dasharray", dash.map((each) => each / 1.5).join(" "));
          path.style.stroke = `var(--p-${number})`;
          svg.append(path);
          const made = element("button", "", svg, line.name);
          made.type = "button";
          made.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
          made.addEventListener("click", () => {
            const alone =
              this.chart.lines.length - this.hidden.size === 1 && !this.hidden.has(line.name);
            if (alone) this.hidden.clear();
            else if (!this.hidden.delete(line.name)) this.hidden.add(line.name);
            this.legend();
            this.draw();
          });
          made.addEventListener("mouseenter", () => this.light(line.name));
          made.addEventListener("mouseleave", () => this.light(""));
          return made;
        }),
      );
    }

    /** Show one line strong and the others faint. */
    light(name) {
      this.lit = name;
      this.draw();
    }

    draw() {
      const chart = this.chart;
      const width = this.place.clientWidth;
      if (!chart || !width) return;
      const lines = chart.lines
        .map((line, at) => ({ ...line, ...style(at) }))
        .filter((line) => !this.hidden.has(line.name));
      const zero = lines.some(({ x, runs }) => [x, ...runs.map(([xs]) => xs)].flat().includes(0));
      const without =
        this.log && zero ? "A logarithmic axis has no 0, so the points there are left out." : "";
      this.note.textContent = [chart.note, without].filter(Boolean).join(" ");
      const tables = [];
      const series = [{}];
      const bands = [];
      const ends = [];
      const keep = (xs, ...columns) => {
        const at = xs.map((_, place) => place).filter((place) => !this.log || xs[place] > 0);
        tables.push([
          at.map((place) => xs[place]),
          ...columns.map((column) => at.map((place) => column[place] ?? null)),
        ]);
      };
      const add = (given) => {
        series.push({ spanGaps: true, points: { show: false }, ...given });
        return series.length - 1;
      };
      for (const line of lines) {
        const lit = this.lit === line.name;
        const strong = this.lit && !lit ? 0.2 : 1;
        const stroke = colour(this.figure, line.colour, strong);
        for (const [xs, ys] of line.runs) {
          keep(xs, ys);
          add({ stroke: colour(this.figure, line.colour, 0.4 * strong), width: 1 });
        }
        if (!line.x.length) continue;
        const columns = [line.y];
        if (line.high.length) {
          columns.push(line.low, line.high);
          if (this.weight) columns.push(smoothed(line.y, this.weight));
        } else if (this.weight) columns.push(smoothed(line.y, this.weight));
        keep(line.x, ...columns);
        const thick = {
          label: line.name,
          stroke,
          width: 2.5,
          dash: line.dash,
          points: { show: line.x.length < 40, size: 5, fill: stroke },
        };
        const at = add(
          this.weight
            ? { stroke: colour(this.figure, line.colour, 0.4 * strong), width: 1 }
            : thick,
        );
        let low = 0;
        if (line.high.length) {
          low = add({ stroke: "transparent", width: 0 });
          // Many bands over each other hide the lines; the one that is pointed at is strong.
          const shade = lit ? 0.2 : strong * Math.min(0.14, 0.3 / lines.length);
          bands.push({ series: [low + 1, low], fill: colour(this.figure, line.colour, shade) });
          add({ stroke: "transparent", width: 0 });
        }
        ends.push({ at: this.weight ? add(thick) : at, low, name: line.name, stroke });
      }
      this.shown?.destroy();
      this.shown = null;
      this.place.replaceChildren();
      if (!tables.length) return;
      const room = width >= WIDE && ends.length > 1 ? 150 : 0;
      const axis = {
        stroke: colour(this.figure, "5"),
        grid: { stroke: colour(this.figure, "line"), width: 1 },
        ticks: { stroke: colour(this.figure, "line") },
        font: `${LETTER}px sans-serif`,
      };
      const labelled = (label) => ({
        ...axis,
        label,
        labelFont: `${LETTER}px sans-serif`,
        labelSize: 22,
      });
      this.shown = new uPlot(
        {
          width,
          height: HEIGHT,
          padding: [12, Math.max(room, MARGIN), 0, 0],
          scales: { x: { time: false, distr: this.log ? 3 : 1 } },
          axes: [
            { ...labelled(chart.across), ...(this.log && { filter: roomy }) },
            { ...labelled(chart.measure), size: 62 },
          ],
          legend: { show: false },
          cursor: {
            y: false,
            drag: { setScale: true, x: true, y: false },
            // At the point that the tooltip tells; where the pointer is while it drags.
            move: (plot, left, top) => {
              if (left < 0 || plot.cursor.event?.buttons) return [left, top];
              const x = plot.data[0][plot.posToIdx(left)];
              return [x === undefined ? left : plot.valToPos(x, "x"), top];
            },
            points: {
              size: (_, at) => (ends.some((each) => each.at === at) ? MARK : 0),
              width: 2,
              fill: colour(this.figure, "surface"),
            },
          },
          series,
          bands,
          hooks: {
            setCursor: [(plot) => this.point(plot, ends)],
            draw: [(plot) => this.name(plot, ends, room)],
          },
        },
        uPlot.join(tables),
        this.place,
      );
      this.shown.root.setAttribute("role", "img");
      this.shown.root.setAttribute(
        "aria-label",
        `${chart.title}: ${chart.measure} by ${chart.across}, ${lines.map((line) => line.name).join(", ")}; the figures are in the table or the CSV file`,
      );
    }

    /** Show the values of all lines at the pointer. */
    point(plot, ends) {
      const { idx, left, top } = plot.cursor;
      const found =
        idx === null || idx === undefined
          ? []
          : ends.filter(
              ({ at }) => plot.data[at][idx] !== null && plot.data[at][idx] !== undefined,
            );
      this.tip.hidden = found.length === 0 || left < 0;
      if (this.tip.hidden) return;
      this.tip.replaceChildren(
        element("b", "", `${this.chart.across}: ${short(plot.data[0][idx])}`),
        ...found.map(({ at, low, name, stroke }) => {
          const [from, to] = low ? [plot.data[low][idx], plot.data[low + 1][idx]] : [];
          const range = typeof from === "number" ? ` (${short(from)}..${short(to)})` : "";
          const mark = element("span", "", `● `);
          mark.style.color = stroke;
          return element(
            "div",
            "",
            element("span", "", mark, name),
            element("span", "", `${short(plot.data[at][idx])}${range}`),
          );
        }),
      );
      const box = plot.over.getBoundingClientRect();
      const own = this.figure.getBoundingClientRect();
      const x = box.left - own.left + left;
      this.tip.style.left = `${x + this.tip.offsetWidth + 24 > own.width ? x - this.tip.offsetWidth - 12 : x + 12}px`;
      this.tip.style.top = `${box.top - own.top + Math.max(0, top - 20)}px`;
    }

    /** Write names at the ends of lines, one above the other. */
    name(plot, ends, room) {
      if (room < 100) return;
      const ratio = devicePixelRatio;
      const places = ends
        .map(({ at, name, stroke }) => {
          const data = plot.data[at];
          let last = data.length - 1;
          while (last >= 0 && (data[last] === null || data[last] === undefined)) last -= 1;
          return { name, stroke, y: last < 0 ? NaN : plot.valToPos(data[last], "y", true) };
        })
        .filter(({ y }) => Number.isFinite(y))
        .sort((one, other) => one.y - other.y);
      let least = plot.bbox.top;
      const context = plot.ctx;
      context.save();
      context.font = `600 ${LETTER * ratio}px sans-serif`;
      context.textBaseline = "middle";
      context.textAlign = "left";
      for (const { name, stroke, y } of places) {
        const at = Math.max(y, least);
        least = at + (LETTER + 3) * ratio;
        context.fillStyle = stroke;
        const most = (room - 14) * ratio;
        let text = name;
        while (text.length > 4 && context.measureText(text).width > most)
          text = `${text.slice(0, -2)}…`;
        context.fillText(text, plot.bbox.left + plot.bbox.width + 8 * ratio, at);
      }
      context.restore();
    }
  }

  /** Keep a page's charts and the run's status up to date while the run continues. */
  async function follow(source, plots) {
    try {
      const answer = await fetch(source);
      if (answer.ok) {
        const found = await answer.json();
        found.charts.forEach((chart, at) => plots[at]?.set(chart));
        const said = document.getElementById("progress");
        if (said) said.textContent = found.progress;
        if (found.charts.length > plots.length || !found.running) return location.reload();
      }
    } catch {
      // The server may be back at the next poll.
    }
    setTimeout(() => follow(source, plots), AGAIN);
  }

  const plots = [...document.querySelectorAll("figure.plot")].map((figure) => {
    const plot = new Plot(figure);
    plot.set(JSON.parse(figure.querySelector('script[type="application/json"]').textContent));
    return plot;
  });
  const source = document.querySelector("[data-follow]")?.dataset.follow;
  if (source) setTimeout(() => follow(source, plots), AGAIN);
})();
