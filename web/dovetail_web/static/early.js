// A game's connection, opened while the rest of the page's code is still on its way.
import { of } from "./dom.js";
import { live } from "./live.js";

const { about = "", chair = "" } = of("game").dataset;
/** Messages that came before anything listened. @type {News[]} */
const kept = [];
/** @type {(message: News) => void} */
let heard = (message) => {
  kept.push(message);
};
/** @type {(lost: boolean) => void} */
let told = () => {};

/** Nothing is connected on the page of a replay. @type {((message: object) => void) | null} */
const send = about.startsWith("replay:")
  ? null
  : live(
      { about, chair },
      (message) => heard(message),
      (lost) => told(lost),
    );

/** Hear what came and what comes; return what sends. @param {(message: News) => void} listener @param {(lost: boolean) => void} lost told when the connection is lost or back */
export function taken(listener, lost) {
  heard = listener;
  told = lost;
  for (const message of kept.splice(0)) listener(message);
  return send ?? (() => {});
}
