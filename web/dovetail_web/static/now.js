// What is connected and played.
import { of } from "./dom.js";
import { LOST, live } from "./live.js";
import { table, wall } from "./wall.js";

const boards = wall(of("games"));

live(
  { about: "now" },
  ({ now }) => {
    if (!now) return;
    of("problem").textContent = now.problem;
    const count = now.counters ?? {};
    of("counts").textContent =
      `${now.environments.length} kinds of games and ${now.agents.length} kinds of agents on offer; ${count.episodes ?? 0} episodes with ${count.turns ?? 0} turns; ${now.rate.toFixed(1)} games per second; ${count.refused ?? 0} messages refused, ${count.ignored ?? 0} came too late.`;
    table(
      of("runs"),
      ["Run", "Game", "Agents", "State", "Finished"],
      now.runs.map((run) => [
        run.run,
        run.environment.slice(0, 100),
        run.agents.map((name) => name.slice(0, 100)).join(", "),
        run.state,
        `${run.finished} of ${run.episodes}`,
      ]),
    );
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
    of("none").hidden = now.games.length > 0;
    boards(now.games);
  },
  (lost) => {
    if (lost) of("problem").textContent = LOST;
  },
);
