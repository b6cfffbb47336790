/**
 * A peer's end of a session, without the socket: hello, heartbeats, resumption.
 *
 * Frames and the time, in seconds, go in; messages and frames come out.
 * @module
 */

import { decode, errorFrame, read } from "./codec.js";
import { encode } from "./encode.js";
import { ProtocolError, Refused } from "./errors.js";
import { seqOf } from "./inbox.js";
import { VERSION } from "./messages.js";
import type { Error as Failure, Heard, Hello, Pong, Role, Welcome } from "./messages.js";

/** A peer's `hello` without its role, sent at first and again after a reconnection. */
export type Identity = Omit<Hello, "type" | "version" | "role" | "resume" | "seen">;

/** Errors in answer to `hello` that saying it again does not mend. */
const FATAL = new Set(["version", "access", "name-taken"]);

/** Errors that a peer gets before its first `welcome` only if its `hello` is at fault. */
const UNREADABLE = new Set(["invalid", "malformed", "limit"]);

/** Seconds that a `hello` may be without an answer at first, and at most; each time it is twice as long. */
const FIRST_ANSWER = 4;
const LAST_ANSWER = 16;

/** The result of taking some frames. */
export interface Received<R extends Role> {
  /** For the role, in order; a `welcome` among them. */
  readonly messages: Heard[R][];
  /** To be sent at once. */
  readonly answers: Uint8Array[];
}

/** Keeps one peer known to its broker. */
export class Session<R extends Role = Role> {
  /** The last `welcome`; null before the first. */
  welcome: Welcome | null = null;
  /** True if the broker said `bye`. */
  departed = false;
  /** The highest `seq` that has arrived. */
  #seen = 0;
  #heard = 0;
  /** Seconds to wait for the answer to `hello`; 0 if none is under way. */
  #answer = 0;

  constructor(
    readonly role: R,
    readonly identity: Identity,
  ) {}

  /** Return the frame of a `hello` that resumes an earlier session, if any. */
  greet(now: number): Uint8Array {
    this.#heard = now;
    this.#answer = Math.min(Math.max(2 * this.#answer, FIRST_ANSWER), LAST_ANSWER);
    const { role, identity } = this;
    const resume = this.welcome?.session;
    return encode({
      type: "hello",
      version: VERSION,
      ...identity,
      role,
      resume,
      seen: this.#seen,
    } satisfies Hello);
  }

  /**
   * Take frames of the broker.
   * @throws Refused: the broker refuses this peer; the text says why.
   */
  receive(frames: readonly Uint8Array[], now: number): Received<R> {
    this.#heard = now;
    const messages: Heard[R][] = [];
    const answers: Uint8Array[] = [];
    for (const frame of frames) {
      let message: Heard[R];
      try {
        message = read(this.role, frame, this.welcome?.limits);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        answers.push(errorFrame(error.code, error.message, asked(frame)));
        continue;
      }
      this.#seen = Math.max(this.#seen, seqOf(message));
      switch (message.type) {
        case "ping":
          answers.push(encode({ type: "pong", number: message.number, seen: this.#seen } satisfies Pong));
          messages.push(message);
          break;
        case "pong":
          break;
        case "bye":
          this.departed = true;
          break;
        case "welcome":
          if (this.#begins(message)) messages.push(message);
          break;
        case "error":
          if (message.code === "hello-first") {
            // Frames that were under way before our hello get one each; one hello is enough.
            if (!this.#answer) answers.push(this.greet(now));
            break;
          }
          if ((this.#answer && this.#isFinal(message.code)) || expels(message)) {
            this.#answer = 0;
            throw new Refused(message.code, `the broker refuses: ${message.message}`);
          }
          messages.push(message);
          break;
        default:
          messages.push(message);
      }
    }
    return { messages, answers };
  }

  /** Take a welcome; return whether it is news: the one for a `hello` that was said twice comes twice. */
  #begins(welcome: Welcome): boolean {
    this.#answer = 0;
    if (!welcome.resumed && welcome.session === this.welcome?.session) return false;
    if (!welcome.resumed) this.#seen = 0;
    this.welcome = welcome;
    return true;
  }

  /** True if another `hello` would get the same error. */
  #isFinal(code: string): boolean {
    return FATAL.has(code) || (this.welcome === null && UNREADABLE.has(code));
  }

  /** Seconds of silence that mean nothing yet. */
  get patience(): number {
    if (this.welcome?.heartbeat === 0) return Infinity;
    return Math.max(4 * (this.welcome?.heartbeat ?? 0), 2);
  }

  /** True if the broker has been silent for so long that the peer must say `hello` again. */
  silent(now: number): boolean {
    return now - this.#heard > Math.max(this.patience, this.#answer);
  }
}

/** True if an error says that this peer may not stay, because its key was revoked, for instance. */
function expels({ code, id, answers }: Failure): boolean {
  return code === "access" && (id ?? null) === null && (answers ?? null) === null;
}

/** Return the number of a frame that cannot be read as a message, so that the refusal answers it. */
function asked(frame: Uint8Array): Pick<Failure, "id" | "answers"> {
  try {
    const { id, seq } = decode(frame) as Record<string, unknown>;
    if (isInt(id)) return { id };
    return isInt(seq) ? { answers: seq } : {};
  } catch {
    return {};
  }
}

function isInt(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
