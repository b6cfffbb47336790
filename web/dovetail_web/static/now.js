// The page of connected programs and running games.
import { of } from "./dom.js";
import { LOST, live } from "./live.js";
import { table, wall } from "./wall.js";
import { titled } from "./words.js";

const boards = wall(of("games"));
/** The titles of the games in the catalogue. @type {Record<string, string>} */
const titles = JSON.parse(of("games").dataset.titles ?? "{}");

/** @param {number} count @param {string} what */
const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

live(
  { about: "now" },
  ({ now }) => {
    if (!now) return;
    of("problem").textContent = now.problem;
    const { episodes = 0, turns = 0 } = now.counters ?? {};
    const playing = now.runs.reduce((sum, run) => sum + run.playing, 0);
    const rate = now.rate < 0.05 ? "" : `, ${now.rate.toFixed(1)} a second now`;
    of("counts").textContent =
      `On offer: ${counted(new Set(now.environments).size, "game")}, ${counted(new Set(now.agents).size, "agent")}. ` +
      `In progress: ${counted(playing, "game")}. ` +
      `Finished since the broker started: ${counted(episodes, "game")} with ${counted(turns, "turn")}${rate}.`;
    table(
      of("runs"),
      ["Run", "Game", "Players", "State", "Games finished"],
      now.runs.map((run) => [
        run.run,
        titles[run.environment] ?? titled(run.environment.slice(0, 100)),
        run.agents.map((name) => name.slice(0, 100)).join(", "),
        run.state,
        `${run.finished} of ${run.episodes}`,
      ]),
    );
    of("programs").textContent = `Connected programs (${now.peers.length})`;
    table(
      of("peers"),
      ["Name", "Role", "State", "Software"],
      now.peers.map((peer) => [
        peer.name.slice(0, 100),
        peer.role,
        peer.state,
        peer.software.slice(0, 100),
      ]),
    );
    // A game that was broken off, such as one that no one looked at any more, says nothing.
    const games = now.games.filter(({ result }) => result?.reason !== "cancelled");
    of("none").hidden = games.length > 0;
    boards(games);
  },
  (lost) => {
    if (lost) of("problem").textContent = LOST;
  },
);
