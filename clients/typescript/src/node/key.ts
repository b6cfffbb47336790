/**
 * Files with keys of CURVE, ZeroMQ's encryption (docs/keys.md).
 * @module
 */

import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { DovetailError } from "../core/index.js";

/** A program's pair of keys and its broker's public key, 40 characters each. */
export interface Key {
  readonly public: string;
  readonly secret: string;
  readonly server: string;
}

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
  return { public: found.get("public")!, secret: found.get("secret")!, server };
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
