/**
 * A peer's end of a session, without the socket: hello, heartbeats, resumption.
 *
 * Frames and the time, in seconds, go in; messages and frames come out.
 * @module
 */

import { errorFrame, read } from "./codec.js";
import { encode } from "./encode.js";
import { ProtocolError, Refused } from "./errors.js";
import { VERSION } from "./messages.js";
import type { Heard, Hello, Pong, Role, Welcome } from "./messages.js";

/** What a peer says of itself besides its role, at first and again after a reconnection. */
export type Identity = Omit<Hello, "type" | "version" | "role" | "resume">;

/** Errors in answer to `hello` that saying it again does not mend. */
const FATAL = new Set(["version", "access", "name-taken"]);

/** What came of some frames. */
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
  /** Whether the broker said `bye`. */
  departed = false;
  #heard = 0;
  #greeted = false;

  constructor(
    readonly role: R,
    readonly identity: Identity,
  ) {}

  /** Return the frame of a `hello` that asks for the session that there was. */
  greet(now: number): Uint8Array {
    this.#heard = now;
    this.#greeted = true;
    const { role, identity } = this;
    const resume = this.welcome?.session;
    return encode({ type: "hello", version: VERSION, ...identity, role, resume } satisfies Hello);
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
        answers.push(errorFrame(error.code, error.message));
        continue;
      }
      switch (message.type) {
        case "ping":
          answers.push(encode({ type: "pong", number: message.number } satisfies Pong));
          break;
        case "pong":
          break;
        case "bye":
          this.departed = true;
          break;
        case "welcome":
          this.welcome = message;
          this.#greeted = false;
          messages.push(message);
          break;
        case "error":
          if (message.code === "hello-first") {
            // Frames that were under way before our hello get one each; one hello is enough.
            if (!this.#greeted) answers.push(this.greet(now));
            break;
          }
          if (this.#greeted && (FATAL.has(message.code) || this.#badHello(message.code))) {
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

  /** Before the first welcome nothing but hello was said, so what is bad must be it. */
  #badHello(code: string): boolean {
    return this.welcome === null && (code === "invalid" || code === "wrong-state");
  }

  /** Whether the broker was not heard for so long that the connection must be made anew. */
  silent(now: number): boolean {
    return now - this.#heard > Math.max(4 * (this.welcome?.heartbeat ?? 0), 2);
  }
}
