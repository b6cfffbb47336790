// The wall of an arena: the newest games, and who leads.
import { of } from "./dom.js";
import { LOST, live } from "./live.js";
import { table, wall } from "./wall.js";

const boards = wall(of("games"), false);
const SHOWN = 9, AGAIN = 3000;

live({ about: `wall:${of("hall").dataset.game}` }, ({ now }) => {
  if (!now) return;
  of("problem").textContent = now.problem;
  boards(now.games, SHOWN);
}, (lost) => { if (lost) of("problem").textContent = LOST; });

async function leaders() {
  try {
    const found = await (await fetch(`/arena/${encodeURIComponent(of("hall").dataset.ladder ?? "")}/wall.json`)).json();
    table(of("leaders"), ["Place", "Agent", "Elo, 95 %", "Points", "Units"], found.rows.map((/** @type {any} */ row, /** @type {number} */ place) => [place + 1, row.name, row.elo, row.points, row.units]));
  } catch { /* the connection above says so */ }
  setTimeout(leaders, AGAIN);
}
leaders();
