// The page of a ladder: the newest games as small boards.
import { of } from "./dom.js";
import { live } from "./live.js";
import { wall } from "./wall.js";

const SHOWN = 2;
const boards = wall(of("games"), false);
const panel = of("being");

live({ about: `wall:${panel.dataset.game}` }, ({ now }) => {
  if (!now) return;
  boards(now.games, SHOWN);
  panel.hidden = of("games").childElementCount === 0;
});
