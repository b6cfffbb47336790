/**
 * Programs that serve agents or environments to a broker, and experiments that use them.
 * @module
 */

import { AgentHost, DovetailError, EnvironmentHost, Experiment, SessionLost } from "../core/index.js";
import type { AgentType, EnvironmentType, Heard, Host, Int, Offer, Role, Welcome } from "../core/index.js";
import { ADDRESS, Link } from "./link.js";
import type { Listener, Patience } from "./link.js";

/** Name and version of this library, as the broker shows it to people. */
export const SOFTWARE = "dovetail-typescript 0.2.0";

/** Seconds of the broker's silence after which an experiment gives up. */
const GIVE_UP = 60;

/** Where the broker is, and who connects. */
export interface ConnectOptions {
  /** A ZeroMQ endpoint; absent: the environment variable DOVETAIL_BROKER, else port 5757 here. */
  broker?: string;
  /** The broker's access token; absent: the environment variable DOVETAIL_TOKEN. */
  token?: string | null;
  /**
   * The file with this program's key, for a broker that lets in only keys (docs/keys.md); absent: the environment
   * variable DOVETAIL_KEY.
   */
  key?: string | null;
  /** Unique among the peers present; absent: the broker chooses. */
  name?: string;
  /** Seconds to wait for the broker's first answer, 10 if absent; `Infinity` waits forever. */
  wait?: number;
  /**
   * Seconds of the broker's silence after which this program gives up; absent: 60 for an experiment, and never for
   * a program that serves.
   */
  giveUp?: number;
}

/** How a program serves. */
export interface ServeOptions extends ConnectOptions {
  /** Called when the broker has welcomed this program, instead of the line that a program under `main` prints. */
  ready?: (welcome: Welcome) => void;
  /**
   * Told of what went wrong, for who wrote the program: that the agent or environment threw something, and what the
   * broker refused.  Absent: the line goes to standard error, and if the environment variable DOVETAIL_DEBUG is set,
   * the stack of what was thrown.
   */
  problem?: (line: string, thrown?: unknown) => void;
  /** Ends serving, with a goodbye; SIGTERM and SIGINT do so too. */
  signal?: AbortSignal;
}

/** What a program serves: agent types, one agent that it is itself, or environment types. */
export type Served =
  | { agents: readonly AgentType[] }
  | { agent: AgentType; parameters?: Record<string, unknown>; seed?: Int }
  | { environments: readonly EnvironmentType[] };

/**
 * Open a link.
 * @param patience - what to do while the broker is silent, unless the options say
 * @param welcomed - called when it has answered, before what it says is handled
 */
function join<R extends Role>(
  role: R,
  options: ConnectOptions,
  offers: Offer[],
  patience: Pick<Patience, "giveUp" | "warn">,
  welcomed: (welcome: Welcome, address: string) => void,
  listener: Listener<R>,
): Link<R> {
  const env = process.env;
  const { wait = 10, name = "", token = env["DOVETAIL_TOKEN"] ?? null } = options;
  const key = options.key === undefined ? env["DOVETAIL_KEY"] : options.key;
  const address = options.broker ?? env["DOVETAIL_BROKER"] ?? ADDRESS;
  let greeted = false;
  const link = new Link<R>(
    address,
    key ?? "",
    role,
    { name, offers, token, software: SOFTWARE },
    { wait, giveUp: options.giveUp ?? patience.giveUp, warn: patience.warn },
    {
      handle: (messages) => {
        const { welcome } = link.session;
        if (welcome && !greeted) {
          greeted = true;
          welcomed(welcome, address);
        }
        return listener.handle(messages);
      },
      closed: (error) => listener.closed(error),
    },
  );
  try {
    link.open();
  } catch (error) {
    void link.close(false, error as Error);
  }
  return link;
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
  if ("environments" in served) {
    await serveHost(new EnvironmentHost(served.environments), options);
  } else {
    const host = "agent" in served ? new AgentHost(served.agent, served) : new AgentHost(served.agents);
    await serveHost(host, options);
  }
}

/** Whether this is a program under `main`. */
let telling = false;

/** Say in one line what is on offer where. */
function tell(host: Host, address: string, welcome: Welcome): void {
  if (!telling) return;
  const names = host.offers().map((each) => each.name);
  console.log(`${host.role} ${names.join(", ")} ready at ${address} as ${welcome.name}`);
}

/** The same for a host that is there already. */
export function serveHost<R extends Role>(host: Host<R>, options: ServeOptions = {}): Promise<void> {
  const { problem = complain, ready, signal } = options;
  return new Promise((resolve, reject) => {
    const stop = (): void => void link.close();
    process.once("SIGTERM", stop);
    process.once("SIGINT", stop);
    signal?.addEventListener("abort", stop);
    const welcomed = (welcome: Welcome, address: string): void =>
      ready ? ready(welcome) : tell(host, address, welcome);
    const link = join(host.role, options, host.offers(), { giveUp: Infinity, warn: problem }, welcomed, {
      handle: (messages) => {
        for (const each of messages) refused(each, problem);
        return host.handle(messages);
      },
      closed: (error) => {
        process.off("SIGTERM", stop);
        process.off("SIGINT", stop);
        signal?.removeEventListener("abort", stop);
        if (error) reject(error);
        else resolve();
      },
    });
    host.later = (frames) => link.send(frames);
    host.surprised = problem;
    if (signal?.aborted) stop();
  });
}

/** What the broker refuses without being asked is a mistake in the program, which would stay hidden otherwise. */
function refused(message: Heard[Role], problem: (line: string) => void): void {
  if (message.type !== "error" || message.id !== null) return;
  problem(`the broker refuses (${message.code}): ${message.message}`);
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
  return new Promise((resolve, reject) => {
    const experiment = new Experiment();
    const link = join(
      "experiment",
      options,
      [],
      { giveUp: GIVE_UP, warn: complain },
      () => resolve(experiment),
      {
        handle: (messages) => experiment.handle(messages),
        closed: (error) => {
          const lost = error ?? new SessionLost("the broker has left");
          experiment.lose(lost);
          reject(lost);
        },
      },
    );
    experiment.attach(link);
  });
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
      const text = error instanceof DovetailError ? error.message : ((error as Error)?.stack ?? error);
      process.stderr.write(`${String(text)}\n`, () => process.exit(1));
    },
  );
}
