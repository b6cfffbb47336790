// Games as small boards that move, and plain tables.
import { draw, slide } from "./board.js";
import { made } from "./dom.js";
import { result, titled } from "./words.js";

/** Show rows of texts under heads. @param {HTMLElement} target @param {string[]} heads @param {unknown[][]} rows */
export function table(target, heads, rows) {
  const head = made("tr", {}, ...heads.map((text) => made("th", { scope: "col" }, text)));
  const lines = rows.map((cells) =>
    made("tr", {}, ...cells.map((each) => made("td", {}, String(each ?? "")))),
  );
  target.replaceChildren(made("thead", {}, head), made("tbody", {}, ...lines));
}

/** How a game ended, after the names of its agents. @param {Game} game @param {Position} position */
const over = (game, position) =>
  game.over ? `. ${result(game, position).filter(Boolean).join(". ") || "Over"}.` : "";

/** Return what shows games in a list, and changes only those that have moved. @param {HTMLElement} list @param {boolean} [named] whether to name the game */
export function wall(list, named = true) {
  /** @type {Map<number, { key: string, item: HTMLElement, scene?: Scene | null }>} */
  const shown = new Map();
  /** The newest position of each game, which comes only if it is new. @type {Map<number, Position>} */
  const positions = new Map();
  /** The titles of the games in the catalogue. @type {Record<string, string>} */
  const titles = JSON.parse(list.dataset.titles ?? "{}");
  /** @param {string} game */
  const title = (game) => titles[game] ?? titled(game);
  /** @param {Now["games"]} games @param {number} [most] */
  return (games, most = Infinity) => {
    for (const { episode, position } of games) if (position) positions.set(episode, position);
    for (const episode of positions.keys())
      if (!games.some((game) => game.episode === episode)) positions.delete(episode);
    const present = new Set();
    for (const game of games.slice(0, most)) {
      const position = positions.get(game.episode);
      if (!position) continue;
      present.add(game.episode);
      const key = `${game.first + game.count} ${game.over} ${game.result !== null}`;
      const before = shown.get(game.episode);
      if (before?.key === key) continue;
      const { scene } = position;
      const picture = scene ? draw(scene) : made("pre", {}, position.text ?? "");
      if (scene) picture.setAttribute("aria-hidden", "true");
      const href = `/game/${encodeURIComponent(game.episode)}`;
      const text = `${named && game.environment ? `${title(game.environment)}: ` : ""}${game.agents.join(" – ")}${over(game, position)}`;
      const item = made("li", {}, picture, made("a", { href }, text));
      if (before) before.item.replaceWith(item);
      else list.append(item);
      if (scene) slide(picture, scene, before?.scene);
      shown.set(game.episode, { key, item, scene });
    }
    for (const [episode, { item }] of shown)
      if (!present.has(episode)) {
        item.remove();
        shown.delete(episode);
      }
  };
}
