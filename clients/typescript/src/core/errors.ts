/**
 * Errors.
 * @module
 */

import type { Code } from "./messages.js";

/** An error that the user can fix; the message is one line. */
export class DovetailError extends Error {
  override name = "DovetailError";
}

/** A frame that cannot be read. */
export class ProtocolError extends DovetailError {
  override name = "ProtocolError";
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
  }
}

/** The broker, or who it passed a request to, answered with an `error`. */
export class Refused extends DovetailError {
  override name = "Refused";
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(oneLine(message));
  }
}

/** The broker has left, or no longer knows this session. */
export class SessionLost extends DovetailError {
  override name = "SessionLost";
}

/** The rules refuse the action of a seat; the episode is as before. */
export class IllegalAction extends DovetailError {
  override name = "IllegalAction";
  constructor(
    message: string,
    readonly seat: number,
  ) {
    super(message);
  }
}

/** Return one line about a call that failed, whatever was thrown; `where` says whose and when. */
export function failure(error: unknown, where: string): string {
  if (error instanceof DovetailError) return oneLine(`${where} failed: ${error.message}`);
  return describe(error, where);
}

/** Return one line for a person about what was thrown; a `DovetailError` says all by itself. */
export function describe(error: unknown, where: string): string {
  if (error instanceof DovetailError) return oneLine(error.message);
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return oneLine(`${where} threw ${text}`);
}

/** Line ends, control characters, and those that turn the reading order (S13.5). */
const OBEYED = /[\s\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f]+/g;

/** Return a text, which another program may have made, as one line for a person. */
export function oneLine(text: string): string {
  return text.replace(OBEYED, " ").trim().slice(0, 300);
}
