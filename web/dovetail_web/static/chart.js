// A line chart of few lines, in letters of one size: axes with their names (of x, of y), a marker at a turn, a click that leads there.
import { element } from "./scene.js";

const LEFT = 44;
const RIGHT = 10;
const TOP = 24;
const BOTTOM = 36;

/** Three or so round numbers over a range. @param {number} low @param {number} high @returns {number[]} */
export function ticks(low, high) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / 2;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const from = Math.floor(low / step);
  const to = Math.max(from + 1, Math.ceil(high / step));
  return Array.from({ length: to - from + 1 }, (_, n) => +((from + n) * step).toPrecision(12));
}

/**
 * @param {{ name: string, colour: string, dash: string, points: [number, number][] }[]} lines
 * @param {{ width: number, height: number, at: number, last: number, label: string, axes: [string, string], go: (x: number) => void }} options
 */
export function chart(lines, { width, height, at, last, label, axes, go }) {
  const all = lines.flatMap(({ points }) => points);
  const marks = ticks(Math.min(0, ...all.map(([, y]) => y)), Math.max(...all.map(([, y]) => y)));
  const [low, high] = [marks[0], marks[marks.length - 1]];
  const right = Math.max(1, last);
  /** @param {number} value */
  const x = (value) => LEFT + ((width - LEFT - RIGHT) * value) / right;
  /** @param {number} value */
  const y = (value) => TOP + ((height - TOP - BOTTOM) * (high - value)) / (high - low || 1);
  const svg = element("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": label,
  });
  for (const mark of marks) {
    svg.append(
      element("path", {
        d: `M${LEFT} ${y(mark)}H${width - RIGHT}`,
        class: mark === 0 ? "axis zero" : "axis",
      }),
      element("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end" }, String(mark)),
    );
  }
  for (const turn of new Set([0, Math.round(right / 2), right])) {
    svg.append(
      element("text", { x: x(turn), y: height - 20, "text-anchor": "middle" }, String(turn)),
    );
  }
  svg.append(
    element("text", { x: 2, y: 12 }, axes[1]),
    element(
      "text",
      { x: (LEFT + width - RIGHT) / 2, y: height - 4, "text-anchor": "middle" },
      axes[0],
    ),
  );
  for (const { colour, dash, points } of lines) {
    const d = points
      .map(([a, b], n) => `${n ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`)
      .join("");
    const line = element("path", { d, class: "course", "stroke-dasharray": dash });
    line.style.stroke = colour;
    svg.append(line);
    const [here] = points.filter(([turn]) => turn <= at).slice(-1);
    if (!here) continue;
    const dot = element("circle", { cx: x(here[0]), cy: y(here[1]), r: 4.5, class: "here" });
    dot.style.fill = colour;
    svg.append(dot);
  }
  svg.append(element("path", { d: `M${x(at)} ${TOP}V${height - BOTTOM}`, class: "marker" }));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width) * width;
    go(Math.round(((share - LEFT) / (width - LEFT - RIGHT)) * right));
  });
  return svg;
}
