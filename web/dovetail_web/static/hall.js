// The arena in a lecture hall: who leads, a game in progress, the newest results; several ladders take turns.
import { made, of } from "./dom.js";
import { LOST, live } from "./live.js";
import { element } from "./scene.js";
import { wall } from "./wall.js";

/** Milliseconds for which one page of a long table stays. */
const PAGE = 12000;
const TURN = 30000;
/** Agents up to which rows are large, so that the hall is not half empty. */
const FEW = 5;
const MOVE = 600;
const SIGNS = {
  playing: "M2 1l9 5-9 5z",
  online: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1z",
  away: "M6 2a4 4 0 1 0 0 8A4 4 0 0 0 6 2z",
  paused: "M2 1h3v10H2zM7 1h3v10H7z",
};
const CLASSES = { playing: "playing", online: "here", away: "gone", paused: "out" };

/** @type {[string, string][]} */
const ladders = JSON.parse(of("hall").dataset.ladders ?? "[]");
/** The name of the arena. */
const course = of("about").textContent;
let at = 0;
/** Which rows are shown, where not all fit on the screen. */
let page = 0;
/** The last state that the server sent. @type {Standing | null} */
let standing = null;
const boards = wall(of("games"), false);
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** @param {Leader} leader */
function cells(leader) {
  const state = /** @type {keyof typeof SIGNS} */ (leader.state in SIGNS ? leader.state : "away");
  const mark = element("svg", { viewBox: "0 0 12 12", role: "img", "aria-label": state });
  mark.append(element("path", { class: CLASSES[state], d: SIGNS[state] }));
  const who = made(
    "td",
    { class: "who" },
    made("span", { class: "on" }, mark),
    " ",
    made("strong", {}, leader.name),
  );
  const bar = made("td", { class: "bars" });
  if (leader.bar) {
    const [value, low, high] = leader.bar;
    const width = Math.max(0, high - low);
    const ci = element("svg", {
      class: "ci",
      viewBox: "0 0 240 20",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    ci.append(
      element("rect", { class: "range", x: low, y: 7, width, height: 6, rx: 3 }),
      element("rect", { class: "dot", x: value - 2, y: 5, width: 4, height: 10, rx: 2 }),
    );
    bar.append(ci);
  }
  return [who, made("td", { class: "num" }, leader.rating), bar];
}

/** Show the table, or as much of it as fits; rows slide to their new places. @param {Leader[]} leaders */
function table(leaders) {
  const body = of("leaders");
  const height = body.firstElementChild?.clientHeight || 54;
  const fit = Math.max(
    3,
    Math.floor((innerHeight - body.getBoundingClientRect().top - 16) / height),
  );
  const pages = Math.ceil(leaders.length / fit);
  const first = (page % Math.max(1, pages)) * fit;
  const rows = new Map([...body.children].map((row) => [row.id, /** @type {HTMLElement} */ (row)]));
  const before = new Map([...rows].map(([id, row]) => [id, row.getBoundingClientRect().top]));
  const next = leaders.slice(first, first + fit).map((leader, place) => {
    const row = rows.get(`p${leader.player}`) ?? document.createElement("tr");
    row.id = `p${leader.player}`;
    row.replaceChildren(made("td", { class: "num" }, String(first + place + 1)), ...cells(leader));
    return row;
  });
  body.replaceChildren(...next);
  if (still.matches) return;
  for (const row of next) {
    const moved = (before.get(row.id) ?? NaN) - row.getBoundingClientRect().top;
    if (moved)
      row.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], {
        duration: MOVE,
        easing: "ease",
      });
  }
}

/** @param {Result[]} found */
function results(found) {
  of("results").replaceChildren(
    ...found.map(({ first, how, others, end }) =>
      made(
        "li",
        {},
        made("span", { class: "grow" }, made("strong", {}, first), ` ${how} ${others}`),
        made("strong", {}, end),
      ),
    ),
  );
}

/** @param {number | null} seconds when the final begins */
function left(seconds) {
  const minutes = seconds === null ? -1 : Math.round((seconds * 1000 - Date.now()) / 60000);
  if (minutes < 0) return "";
  const [days, hours, rest] = [
    Math.floor(minutes / 1440),
    Math.floor(minutes / 60) % 24,
    minutes % 60,
  ];
  return `ends in ${days ? `${days} d ${hours} h` : hours ? `${hours} h ${rest} min` : `${rest} min`}`;
}

/** @param {Standing} found */
function show(found) {
  if (found.ladder !== ladders[at][0]) return;
  standing = found;
  of("ladder").textContent = found.ladder;
  of("about").textContent =
    `${course} · season ${found.season} · ${found.online} of ${found.agents} online · ${found.played.toLocaleString("en")} matches`;
  of("ends").textContent = left(found.ends);
  of("none").hidden = found.rows.length > 0;
  of("ticks").replaceChildren(
    ...found.ticks.map(([x, text]) =>
      element("text", { x: `${x / 2.4}%`, y: 11, "text-anchor": "middle" }, text),
    ),
  );
  of("hall").classList.toggle("few", found.rows.length <= FEW);
  table(found.rows);
  results(found.results);
}

const about = { about: `wall:${ladders[0][1]}`, ladder: ladders[0][0] };
const say = live(
  about,
  ({ now, leaders }) => {
    if (leaders) show(leaders);
    if (!now) return;
    of("problem").textContent = now.problem;
    boards(now.games, 1);
  },
  (lost) => {
    if (lost) of("problem").textContent = LOST;
  },
);

of("full").addEventListener("click", () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
});
// A long table is shown page by page.
setInterval(() => {
  page += 1;
  if (standing) table(standing.rows);
}, PAGE);
if (ladders.length > 1)
  setInterval(() => {
    at = (at + 1) % ladders.length;
    Object.assign(about, { about: `wall:${ladders[at][1]}`, ladder: ladders[at][0] });
    page = 0;
    say(about);
  }, TURN);
