/**
 * Programs that serve agents or environments to a broker, and experiments that use them.
 * @module
 */

import { DovetailError, oneLine } from "../core/index.js";
import type { Experiment, Host, Role, Welcome } from "../core/index.js";
import { Socket } from "../browser/socket.js";
import type { Transport } from "../peer/link.js";
import { answer, conduct, hostOf } from "../peer/serve.js";
import type { PeerOptions, Served, ServingOptions } from "../peer/serve.js";
import { Dealer } from "./dealer.js";
import { readKey } from "./key.js";

/** The default address of a broker. */
export const ADDRESS = "tcp://127.0.0.1:5757";

/** The broker's address, and the connecting program's options. */
export interface ConnectOptions extends PeerOptions {
  /** A ZeroMQ endpoint; absent: the environment variable DOVETAIL_BROKER, else port 5757 here. */
  broker?: string;
  /** The broker's access token; absent: the environment variable DOVETAIL_TOKEN. */
  token?: string | null;
  /**
   * The file with this program's key, for a broker that requires keys (docs/keys.md); absent: the environment
   * variable DOVETAIL_KEY.
   */
  key?: string | null;
}

/**
 * How a program serves.
 *
 * Without `ready`, a program under `main` prints a line when it is welcome.  Without `problem`, the line goes to
 * standard error, and if the environment variable DOVETAIL_DEBUG is set, the stack of what was thrown.  SIGTERM and
 * SIGINT end serving, too.
 */
export interface ServeOptions extends ConnectOptions, ServingOptions {}

/** Return the way to the broker that the options or the environment name; `ws://` needs a Node that has WebSocket. */
function way(options: ConnectOptions): Transport {
  const env = process.env;
  const key = (options.key === undefined ? env["DOVETAIL_KEY"] : options.key) ?? "";
  const address = options.broker ?? env["DOVETAIL_BROKER"] ?? ADDRESS;
  const remedy = "start one with `dovetail broker`";
  if (/^wss?:/.test(address)) return { address, remedy, connect: (ears) => new Socket(address, ears) };
  return {
    address,
    remedy,
    connect: (ears) => new Dealer(address, key === "" ? null : readKey(key), ears),
  };
}

function token(options: ConnectOptions): string | null {
  return options.token === undefined ? (process.env["DOVETAIL_TOKEN"] ?? null) : options.token;
}

/**
 * Connect and answer until the broker leaves, or this program is told to stop.
 *
 * ```ts
 * await serve({ agents: [{ name: "first", create: () => ({ step: ({ legal }) => legal![0] }) }] });
 * ```
 *
 * @throws DovetailError: there is no broker, or it refuses this program.
 */
export async function serve(served: Served, options: ServeOptions = {}): Promise<void> {
  await serveHost<Role>(hostOf(served), options);
}

/** True if this is a program under `main`. */
let telling = false;

/** Say in one line what is on offer where. */
function tell<R extends Role>(host: Host<R>, address: string, welcome: Welcome): void {
  if (!telling) return;
  const names = host.offers().map((each) => each.name);
  console.log(`${host.role} ${names.join(", ")} ready at ${address} as ${oneLine(welcome.name)}`);
}

/** The same for a host that is there already. */
export function serveHost<R extends Role>(host: Host<R>, options: ServeOptions = {}): Promise<void> {
  const { problem = complain, signal } = options;
  const transport = way(options);
  const ready = options.ready ?? ((welcome: Welcome) => tell(host, transport.address, welcome));
  const leave = new AbortController();
  const stop = (): void => leave.abort();
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const peer = { ...options, token: token(options), problem, ready, signal: leave.signal };
  return answer(host, transport, peer).finally(() => {
    process.off("SIGTERM", stop);
    process.off("SIGINT", stop);
    signal?.removeEventListener("abort", stop);
  });
}

function complain(line: string, thrown?: unknown): void {
  console.error(line);
  const debug = process.env["DOVETAIL_DEBUG"] ?? "";
  if (debug !== "" && debug !== "0" && thrown instanceof Error) console.error(thrown.stack);
}

/**
 * Connect an experiment to a broker.
 *
 * @throws DovetailError: there is none, or it refuses this peer.
 */
export function connect(options: ConnectOptions = {}): Promise<Experiment> {
  return conduct(way(options), { ...options, token: token(options) }, complain);
}

/**
 * Run the main function of a program: what it serves is one line on standard output once the broker has welcomed
 * it, what goes wrong one line on standard error and status 1.
 */
export function main(program: () => Promise<void>): void {
  telling = true;
  program().then(
    () => process.exit(0),
    (error: unknown) => {
      const text =
        error instanceof DovetailError ? oneLine(error.message) : ((error as Error)?.stack ?? error);
      process.stderr.write(`${String(text)}\n`, () => process.exit(1));
    },
  );
}
