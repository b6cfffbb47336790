/**
 * Run control as a peer of the broker.
 * @module
 */

import { encode } from "./encode.js";
import { DovetailError, Refused, SessionLost, oneLine } from "./errors.js";
import { Inbox } from "./inbox.js";
import * as m from "./messages.js";
import type { Done, Episode, Offer, Progress, Reply, Saved, WatchedTurn, Welcome } from "./messages.js";
import type { Complete } from "./schema.js";
import type { Int } from "./values.js";

const TURNS_KEPT = 100_000;
/** Errors that a run keeps. */
const PROBLEMS = 1000;

/** The connection of an experiment. */
export interface Connection {
  /** Send frames to the broker as one message. */
  send(frames: Uint8Array[]): void;
  /** Leave the broker; resolved when done. */
  close(): Promise<void>;
}

/** A request without its `id`. */
export type Request = WithoutId<Extract<m.FromExperiment, { id: Int }>> & Pick<Limited, "signal">;
type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

/** Options of a run, besides environment and agents. */
export type RunOptions = Omit<m.Run, "type" | "id" | "environment" | "agents">;

/** Options of a new agent, besides its type. */
export type CreateOptions = Omit<m.ExperimentCreate, "type" | "id" | "agent"> & Limited;

/** How long a request may take, and what gives it up. */
export interface Limited {
  /** Seconds after which the broker answers with `timeout`; null waits forever, 120 if absent. */
  timeout?: number | null;
  /** Gives the request up: it fails with `cancelled`. */
  signal?: AbortSignal;
}

/** An event of a run that the broker sends unasked. */
export type ExperimentEvent = Episode | Progress | Done | WatchedTurn;

/** The body of the reply to `catalogue`. */
export interface Present {
  peers: { name: string; role: string; state: string; software: string }[];
  environments: (Offer & { peer: string })[];
  agents: (Offer & { peer: string })[];
  instances: { instance: Int; agent: string; peer: string; busy: number }[];
  runs: Record<string, unknown>[];
  kept: string[];
  counters: { turns: number; episodes: number; ignored: number; refused: number };
}

/** Return the number that a reply gives what was asked for. */
function numbered(body: any, name: string): Int {
  if (isInt(body?.[name])) return body[name];
  throw new DovetailError(`the broker's reply has no '${name}'`);
}

function isInt(value: unknown): value is Int {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

/** Return the turn that a reply is. */
function turnOf(body: any): WatchedTurn {
  if (body?.type === "turn") return m.WatchedTurn.complete(body);
  throw new DovetailError("the broker's turn cannot be read");
}

/** Things that come one after another and are waited for. */
class Stream<T> {
  #items: T[] = [];
  #head = 0;
  #waiting: (() => void)[] = [];
  #end: (() => void) | null = null;

  /** @param most - how many are kept for a slow reader */
  constructor(private readonly most = Infinity) {}

  push(item: T): void {
    this.#items.push(item);
    if (this.#items.length - this.#head > this.most) this.#shift();
    this.#wake();
  }

  /** No more will come; `how` is called when all were taken, and may throw. */
  end(how: () => void): void {
    this.#end ??= how;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) each();
  }

  /** Return the next, or undefined after the last. */
  async next(): Promise<T | undefined> {
    while (this.#head === this.#items.length) {
      if (this.#end) {
        this.#end();
        return undefined;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.#shift();
  }

  #shift(): T {
    const item = this.#items[this.#head++];
    if (this.#head > 1000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

/**
 * A run in progress.  Iterate over it for the results, in the order in which episodes end:
 *
 * ```ts
 * for await (const episode of run) console.log(episode.index, episode.outcome);
 * ```
 */
export class Run implements AsyncIterable<Episode> {
  /** The last reported progress. */
  progress: Progress;
  /** The end of the run, once it is over. */
  done: Done | null = null;
  /** Errors of the run, one line each. */
  readonly problems: string[] = [];
  readonly #results = new Stream<Episode>();
  #askedFor = "";

  /** @internal */
  constructor(
    private readonly experiment: Experiment,
    readonly number: Int,
    private readonly episodes: number,
  ) {
    this.progress = m.Progress.complete({ run: number, finished: 0, running: 0, total: episodes });
  }

  /** Yield the result of each episode as it comes; interrupted ones have `scored` false.  Leaving the loop early cancels the run. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Episode> {
    try {
      for (let result; (result = await this.#results.next()) !== undefined;) yield result;
    } finally {
      // Without a connection the broker ends the run by itself.
      if (this.done === null) await this.cancel().catch(() => {});
    }
  }

  /** Return all results, once the run is over. */
  async results(): Promise<Episode[]> {
    const all: Episode[] = [];
    for await (const episode of this) all.push(episode);
    return all;
  }

  /** Start no new episodes for now. */
  async pause(): Promise<void> {
    await this.#request({ type: "pause", run: this.number });
  }

  /** Continue after `pause`. */
  async resume(): Promise<void> {
    await this.#request({ type: "pause", run: this.number, paused: false });
  }

  /** Finish the episodes in progress, then end the run. */
  async drain(): Promise<void> {
    this.#askedFor = "drained";
    await this.#request({ type: "drain", run: this.number });
  }

  /** End this run at once. */
  async cancel(): Promise<void> {
    this.#askedFor = "cancelled";
    await this.#request({ type: "cancel", run: this.number });
  }

  /** Stepwise: begin the next episode; return its first turn.  `abandon` truncates one in progress first. */
  async start(abandon = false): Promise<WatchedTurn> {
    return turnOf(await this.#request({ type: "start", run: this.number, abandon }));
  }

  /** Stepwise: let the seats act once; return the next turn. */
  async step(): Promise<WatchedTurn> {
    return turnOf(await this.#request({ type: "step", run: this.number }));
  }

  /** Send a message to an environment of this run; return its answer. */
  message(body: unknown, options: Limited = {}): Promise<any> {
    return this.#request({ type: "message", run: this.number, body, ...options });
  }

  #request(request: Request): Promise<any> {
    return this.experiment.request(request);
  }

  /** @internal */
  hear(event: Episode | Progress | Done): void {
    switch (event.type) {
      case "progress":
        this.progress = event;
        break;
      case "episode":
        this.#results.push(event);
        break;
      case "done":
        this.done = event;
        this.#results.end(() => this.#ended(event));
    }
  }

  /** @internal */
  fail(error: Error): void {
    this.#results.end(() => {
      throw error;
    });
  }

  #ended({ reason, message, finished }: Done): void {
    if (reason === "failed") throw new DovetailError(oneLine(`the run failed: ${message}`));
    if (reason !== "finished" && reason !== this.#askedFor) {
      const why = message ? `: ${message}` : "";
      throw new DovetailError(
        oneLine(`the run was ${reason} after ${finished} of ${this.episodes} episodes${why}`),
      );
    }
  }
}

interface Pending {
  readonly frame: Uint8Array;
  /** Called with the answer before any message after it is looked at. */
  readonly taken: ((answer: Reply | Saved) => void) | undefined;
  readonly resolve: (answer: Reply | Saved) => void;
  readonly reject: (error: Error) => void;
  /** Called when no answer is awaited any more. */
  readonly over: () => void;
}

/** A connection of an experiment.  Everything it does is a message of the contract. */
export class Experiment {
  readonly role = "experiment";
  /** This experiment's name at the broker. */
  name = "";
  /** Called with each event in the order of arrival, results that come again left out. */
  onEvent: ((event: ExperimentEvent) => void) | null = null;
  /** Called once if the broker is gone, or knows this experiment no more. */
  onLost: ((error: Error) => void) | null = null;
  /** @internal Takes one line for a person when a run waits for something. */
  warn: ((line: string) => void) | null = null;
  #connection: Connection | null = null;
  #ids = 0;
  #welcomed = false;
  /** How many bytes of a frame the broker reads. */
  #most = Infinity;
  #lost: Error | null = null;
  readonly #pending = new Map<Int, Pending>();
  readonly #runs = new Map<Int, Run>();
  /** Runs that were asked for and not answered. */
  #opening = 0;
  /** Events that came before the reply that names their run. */
  readonly #early = new Map<Int, (Episode | Progress | Done)[]>();
  readonly #inbox = new Inbox();
  readonly #turns = new Stream<WatchedTurn>(TURNS_KEPT);

  /** @internal Called by who connects it. */
  attach(connection: Connection): void {
    this.#connection = connection;
  }

  // -- what can be asked for --------------------------------------------------------------------

  /** Return the environments, agents and runs at the broker. */
  catalogue(): Promise<Present> {
    return this.request({ type: "catalogue" }).then((body) => {
      if (Array.isArray(body?.environments) && Array.isArray(body.agents)) return body as Present;
      throw new DovetailError("the broker's catalogue cannot be read");
    });
  }

  /** Wait until the named environments and agent types are offered; `timeout` is in seconds. */
  async expect(environments: readonly string[], agents: readonly string[], timeout = 30): Promise<void> {
    for (const end = performance.now() + timeout * 1000; ;) {
      const present = await this.catalogue();
      const missing = [
        ...environments.filter((name) => !present.environments.some((each) => each?.name === name)),
        ...agents.filter((name) => !present.agents.some((each) => each?.name === name)),
      ];
      if (missing.length === 0) return;
      if (performance.now() > end) {
        throw new DovetailError(
          `${missing.join(", ")}: not offered after ${timeout} s; start a program that offers it`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Make an agent of a type; return the number of the instance. */
  async create(agent: string, options: CreateOptions = {}): Promise<Int> {
    return numbered(await this.request({ type: "create", agent, ...options }), "instance");
  }

  /** Play episodes; seat by seat an instance's number or the name of a self-offered agent. */
  async run(environment: string, agents: readonly (Int | string)[], options: RunOptions = {}): Promise<Run> {
    let run: Run | undefined;
    this.#opening++;
    try {
      await this.#ask({ type: "run", environment, agents, ...options }, (answer) => {
        const number = answer.type === "reply" ? answer.body?.run : null;
        if (!isInt(number)) return;
        run = new Run(this, number, options.episodes ?? 1);
        this.#runs.set(number, run);
        for (const event of this.#early.get(number) ?? []) this.#hear(run, event);
      });
    } finally {
      if (--this.#opening === 0) this.#early.clear();
    }
    if (run === undefined) throw new DovetailError("the broker's reply has no 'run'");
    return run;
  }

  /** Return an agent's state; with `state_name` the broker also stores it under that name. */
  async save(instance: Int, state_name?: string, options: Limited = {}): Promise<Uint8Array> {
    const answer = await this.exchange({ type: "save", instance, state_name, ...options });
    if (answer.type !== "saved") throw new DovetailError("the broker answered save without a state");
    return answer.state;
  }

  /** Restore a saved state of an agent, or one that the broker stores under a name. */
  async load(instance: Int, from: { state?: Uint8Array; state_name?: string } & Limited): Promise<void> {
    await this.request({ type: "load", instance, ...from });
  }

  /** Release an agent. */
  async cleanup(instance: Int, options: Limited = {}): Promise<void> {
    await this.request({ type: "cleanup", instance, ...options });
  }

  /** Send a message to an agent; return its answer. */
  message(instance: Int, body: unknown, options: Limited = {}): Promise<any> {
    return this.request({ type: "message", instance, body, ...options });
  }

  /** Subscribe to the turns of a run, or of all runs; `turns` yields them. */
  async watch(run: Int | null = null, on = true): Promise<void> {
    await this.request({ type: "watch", run, on });
  }

  /** Yield the watched turns. */
  async *turns(): AsyncGenerator<WatchedTurn> {
    for (let turn; (turn = await this.#turns.next()) !== undefined;) yield turn;
  }

  /** Leave; runs in progress are cancelled. */
  async close(): Promise<void> {
    this.onLost = null;
    this.lose(new SessionLost("this experiment is closed"));
    await this.#connection?.close();
  }

  // -- the exchange -----------------------------------------------------------------------------

  /**
   * Send a request and return the body of its reply.
   * @throws Refused: it got an error instead.
   * @throws SessionLost: the broker is gone.
   * @throws DovetailError: it is larger than the broker reads.
   */
  async request(request: Request): Promise<any> {
    const answer = await this.exchange(request);
    return answer.type === "reply" ? answer.body : null;
  }

  /** Send a request and return what answers it. */
  exchange(request: Request): Promise<Reply | Saved> {
    return this.#ask(request);
  }

  #ask({ signal, ...request }: Request, taken?: Pending["taken"]): Promise<Reply | Saved> {
    return new Promise((resolve, reject) => {
      if (this.#lost) throw this.#lost;
      const id = ++this.#ids;
      const frame = encode({ ...request, id }, this.#most);
      const giveUp = (): void => {
        if (this.#pending.has(id)) this.#ask({ type: "cancel", request: id }).catch(() => {});
      };
      // A signal may outlive many requests.
      const over = (): void => signal?.removeEventListener("abort", giveUp);
      this.#pending.set(id, { frame, taken, resolve, reject, over });
      this.#connection?.send([frame]);
      if (signal?.aborted) giveUp();
      else signal?.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Take messages of the broker; return the frames to send. */
  handle(messages: readonly m.ToExperiment[]): Uint8Array[] {
    let out: Uint8Array[] = [];
    for (const message of messages) {
      if (!this.#inbox.take(message, out)) continue;
      switch (message.type) {
        case "reply":
        case "saved":
          this.#resolve(message);
          break;
        case "error":
          this.#refused(message);
          break;
        case "episode":
        case "progress":
        case "done":
          this.#event(message);
          break;
        case "turn":
          this.onEvent?.(message);
          this.#turns.push(message);
          break;
        case "welcome":
          out = out.concat(this.#greeted(message));
          break;
      }
    }
    return out;
  }

  #resolve(message: Reply | Saved): void {
    const pending = this.#answered(message.id);
    pending?.taken?.(message);
    pending?.resolve(message);
  }

  #answered(id: Int): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.over();
    return pending;
  }

  #refused(message: Complete<m.Error>): void {
    if (message.id !== null) {
      this.#answered(message.id)?.reject(new Refused(message.code, message.message));
    } else {
      for (const { problems } of this.#runs.values()) {
        problems.push(message.message);
        if (problems.length > PROBLEMS) problems.shift();
      }
    }
  }

  #event(event: Episode | Progress | Done): void {
    this.onEvent?.(event);
    const run = this.#runs.get(event.run);
    if (run !== undefined) this.#hear(run, event);
    else if (this.#opening > 0) {
      const early = this.#early.get(event.run);
      if (early) early.push(event);
      else this.#early.set(event.run, [event]);
    }
  }

  #hear(run: Run, event: Episode | Progress | Done): void {
    const before = run.progress.waiting;
    run.hear(event);
    const { waiting } = run.progress;
    if (waiting && waiting !== before) this.warn?.(oneLine(`run ${run.number} waits: ${waiting}`));
    if (event.type === "done") this.#runs.delete(run.number);
  }

  #greeted(welcome: Welcome): Uint8Array[] {
    this.name = welcome.name;
    this.#most = welcome.limits.frame;
    const first = !this.#welcomed;
    this.#welcomed = true;
    if (first) return [];
    if (welcome.resumed) return [...this.#pending.values()].map((each) => each.frame);
    this.lose(new SessionLost("the broker restarted and does not know this experiment any more"));
    return [];
  }

  /** The broker is gone, or knows this session no more: nothing that was asked will be answered. */
  lose(error: Error): void {
    if (this.#lost) return;
    this.#lost = error;
    for (const pending of this.#pending.values()) {
      pending.over();
      pending.reject(error);
    }
    this.#pending.clear();
    for (const run of this.#runs.values()) run.fail(error);
    this.#runs.clear();
    this.#turns.end(() => {});
    this.onLost?.(error);
  }
}
