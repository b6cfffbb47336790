/**
 * Programs that serve agents or environments to a broker, and experiments that use them.
 * @module
 */

import { AgentHost, DovetailError, EnvironmentHost, Experiment, SessionLost } from "../core/index.js";
import type { AgentType, EnvironmentType, Heard, Hello, Host, Int, Role, Welcome } from "../core/index.js";
import { ADDRESS, Link } from "./link.js";

/** Name and version of this library, as the broker shows it to people. */
export const SOFTWARE = "dovetail-typescript 1.0.0";

/** Where the broker is, and who connects. */
export interface ConnectOptions {
  /** A ZeroMQ endpoint; absent: the environment variable DOVETAIL_BROKER, else port 5757 here. */
  broker?: string;
  /** The broker's access token; absent: the environment variable DOVETAIL_TOKEN. */
  token?: string | null;
  /** Unique among the peers present; absent: the broker chooses. */
  name?: string;
  /** Seconds to wait for the broker's first answer; `Infinity` waits for ever. */
  wait?: number;
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

function greeting(options: ConnectOptions): { address: string; hello: Omit<Hello, "role"> } {
  const env = process.env;
  return {
    address: options.broker ?? env["DOVETAIL_BROKER"] ?? ADDRESS,
    hello: {
      name: options.name ?? "",
      token: options.token === undefined ? (env["DOVETAIL_TOKEN"] ?? null) : options.token,
      software: SOFTWARE,
    },
  };
}

/**
 * Connect and answer until the broker says goodbye, or this program is told to stop.
 *
 * ```ts
 * await serve({ agents: [{ name: "first", create: () => ({ step: (d) => d.legal[0] }) }] });
 * ```
 *
 * @throws DovetailError: there is no broker, or it refuses this program.
 */
export async function serve(served: Served, options: ServeOptions = {}): Promise<void> {
  if ("environments" in served) {
    await serveHost<"environment">(new EnvironmentHost(served.environments), options);
  } else {
    const host = "agent" in served ? new AgentHost(served.agent, served) : new AgentHost(served.agents);
    await serveHost<"agent">(host, options);
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
  const { address, hello } = greeting(options);
  const problem = options.problem ?? complain;
  return new Promise((resolve, reject) => {
    let greeted = false;
    const stop = (): void => void link.close();
    const finish = (error: Error | null): void => {
      clearTimeout(patience);
      process.off("SIGTERM", stop);
      process.off("SIGINT", stop);
      options.signal?.removeEventListener("abort", stop);
      if (error) reject(error);
      else resolve();
    };
    const link = new Link<R>(
      address,
      host.role,
      { ...hello, role: host.role, offers: host.offers() },
      {
        handle: (messages) => {
          if (!greeted && link.session.welcome) {
            greeted = true;
            clearTimeout(patience);
            const { welcome } = link.session;
            if (options.ready) options.ready(welcome);
            else tell(host, address, welcome);
          }
          for (const each of messages) refused(each, problem);
          return host.handle(messages);
        },
        closed: finish,
      },
    );
    host.later = (frames) => link.send(frames);
    host.surprised = problem;
    const patience = giveUp(options.wait, address, (error) => void link.close(false, error));
    process.once("SIGTERM", stop);
    process.once("SIGINT", stop);
    options.signal?.addEventListener("abort", stop);
    try {
      link.open();
      if (options.signal?.aborted) stop();
    } catch (error) {
      finish(error as Error);
    }
  });
}

/** What the broker refuses without being asked is a mistake in the program, which else nobody would see. */
function refused(message: Heard[Role], problem: (line: string) => void): void {
  if (message.type !== "error" || message.id !== null) return;
  problem(`the broker refuses (${message.code}): ${message.message}`);
}

function complain(line: string, thrown?: unknown): void {
  console.error(line);
  const debug = process.env["DOVETAIL_DEBUG"] ?? "";
  if (debug !== "" && debug !== "0" && thrown instanceof Error) console.error(thrown.stack);
}

function giveUp(wait = 10, address: string, then: (error: Error) => void): NodeJS.Timeout | undefined {
  if (wait === Infinity) return undefined;
  const text = `no broker answers at ${address}; start one with \`dovetail broker\``;
  return setTimeout(() => then(new DovetailError(text)), wait * 1000);
}

/**
 * Connect an experiment to a broker.
 *
 * @throws DovetailError: there is none, or it refuses this peer.
 */
export function connect(options: ConnectOptions = {}): Promise<Experiment> {
  const { address, hello } = greeting(options);
  return new Promise((resolve, reject) => {
    const experiment = new Experiment();
    const link = new Link<"experiment">(
      address,
      "experiment",
      { ...hello, role: "experiment" },
      {
        handle: (messages) => {
          const answers = experiment.handle(messages);
          if (link.session.welcome) {
            clearTimeout(patience);
            resolve(experiment);
          }
          return answers;
        },
        closed: (error) => {
          clearTimeout(patience);
          experiment.lose(error ?? new SessionLost("the broker has left"));
          reject(error ?? new SessionLost("the broker has left"));
        },
      },
    );
    experiment.attach(link);
    const patience = giveUp(options.wait, address, (error) => void link.close(false, error));
    try {
      link.open();
    } catch (error) {
      clearTimeout(patience);
      reject(error as Error);
    }
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
