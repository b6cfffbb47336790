// Games as small boards that move, and plain tables.
import { draw, slide } from "./board.js";
import { ending, titled } from "./words.js";

/** Show rows of texts under heads. @param {HTMLElement} target @param {string[]} heads @param {unknown[][]} rows */
export function table(target, heads, rows) {
  const made = document.createElement("thead"),
    body = document.createElement("tbody");
  /** @param {unknown[]} cells @param {string} kind */
  const row = (cells, kind) => {
    const line = document.createElement("tr");
    for (const each of cells) {
      const cell = document.createElement(kind);
      if (kind === "th") cell.setAttribute("scope", "col");
      cell.textContent = String(each ?? "");
      line.append(cell);
    }
    return line;
  };
  made.append(row(heads, "th"));
  body.append(...rows.map((cells) => row(cells, "td")));
  target.replaceChildren(made, body);
}

/** How a game ended, after the names of its agents. @param {Game} game @param {Position} position */
function over(game, position) {
  if (!game.over) return "";
  const end = { ...position, ...game.result, outcome: game.result?.outcome ?? position.outcome };
  const [{ text }, how] = ending(end, (seat) => game.agents[seat] ?? `player ${seat + 1}`);
  return `. ${[text, how].filter(Boolean).join(". ") || "Over"}.`;
}

/** Return what shows games in a list, and changes only those that have moved. @param {HTMLElement} list @param {boolean} [named] whether to name the game */
export function wall(list, named = true) {
  /** @type {Map<number, { key: string, item: HTMLElement, scene?: Scene | null }>} */
  const shown = new Map();
  /** The newest position of each game, which comes only if it is new. @type {Map<number, Position>} */
  const positions = new Map();
  /** What the catalogue calls the games. @type {Record<string, string>} */
  const titles = JSON.parse(list.dataset.titles ?? "{}");
  /** @param {string} game */
  const title = (game) => titles[game] ?? titled(game);
  /** @param {Now["games"]} games @param {number} [most] */
  const show = (games, most = Infinity) => {
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
      const item = document.createElement("li"),
        link = document.createElement("a");
      link.href = `/game/${encodeURIComponent(game.episode)}`;
      link.textContent = `${named && game.environment ? `${title(game.environment)}: ` : ""}${game.agents.join(" – ")}${over(game, position)}`;
      /** @type {Element} */
      let picture;
      if (position.scene) {
        picture = draw(position.scene);
        picture.setAttribute("aria-hidden", "true");
        picture.removeAttribute("role");
      } else {
        picture = document.createElement("pre");
        picture.textContent = position.text ?? "";
      }
      item.append(picture, link);
      if (before) before.item.replaceWith(item);
      else list.append(item);
      if (position.scene)
        slide(/** @type {SVGSVGElement} */ (picture), position.scene, before?.scene);
      shown.set(game.episode, { key, item, scene: position.scene });
    }
    for (const [episode, { item }] of shown)
      if (!present.has(episode)) {
        item.remove();
        shown.delete(episode);
      }
  };
  return show;
}
