/**
 * Keys of CURVE, ZeroMQ's encryption (docs/keys.md), and how a broker refuses one.
 * @module
 */

import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import type { Dealer } from "zeromq";
import { DovetailError } from "../core/index.js";

/** A program's pair of keys and its broker's public key, as the options of a socket. */
export interface Key {
  readonly curvePublicKey: string;
  readonly curveSecretKey: string;
  readonly curveServerKey: string;
}

/** Handshakes that a broker may break off in a row, before its key is taken for another. */
const ATTEMPTS = 3;
/** What a broker says of a key that it does not know. */
const DENIED = 400;

const KEY = /^[0-9a-zA-Z.\-:+=^!/*?&<>()[\]{}@%$#]{40}$/;
const LINE = /^\s*(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')\s*(?:#.*)?$/;

/**
 * Read a key file; the environment variable DOVETAIL_SERVER_KEY replaces the broker's public key in it.
 *
 * @throws DovetailError: the file cannot be read, others can read it, or a key is missing.
 */
export function readKey(file: string): Key {
  const path = file.startsWith("~/") ? homedir() + file.slice(1) : file;
  const { text, mode } = contents(path);
  if (process.platform !== "win32" && mode & 0o077) {
    throw new DovetailError(`other users can read the key ${path}; run \`chmod 600 ${path}\``);
  }
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    const parts = LINE.exec(line);
    if (parts) found.set(parts[1]!, parts[2] ?? parts[3]!);
  }
  for (const name of ["public", "secret"]) {
    if (!KEY.test(found.get(name) ?? "")) {
      throw new DovetailError(`${path} has no ${name} key; make one with \`dovetail keys make\``);
    }
  }
  const server = process.env["DOVETAIL_SERVER_KEY"] || found.get("server") || "";
  if (server === "") {
    throw new DovetailError(
      `${path} does not name the broker's public key; add \`server = ...\` to it, or set DOVETAIL_SERVER_KEY`,
    );
  }
  if (!KEY.test(server)) {
    throw new DovetailError(
      `the broker's public key for ${path}: '${server}' is not a key; expected 40 characters such as ` +
        "`dovetail keys make` prints",
    );
  }
  return {
    curvePublicKey: found.get("public")!,
    curveSecretKey: found.get("secret")!,
    curveServerKey: server,
  };
}

function contents(path: string): { text: string; mode: number } {
  let file: number | null = null;
  try {
    file = openSync(path, "r");
    return { text: readFileSync(file, "latin1"), mode: fstatSync(file).mode };
  } catch (error) {
    const why = (error as Error).message.replace(/^\w+: |, \w+( '.*')?$/g, "");
    throw new DovetailError(`cannot read the key ${path}: ${why}`);
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** How a link's handshakes end: ZeroMQ itself tries again for ever, and says nothing. */
export class Handshakes {
  /** Those that the broker broke off, until one succeeds. */
  #failed = 0;
  #met = false;

  /**
   * @param keyed - whether this program has a key
   * @param refused - takes why the broker will never let it in, as an error says it after the broker's address
   */
  constructor(
    private readonly keyed: boolean,
    private readonly refused: (why: string) => void,
  ) {}

  /** Watch a socket that has not connected yet. */
  watch(socket: Dealer): void {
    const { events } = socket;
    events.on("handshake", () => {
      this.#met = true;
      this.#failed = 0;
    });
    events.on("handshake:error:auth", ({ error }) => {
      if (error.status === DENIED)
        this.refused("does not accept this program's key; ask the person who runs it");
      else this.#broken();
    });
    events.on("handshake:error:protocol", ({ error }) => {
      if (error.code !== "ERR_ZMTP_MECHANISM_MISMATCH") this.#broken();
      else if (this.keyed) this.refused("uses no keys; connect without the option key and DOVETAIL_KEY");
      else this.refused("lets in only programs with a key; give the option key, or set DOVETAIL_KEY");
    });
    events.on("handshake:error:other", () => this.#broken());
  }

  #broken(): void {
    this.#failed += 1;
    if (!this.keyed || this.#met || this.#failed < ATTEMPTS) return;
    this.refused(
      "breaks off each handshake; check the broker's public key: `server` in the key file, or DOVETAIL_SERVER_KEY",
    );
  }
}
