// The arena in a lecture hall: who leads, a game in progress, the newest results; several ladders take turns.
import { of } from "./dom.js";
import { LOST, live } from "./live.js";
import { wall } from "./wall.js";

/** Milliseconds for which one page of a long table stays. */
const PAGE = 12000;
const TURN = 30000;
const MOVE = 600;
const SVG = "http://www.w3.org/2000/svg";
const SIGNS = {
  playing: "M2 1l9 5-9 5z",
  online: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1z",
  away: "M6 2a4 4 0 1 0 0 8A4 4 0 0 0 6 2z",
  paused: "M2 1h3v10H2zM7 1h3v10H7z",
};
const CLASSES = { playing: "playing", online: "here", away: "gone", paused: "out" };

/** @type {[string, string][]} */
const ladders = JSON.parse(of("hall").dataset.ladders ?? "[]");
let at = 0;
/** Which rows are shown, where not all fit on the screen. */
let page = 0;
/** What was heard last. @type {Standing | null} */
let standing = null;
const boards = wall(of("games"), false);
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** @param {string} name @param {Record<string, string | number>} given @param {Element[]} inner */
function svg(name, given, ...inner) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, String(value));
  made.append(...inner);
  return made;
}

/** @param {string} name @param {string} kind @param {(string | Node)[]} inner */
function element(name, kind, ...inner) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.append(...inner);
  return made;
}

/** @param {Leader} leader */
function cells(leader) {
  const state = /** @type {keyof typeof SIGNS} */ (leader.state in SIGNS ? leader.state : "away");
  const mark = svg("svg", { viewBox: "0 0 12 12", role: "img", "aria-label": state });
  mark.append(svg("path", { class: CLASSES[state], d: SIGNS[state] }));
  const who = element(
    "td",
    "who",
    element("span", "on", mark),
    " ",
    element("strong", "", leader.name),
  );
  const bar = element("td", "bars");
  if (leader.bar) {
    const [value, low, high] = leader.bar;
    bar.append(
      svg(
        "svg",
        { class: "ci", viewBox: "0 0 240 20", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", {
          class: "range",
          x: low,
          y: 7,
          width: Math.max(0, high - low),
          height: 6,
          rx: 3,
        }),
        svg("rect", { class: "dot", x: value - 2, y: 5, width: 4, height: 10, rx: 2 }),
      ),
    );
  }
  return [who, element("td", "num", leader.rating), bar];
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
    row.replaceChildren(element("td", "num", String(first + place + 1)), ...cells(leader));
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
      element(
        "li",
        "",
        element("span", "grow", element("strong", "", first), ` ${how} ${others}`),
        element("strong", "", end),
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
    `season ${found.season} · ${found.online} of ${found.agents} online · ${found.played.toLocaleString("en")} matches`;
  of("ends").textContent = left(found.ends);
  of("none").hidden = found.rows.length > 0;
  of("ticks").replaceChildren(
    ...found.ticks.map(([x, text]) => {
      const made = svg("text", { x: `${x / 2.4}%`, y: 11, "text-anchor": "middle" });
      made.textContent = text;
      return made;
    }),
  );
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
