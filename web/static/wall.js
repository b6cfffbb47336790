// Games as small boards that move, and plain tables.
import { draw } from "./board.js";

/** Show rows of texts under heads. @param {HTMLElement} target @param {string[]} heads @param {unknown[][]} rows */
export function table(target, heads, rows) {
  const made = document.createElement("thead"), body = document.createElement("tbody");
  /** @param {unknown[]} cells @param {string} kind */
  const row = (cells, kind) => {
    const line = document.createElement("tr");
    for (const each of cells) { const cell = document.createElement(kind); cell.textContent = String(each ?? ""); line.append(cell); }
    return line;
  };
  made.append(row(heads, "th"));
  body.append(...rows.map((cells) => row(cells, "td")));
  target.replaceChildren(made, body);
}

/** Return what shows games in a list, and changes only those that have moved. @param {HTMLElement} list */
export function wall(list) {
  /** @type {Map<number, { key: string, item: HTMLElement }>} */
  const shown = new Map();
  /** @param {any[]} games */
  const show = (games) => {
    const present = new Set();
    for (const game of games) {
      present.add(game.episode);
      const key = `${game.count} ${game.over}`;
      const before = shown.get(game.episode);
      if (before?.key === key) continue;
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `/game/${game.episode}`;
      link.textContent = `${game.environment}${game.environment && ": "}${game.agents.join(" – ")}${game.over ? " (over)" : ""}`;
      /** @type {Element} */
      let picture;
      if (game.position.scene) { picture = draw(game.position.scene); picture.setAttribute("aria-hidden", "true"); picture.removeAttribute("role"); }
      else { picture = document.createElement("pre"); picture.textContent = game.position.text ?? ""; }
      item.append(picture, link);
      if (before) before.item.replaceWith(item); else list.append(item);
      shown.set(game.episode, { key, item });
    }
    for (const [episode, { item }] of shown) if (!present.has(episode)) { item.remove(); shown.delete(episode); }
  };
  return show;
}
