/**
 * The frames of this session and their answers: the rule for repeats.
 * @module
 */

import type { Heard, Role } from "./messages.js";

/** Bytes of answers that are kept at the most, and what counts for each beside its own (S11.4). */
const MOST = 1 << 28;
const EACH = 64;

/**
 * Tells what is new from what came before.  Numbers (`seq`) rise within the session, so a frame that is not above the
 * highest came before: it gets the same answer again if it was answered, and is ignored otherwise.
 */
export class Inbox {
  #seen = 0;
  /** True if the broker ever sends anything again. */
  #keeping = true;
  readonly #answers = new Map<number, Uint8Array>();
  /** Their bytes. */
  #kept = 0;

  /** Return whether a message is new; a repeated one adds its answer to `out`. */
  take(message: Heard[Role], out: Uint8Array[]): boolean {
    if (message.type === "welcome") {
      this.#keeping = message.heartbeat > 0;
      if (!message.resumed) {
        this.#seen = this.#kept = 0;
        this.#answers.clear();
      }
    } else if (message.type === "ping") {
      for (const seq of this.#answers.keys()) if (seq <= message.settled) this.forget(seq);
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
    this.forget(seq);
    const size = answer.length + EACH;
    if (!this.#keeping || seq === 0 || this.#kept + size > MOST) return;
    this.#kept += size;
    this.#answers.set(seq, answer);
  }

  /** Forget an answer that has arrived, since a frame came that follows from it. */
  forget(seq: number): void {
    const answer = this.#answers.get(seq);
    if (answer === undefined) return;
    this.#kept -= answer.length + EACH;
    this.#answers.delete(seq);
  }
}

/** Return the number of a frame; 0 if it has none. */
export function seqOf(message: Heard[Role]): number {
  return "seq" in message ? message.seq : 0;
}
