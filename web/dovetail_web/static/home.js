// The first page: one game that is being played, large, and others, small.
import { draw, slide } from "./board.js";
import { made, of } from "./dom.js";
import { LOST, live } from "./live.js";
import { forget, kept } from "./own.js";
import { colour, seatRole, sign } from "./scene.js";
import { result, titled } from "./words.js";

const SMALL = 2;
/** The newest position of each game, which comes only if it is new. @type {Map<number, Position>} */
const positions = new Map();
/** @type {WeakMap<HTMLElement, { key: string, scene: Scene | null | undefined }>} */
const shown = new WeakMap();

/** The names of games that the wall below has. @type {Map<string, string>} */
const titles = new Map();
for (const { dataset } of /** @type {NodeListOf<HTMLElement>} */ (
  document.querySelectorAll(".tile")
))
  titles.set(dataset.name ?? "", dataset.title ?? "");

/** Load the page again if it was made before a game, or its first opponent, was there. @param {Now} now */
function renew({ environments, agents }) {
  const play = document.getElementById("play");
  if (!play) return;
  const known = JSON.parse(play.dataset.offers ?? "[]");
  const lacks =
    environments.some((name) => !titles.has(name)) || play.querySelector(".seg:not(:has(button))");
  if (lacks && [...environments, ...agents].some((name) => !known.includes(name)))
    location.reload();
}

/** @param {string} game */
const title = (game) => titles.get(game) ?? titled(game);

/** @param {Game} game @param {Position} position */
function said(game, position) {
  if (!game.over) return `turn ${position.turn}`;
  return [...result(game, position), position.scene?.reason].filter(Boolean).join(". ") || "over";
}

/** @param {Game} game @param {Position} position @param {boolean} large */
function seats(game, position, large) {
  const { scene } = position;
  return game.agents.map((name, seat) => {
    const score = scene?.seats?.[seat]?.score;
    const worth = typeof score === "number" ? score.toLocaleString("en") : "";
    if (!large) return made("span", {}, sign(scene, seat), `${name}${worth ? ` · ${worth}` : ""}`);
    const acts = position.to_act?.includes(seat) && !game.over;
    const item = made(
      "li",
      { class: acts ? "seat acts" : "seat" },
      sign(scene, seat),
      made("span", { class: "who" }, name),
      made("small", {}, scene?.seats?.[seat]?.name ?? ""),
      made("span", { class: "score" }, worth),
    );
    colour(item, scene);
    item.style.setProperty("--c", `var(--${seatRole(scene, seat)})`);
    return item;
  });
}

/** The button that seats the visitor at once, by the form of the game's tile. @param {Game} game */
function starter({ environment }) {
  const tile = [
    .../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".tile")),
  ].find(({ dataset }) => dataset.name === environment && dataset.level);
  if (!tile) return null;
  const { level } = tile.dataset;
  return made("button", { class: "main", form: tile.id, name: "level", value: level }, "Play");
}

/** @param {HTMLElement} target @param {Game} game @param {Position} position @param {boolean} large */
function show(target, game, position, large) {
  const key = `${game.episode} ${position.turn} ${game.over}`;
  const before = shown.get(target);
  if (before?.key === key) return;
  const { scene } = position;
  const address = `/game/${encodeURIComponent(game.episode)}`;
  const frame = scene ? draw(scene) : made("pre", {}, position.text ?? "");
  frame.setAttribute("aria-hidden", "true");
  const badge = made(
    "span",
    { class: game.over ? "badge" : "badge now" },
    game.over ? "Over" : "Live",
  );
  if (large) {
    const info = made(
      "div",
      { class: "info" },
      made(
        "div",
        { class: "row" },
        badge,
        made("span", { class: "small muted" }, said(game, position)),
      ),
      made("h2", {}, title(game.environment)),
      made("ul", { class: "seats" }, ...seats(game, position, true)),
      made(
        "div",
        { class: "row end" },
        starter(game),
        made("a", { class: "button", href: address }, "Watch"),
      ),
    );
    target.replaceChildren(frame, info);
  } else {
    const words = made(
      "div",
      {},
      made("h3", {}, title(game.environment)),
      made("div", { class: "pair small" }, ...seats(game, position, false)),
      made("p", { class: "tiny muted" }, said(game, position)),
    );
    colour(words, scene);
    target.replaceChildren(frame, words);
    target.setAttribute("href", address);
  }
  const same = before?.key.split(" ")[0] === String(game.episode);
  if (scene && same) slide(frame, scene, before?.scene);
  shown.set(target, { key, scene });
}

/** Lead back to the games that this browser's person plays. */
async function back() {
  const links = await Promise.all(
    kept().map(async ([table, { href, title }]) => {
      const answer = await fetch(`/table/${encodeURIComponent(table)}/over`).catch(() => null);
      const over = answer?.ok ? await answer.json() : answer?.status === 404;
      if (over) forget(table);
      return over ? [] : [made("a", { class: "button main", href }, `Continue ${title}`)];
    }),
  );
  of("yours").hidden = !links.flat().length;
  of("yours-links").replaceChildren(...links.flat());
}
if (of("yours")) {
  back();
  window.addEventListener("pageshow", ({ persisted }) => persisted && back());
}

live(
  { about: "now" },
  ({ now }) => {
    if (!now) return;
    if (now.problem) of("problem").textContent = now.problem;
    else if (of("problem").dataset.live) of("problem").textContent = "";
    renew(now);
    for (const { episode, position } of now.games) if (position) positions.set(episode, position);
    const drawn = now.games.filter(
      ({ episode, result }) => positions.get(episode)?.scene && result?.reason !== "cancelled",
    );
    /** Games in progress come first, then those whose last position was seen. @param {Game} game */
    const rank = ({ over, episode }) => (!over ? 0 : positions.get(episode)?.reason ? 1 : 2);
    /** The best game to show of each kind. @type {Map<string, Game>} */
    const kinds = new Map();
    for (const game of [...drawn].sort((a, b) => rank(a) - rank(b))) {
      if (!kinds.has(game.environment)) kinds.set(game.environment, game);
    }
    const wall = [...titles.keys()];
    const games = [...kinds.values()].sort(
      (a, b) =>
        Number(a.over) - Number(b.over) ||
        wall.indexOf(a.environment) - wall.indexOf(b.environment),
    );
    const first =
      games.find(({ environment }) => environment === of("feature").dataset.game) ?? games[0];
    of("live").hidden = !first && of("live").dataset.shown === undefined;
    const idle = document.getElementById("idle");
    if (idle) idle.hidden = Boolean(first);
    if (!first) return;
    // A game that was seen to be played keeps its place, so that its end is seen, too.
    if (!first.over) of("feature").dataset.game = first.environment;
    show(of("feature"), first, /** @type {Position} */ (positions.get(first.episode)), true);
    const others = games.filter((game) => game !== first).slice(0, SMALL);
    const minis = of("minis");
    while (minis.children.length > others.length) minis.lastElementChild?.remove();
    others.forEach((game, n) => {
      if (!minis.children[n]) minis.append(made("a", { class: "panel mini" }));
      const target = /** @type {HTMLElement} */ (minis.children[n]);
      show(target, game, /** @type {Position} */ (positions.get(game.episode)), false);
    });
  },
  (lost) => {
    for (const badge of document.querySelectorAll(".badge.now"))
      /** @type {HTMLElement} */ (badge).hidden = lost;
    if (lost) of("problem").dataset.live = "true";
    of("problem").textContent = lost ? LOST : "";
  },
);
