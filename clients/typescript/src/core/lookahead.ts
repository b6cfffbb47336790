/**
 * Lookahead: what would follow from sequences of actions, played on copies of an episode.
 * @module
 */

import type { Environment, Turn } from "./environment.js";
import { IllegalAction } from "./errors.js";
import { Preview, View } from "./messages.js";
import type { Complete } from "./schema.js";

/** A `Preview` as it is sent. */
type Reached = Required<Preview>;

/**
 * Return the previews in the body of a reply.
 * @throws TypeError: it has none
 */
export function previewsOf(body: readonly Partial<Preview>[]): Complete<Preview>[] {
  return body.map((each) => {
    const preview = Preview.complete(each);
    return { ...preview, seats: preview.seats.map((view) => View.complete(view)) };
  });
}

/**
 * Return what each line leads to.
 *
 * @param root - makes a fork of the episode, every time with the same draw
 * @param toAct - the seats to act there
 * @param seats - how many there are
 * @param lines - sequences of entries with one action for each seat to act, in their order
 */
export async function previews(
  root: () => Environment,
  toAct: readonly number[],
  seats: number,
  lines: readonly (readonly (readonly unknown[])[])[],
): Promise<Reached[]> {
  const first = Preview.complete({ to_act: toAct, rewards: new Array<number>(seats).fill(0) });
  const found: Reached[] = [];
  for (const line of lines) {
    const game = root();
    let preview = first;
    for (const actions of line) {
      preview = await after(game, preview, actions);
      if (preview.error) break;
    }
    found.push(preview);
  }
  return found;
}

/** Apply one entry of a line. */
async function after(game: Environment, before: Reached, actions: readonly unknown[]): Promise<Reached> {
  const { to_act: toAct } = before;
  if (toAct.length === 0) return { ...before, error: "the episode would be over" };
  if (actions.length !== toAct.length) {
    return { ...before, error: `${actions.length} actions for the seats [${toAct.join(", ")}]` };
  }
  let turn: Turn;
  try {
    turn = await game.step(new Map(toAct.map((seat, i) => [seat, actions[i]])));
  } catch (error) {
    if (error instanceof IllegalAction) return { ...before, error: error.message };
    throw error;
  }
  const { to_act, seats = [], terminated, truncated, outcome } = turn;
  const rewards = [...before.rewards];
  for (const view of seats) rewards[view.seat] += view.reward ?? 0;
  const applied = before.applied + 1;
  return Preview.complete({ to_act, seats, rewards, terminated, truncated, outcome, applied });
}
