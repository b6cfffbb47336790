// What the page says of the end of a game.

/** By reason, what the seat to blame has done. @type {Record<string, string>} */
const FAULTS = {
  terminated: "resigned", timeout: "ran out of time", stalled: "did not answer", disconnected: "left",
  "illegal-action": "chose an illegal action", crashed: "failed", truncated: "made a fault",
};
/** By reason, what happened if no seat is to blame. @type {Record<string, string>} */
const ENDS = { truncated: "It was cut short", cancelled: "It was cancelled", "environment-failed": "The program that plays the game failed" };

/** Who won, if anyone did. @param {number[] | null | undefined} outcome @param {(seat: number) => string} name */
function won(outcome, name) {
  if (!outcome || outcome.length < 2) return "";
  const best = Math.max(...outcome), winners = outcome.flatMap((score, seat) => (score === best ? name(seat) : []));
  if (winners.length === outcome.length) return "It is a draw";
  return winners.length === 1 ? `${winners[0]} has won` : `${winners.join(" and ")} share the win`;
}

/** How a game ended, in sentences without their full stops. @param {Ending} end @param {(seat: number) => string} name */
export function ending(end, name) {
  const reason = end.reason ?? "", because = end.message && !(reason === "terminated") ? `: ${end.message.replace(/\.$/, "")}` : "";
  const how = typeof end.blame === "number" ? `${name(end.blame)} ${FAULTS[reason] ?? reason}${because}` : reason === "terminated" ? "" : `${ENDS[reason] ?? reason}${because}`;
  return [won(end.outcome, name), how].filter(Boolean);
}
