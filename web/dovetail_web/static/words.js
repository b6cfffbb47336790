// Sentences about the end of a game.

/** The name of a game, if it gives no better one. @param {string} game */
export const titled = (game) =>
  game.replaceAll("_", " ").replace(/^\w/, (letter) => letter.toUpperCase());

/**
 * The task for one part of a choice, if the prompt has one for each, else the whole prompt.
 * @param {string} prompt @param {number} picked parts @param {number} most parts
 */
export function task(prompt, picked, most) {
  const tasks = prompt.split("; then ");
  const found = tasks.length === most ? tasks[picked] : prompt;
  return found.replace(/^\w/, (letter) => letter.toUpperCase());
}

/** By reason, what the seat to blame has done. @type {Record<string, string>} */
const FAULTS = {
  terminated: "resigned",
  timeout: "ran out of time",
  stalled: "did not answer",
  disconnected: "left",
  "illegal-action": "chose an illegal action",
  crashed: "failed",
  truncated: "made a fault",
};
/** By reason, what happened if no seat is to blame. @type {Record<string, string>} */
const ENDS = {
  truncated: "It was cut short",
  cancelled: "It was ended before its time",
  "environment-failed": "The program that plays the game failed",
};

/** The winners, if any. @param {number[] | null | undefined} outcome @param {(seat: number) => string} name */
export function winners(outcome, name) {
  if (!outcome || outcome.length < 2) return { winners: [], text: "" };
  const best = Math.max(...outcome);
  const found = outcome.flatMap((score, seat) => (score === best ? [seat] : []));
  if (found.length === outcome.length) return { winners: [], text: "Draw" };
  const names = found.map(name);
  return {
    winners: found,
    text: names.length === 1 ? `${names[0]} won` : `${names.join(" and ")} share the win`,
  };
}

/**
 * The winners, and how else a game ended, without a full stop.
 * @param {Ending} end @param {(seat: number) => string} name
 * @returns {[{ winners: number[], text: string }, string]}
 */
export function ending(end, name) {
  const reason = end.reason ?? "";
  const broken =
    reason === "environment-failed" || reason === "crashed" || reason === "illegal-action";
  const because = end.message && broken ? `: ${end.message.replace(/\.$/, "")}` : "";
  const how =
    typeof end.blame === "number"
      ? `${name(end.blame)} ${FAULTS[reason] ?? reason}${because}`
      : reason === "terminated" || !reason
        ? ""
        : `${ENDS[reason] ?? reason}${because}`;
  return [winners(end.outcome, name), how];
}

/** Says that a game came to its end unseen, as short ones may. @param {Position} position @param {Game["result"]} [result] */
export const lastSeen = (position, result) =>
  result?.reason === "terminated" && (result.blame ?? null) === null && position.to_act?.length
    ? `Last seen at turn ${position.turn}`
    : "";

/** The winners of a watched game, if any, and how else it ended. @param {Game} game @param {Position} position @returns {string[]} */
export function result(game, position) {
  const end = { ...position, ...game.result, outcome: game.result?.outcome ?? position.outcome };
  const [{ text }, how] = ending(end, (seat) => game.agents[seat] ?? `player ${seat + 1}`);
  return [text, how, lastSeen(position, game.result)];
}
