/**
 * Frames and the messages in them.
 * @module
 */

import { readAny, readFrame } from "./decode.js";
import { encode } from "./encode.js";
import * as m from "./messages.js";
import type { Heard, Role } from "./messages.js";
import type { Reader } from "./schema.js";

/** The default limits. */
export const LIMITS = m.Limits.complete({});

/**
 * Return the message in a frame, as a peer of a role receives it.
 * @throws ProtocolError: code `limit`, `malformed`, `unknown-type` or `invalid`
 */
export function read<R extends Role>(role: R, frame: Uint8Array, limits: m.Limits = LIMITS): Heard[R] {
  return readFrame(frame, m.readers[role] as Reader<Heard[R]>, limits);
}

/**
 * Return the value in a frame, whatever it is.
 * @throws ProtocolError: code `limit` or `malformed`
 */
export function decode(frame: Uint8Array, limits: m.Limits = LIMITS): unknown {
  return readFrame(frame, readAny, limits);
}

/** The code of an `error`. */
export type About = Omit<m.Error, "type" | "code" | "message">;

/** Return the frame of an `error`. */
export function errorFrame(code: string, message: string, about: About = {}): Uint8Array {
  return encode({ type: "error", code, message, ...about } satisfies m.Error);
}
