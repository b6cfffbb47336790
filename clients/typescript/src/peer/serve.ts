/**
 * Programs that serve agents or environments to a broker, and experiments, by any transport.
 * @module
 */

import { AgentHost, EnvironmentHost, Experiment, SessionLost, oneLine } from "../core/index.js";
import type { AgentType, EnvironmentType, Heard, Host, Int, Offer, Role, Welcome } from "../core/index.js";
import { Link } from "./link.js";
import type { Listener, Patience, Transport } from "./link.js";

/** Name and version of this library, as the broker shows it to people. */
export const SOFTWARE = "dovetail-typescript 0.2.0";

/** Seconds of the broker's silence after which an experiment gives up. */
const GIVE_UP = 60;

/** Options of a connecting program, with its timeouts. */
export interface PeerOptions {
  /** The broker's access token. */
  token?: string | null;
  /** Unique among connected peers; if absent, the broker chooses. */
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
export interface ServingOptions extends PeerOptions {
  /** Called when the broker has welcomed this program. */
  ready?: (welcome: Welcome) => void;
  /**
   * Called with errors for the author of the program: that the agent or environment threw something, and what the
   * broker refused.
   */
  problem?: (line: string, thrown?: unknown) => void;
  /** Ends serving, with `bye`. */
  signal?: AbortSignal;
}

/** The offers of a program: agent types, a single agent (the program itself), or environment types. */
export type Served =
  | { agents: readonly AgentType[] }
  | { agent: AgentType; parameters?: Record<string, unknown>; seed?: Int }
  | { environments: readonly EnvironmentType[] };

/** Return the host of what a program serves. */
export function hostOf(served: Served): Host<"agent"> | Host<"environment"> {
  if ("environments" in served) return new EnvironmentHost(served.environments);
  return "agent" in served ? new AgentHost(served.agent, served) : new AgentHost(served.agents);
}

/**
 * Open a link.
 * @param patience - what to do while the broker is silent, unless the options say
 * @param welcomed - called when it has answered, before what it says is handled
 */
function join<R extends Role>(
  role: R,
  transport: Transport,
  options: PeerOptions,
  offers: Offer[],
  patience: Pick<Patience, "giveUp" | "warn">,
  welcomed: (welcome: Welcome) => void,
  listener: Listener<R>,
): Link<R> {
  const { wait = 10, name = "", token = null } = options;
  let greeted = false;
  const link = new Link<R>(
    transport,
    role,
    { name, offers, token, software: SOFTWARE },
    { wait, giveUp: options.giveUp ?? patience.giveUp, warn: patience.warn },
    {
      handle: (messages) => {
        const { welcome } = link.session;
        if (welcome && !greeted) {
          greeted = true;
          welcomed(welcome);
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

/** Answer the broker until it leaves, or this program is told to stop. */
export function answer<R extends Role>(
  host: Host<R>,
  transport: Transport,
  options: ServingOptions & Required<Pick<ServingOptions, "problem">>,
): Promise<void> {
  const { problem, ready, signal } = options;
  return new Promise((resolve, reject) => {
    const stop = (): void => void link.close();
    signal?.addEventListener("abort", stop);
    const patience = { giveUp: Infinity, warn: problem };
    const welcomed = (welcome: Welcome): void => ready?.(welcome);
    const link = join(host.role, transport, options, host.offers(), patience, welcomed, {
      handle: (messages) => {
        for (const each of messages) refused(each, problem);
        return host.handle(messages);
      },
      closed: (error) => {
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

/** Report an unsolicited error of the broker: a mistake in the program that would stay hidden otherwise. */
function refused(message: Heard[Role], problem: (line: string) => void): void {
  if (message.type !== "error" || message.id !== null) return;
  problem(oneLine(`the broker refuses (${message.code}): ${message.message}`));
}

/**
 * Connect an experiment to a broker.
 *
 * @throws DovetailError: there is none, or it refuses this peer.
 */
export function conduct(
  transport: Transport,
  options: PeerOptions,
  warn: (line: string) => void,
): Promise<Experiment> {
  return new Promise((resolve, reject) => {
    const experiment = new Experiment();
    experiment.warn = warn;
    const patience = { giveUp: GIVE_UP, warn };
    const link = join("experiment", transport, options, [], patience, () => resolve(experiment), {
      handle: (messages) => experiment.handle(messages),
      closed: (error) => {
        const lost = error ?? new SessionLost("the broker has left");
        experiment.lose(lost);
        reject(lost);
      },
    });
    experiment.attach(link);
  });
}
