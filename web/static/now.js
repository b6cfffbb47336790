// What is connected and played.
import { draw } from "./board.js";
import { live } from "./live.js";

const of = (id) => document.getElementById(id);
const shown = new Map();

function table(target, heads, rows) {
  const made = document.createElement("thead"), body = document.createElement("tbody");
  const row = (cells, kind) => {
    const line = document.createElement("tr");
    for (const each of cells) { const cell = document.createElement(kind); cell.textContent = String(each ?? ""); line.append(cell); }
    return line;
  };
  made.append(row(heads, "th"));
  body.append(...rows.map((cells) => row(cells, "td")));
  target.replaceChildren(made, body);
}

live({ about: "now" }, ({ now }) => {
  if (!now) return;
  of("problem").textContent = now.problem;
  const count = now.counters ?? {};
  of("counts").textContent = `${now.environments.length} kinds of games and ${now.agents.length} kinds of agents on offer; ${count.episodes ?? 0} episodes with ${count.turns ?? 0} turns; ${now.rate.toFixed(1)} games per second.`;
  table(of("runs"), ["Run", "Game", "Agents", "State", "Finished"], now.runs.map((run) => [run.run, run.environment, run.agents.join(", "), run.state, `${run.finished} of ${run.episodes}`]));
  table(of("peers"), ["Name", "Role", "State", "Software"], now.peers.map((peer) => [peer.name.slice(0, 100), peer.role, peer.state, peer.software.slice(0, 100)]));
  of("none").hidden = now.games.length > 0;
  const present = new Set();
  for (const game of now.games) {
    present.add(game.episode);
    const key = `${game.count} ${game.over}`;
    const before = shown.get(game.episode);
    if (before?.key === key) continue;
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `/game/${game.episode}`;
    link.textContent = `${game.environment}: ${game.agents.join(" – ")}${game.over ? " (over)" : ""}`;
    let picture;
    if (game.position.scene) { picture = draw(game.position.scene); picture.setAttribute("aria-hidden", "true"); picture.removeAttribute("role"); }
    else { picture = document.createElement("pre"); picture.textContent = game.position.text; }
    item.append(picture, link);
    if (before) before.item.replaceWith(item); else of("games").append(item);
    shown.set(game.episode, { key, item });
  }
  for (const [episode, { item }] of shown) if (!present.has(episode)) { item.remove(); shown.delete(episode); }
}, (lost) => { if (lost) of("problem").textContent = "The page's server does not answer; trying again."; });
