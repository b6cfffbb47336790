/**
 * The frames of this session and their answers: the rule for repeats.
 * @module
 */

import type { Heard, Role } from "./messages.js";

/**
 * Tells what is new from what came before.  Numbers (`seq`) rise within the session, so a frame that is not above the
 * highest came before: it gets the same answer again if it was answered, and is ignored otherwise.
 */
export class Inbox {
  #seen = 0;
  /** True if the broker ever sends anything again. */
  #keeping = true;
  readonly #answers = new Map<number, Uint8Array>();

  /** Return whether a message is new; a repeated one adds its answer to `out`. */
  take(message: Heard[Role], out: Uint8Array[]): boolean {
    if (message.type === "welcome") {
      this.#keeping = message.heartbeat > 0;
      if (!message.resumed) {
        this.#seen = 0;
        this.#answers.clear();
      }
    } else if (message.type === "ping") {
      for (const seq of this.#answers.keys()) if (seq <= message.settled) this.#answers.delete(seq);
    }
    const seq = seqOf(message);
    if (seq > this.#seen) {
      this.#seen = seq;
      return true;
    }
    const answer = this.#answers.get(seq);
    if (answer !== undefined) out.push(answer);
    return seq === 0;
  }

  /** Keep the answer to a frame until the broker has settled it. */
  keep(seq: number, answer: Uint8Array): void {
    if (this.#keeping && seq > 0) this.#answers.set(seq, answer);
  }

  /** Forget an answer that has arrived, since a frame came that follows from it. */
  forget(seq: number): void {
    this.#answers.delete(seq);
  }
}

/** Return the number of a frame; 0 if it has none. */
export function seqOf(message: Heard[Role]): number {
  return "seq" in message ? message.seq : 0;
}
