/**
 * Dovetail for pages: everything of the core, and connections over WebSocket to a broker with `--web`.
 *
 * It needs no bundler: a page may import the compiled modules as they are.
 * @module
 */

import type { Experiment, Role } from "../core/index.js";
import type { Transport } from "../peer/link.js";
import { answer, conduct, hostOf } from "../peer/serve.js";
import type { PeerOptions, Served, ServingOptions } from "../peer/serve.js";
import { Socket } from "./socket.js";

export * from "../core/index.js";
export { SOFTWARE } from "../peer/serve.js";
export type { PeerOptions, Served, ServingOptions } from "../peer/serve.js";

/** The default address of a broker's WebSocket. */
export const ADDRESS = "ws://127.0.0.1:5758";

/** The broker's address, and the connecting program's options. */
export interface ConnectOptions extends PeerOptions {
  /** The broker's address for pages, port 5758 here if absent. */
  broker?: string;
}

/** How a page serves; without `problem`, what went wrong is written to the console. */
export interface ServeOptions extends ConnectOptions, ServingOptions {}

function way({ broker = ADDRESS }: ConnectOptions): Transport {
  const origin = globalThis.location?.origin ?? "";
  return {
    address: broker,
    // A page is not told why a WebSocket is refused.
    remedy: `start one with \`dovetail broker --web HOST:PORT --web-origin ${origin}\``,
    connect: (ears) => new Socket(broker, ears),
  };
}

function complain(line: string, thrown?: unknown): void {
  console.error(line, ...(thrown === undefined ? [] : [thrown]));
}

/**
 * Connect and answer until the broker leaves, or the page is told to stop.
 *
 * @throws DovetailError: there is no broker, or it refuses this page.
 */
export function serve(served: Served, options: ServeOptions = {}): Promise<void> {
  return answer<Role>(hostOf(served), way(options), { ...options, problem: options.problem ?? complain });
}

/**
 * Connect an experiment to a broker.
 *
 * @throws DovetailError: there is none, or it refuses this page.
 */
export function connect(options: ConnectOptions = {}): Promise<Experiment> {
  return conduct(way(options), options, complain);
}
