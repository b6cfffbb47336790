/**
 * The messages of the contract, version 1, with the names of SPEC.md.
 *
 * What a peer receives has all its fields, those that were left out with their defaults.  What a peer sends
 * is written with the types named `…Fields` or as plain objects; fields with defaults may be left out.
 * @module
 */

import { LIMITS, readFrame } from "./decode.js";
import type { Limits } from "./decode.js";
import * as s from "./schema.js";
import { space } from "./spaces.js";
import type { Space } from "./spaces.js";
import type { Int } from "./values.js";

/** The version of the protocol that this library speaks. */
export const VERSION = 1;

export type Role = "environment" | "agent" | "experiment" | "observer";
export type Mode = "learn" | "evaluate";
export type Want = "afterstates" | "text" | "scene";
export type Legal = Int[] | Uint8Array | null;

const REASONS = [
  "terminated",
  "truncated",
  "illegal-action",
  "timeout",
  "stalled",
  "disconnected",
  "crashed",
  "cancelled",
  "environment-failed",
] as const;

/** Why an episode is over. */
export type Reason = (typeof REASONS)[number];

// -- for every peer -------------------------------------------------------------------------------

/** An environment or agent type that a peer can make. */
export interface Offer {
  name: string;
  description?: string;
  /** JSON Schema of each option by name, with its default. */
  parameters?: Record<string, unknown>;
  wants?: readonly Want[];
  capacity?: number;
  instance?: boolean;
  seats?: readonly number[] | null;
}

/** What a peer says of itself besides its role, at first and again after a reconnection. */
export interface Hello {
  name?: string;
  offers?: readonly Offer[];
  token?: string | null;
  software?: string;
  features?: readonly string[];
}

export interface Welcome {
  type: "welcome";
  session: string;
  name: string;
  resumed: boolean;
  version: number;
  /** Seconds between pings. */
  heartbeat: number;
  patience: number;
  limits: Limits;
  features: string[];
}

export interface Ping {
  type: "ping";
  number: Int;
}

export interface Pong {
  type: "pong";
  number: Int;
}

export interface ErrorMessage {
  type: "error";
  code: string;
  message: string;
  id: Int | null;
  episode: Int | null;
  seat: number | null;
  match: Int | null;
}

export interface Bye {
  type: "bye";
  reason: string;
}

export interface Reply {
  type: "reply";
  id: Int;
  body: any;
}

const message = s.tagged("type");
const none = <T>(read: s.Reader<T>): s.Field<T | null> => s.optional(s.nullable(read), null);
const nothing = s.optional<any>(s.any, null);
const zero = s.optional(s.number, 0);
const mode = s.optional(s.oneOf<Mode>("learn", "evaluate"), "learn");
const outcome = none(s.array(s.number));
const not = s.optional(s.boolean, false);

const limits = s.struct<Limits>("limits", {
  frame: s.optional(s.positive, LIMITS.frame),
  depth: s.optional(s.positive, LIMITS.depth),
  elements: s.optional(s.positive, LIMITS.elements),
});

const welcome = message<Welcome>("welcome", {
  session: s.required(s.text),
  name: s.required(s.text),
  resumed: not,
  version: s.optional(s.small, 1),
  heartbeat: s.optional(s.bounded(0), 1),
  patience: s.optional(s.bounded(0), 30),
  limits: s.optional(limits.read, LIMITS),
  features: s.optional(s.array(s.text), []),
});
const ping = message<Ping>("ping", { number: s.optional(s.atLeast(0), 0) });
const pong = message<Pong>("pong", { number: s.optional(s.atLeast(0), 0) });
const error = message<ErrorMessage>("error", {
  code: s.required(s.text),
  message: s.required(s.text),
  id: none(s.integer),
  episode: none(s.integer),
  seat: none(s.small),
  match: none(s.integer),
});
const bye = message<Bye>("bye", { reason: s.optional(s.text, "") });
const reply = message<Reply>("reply", { id: s.required(s.integer), body: nothing });

// -- broker and environment -----------------------------------------------------------------------

export interface Open {
  type: "open";
  match: Int;
  environment: string;
  configuration: Record<string, unknown>;
}

/** A way to turn or mirror the game that changes nothing about it. */
export interface Symmetry {
  observation: number[];
  actions: number[];
}

/** What a seat can expect of an environment. */
export interface Spec {
  type: "spec";
  match: Int;
  name: string;
  seats: number;
  /** One per seat, or one for all. */
  observation_spaces: Space[];
  action_spaces: Space[];
  reward_range: [number, number] | null;
  discount: number;
  perfect_information: boolean;
  afterstates: boolean;
  forfeit: [number, number] | null;
  max_turns: number | null;
  symmetries: Symmetry[];
}

/** What an environment says of itself in `init`; the host adds the match. */
export type SpecFields = Partial<Omit<Spec, "type" | "match">>;

export interface EnvironmentStart {
  type: "start";
  match: Int;
  episode: Int;
  seed: Int;
  wants: Want[][];
  watched: boolean;
}

export interface EnvironmentStep {
  type: "step";
  episode: Int;
  turn: number;
  actions: [number, any][];
}

/** What a transition means to one seat. */
export interface View {
  seat: number;
  observation: any;
  legal: Legal;
  reward: number;
  afterstates: any;
  text: string | null;
  scene: any;
}

/** A view as an environment gives it. */
export type ViewFields = { seat: number } & Partial<View>;

/** A transition as an environment gives it; the host adds episode, turn, and what is wanted. */
export interface Turn {
  /** Seats that must act; empty or absent if and only if the episode is over. */
  to_act?: number[];
  /** Seats in `to_act`, and any that earned a reward; at the end every seat. */
  seats: ViewFields[];
  terminated?: boolean;
  truncated?: boolean;
  /** At the end: a score per seat, 1 won, 0 lost, shared when drawn. */
  outcome?: number[] | null;
  info?: unknown;
}

export interface EnvironmentLookahead {
  type: "lookahead";
  id: Int;
  episode: Int;
  seat: number;
  turn: number;
  lines: any[][][];
  seed: Int;
}

/** What a line of actions leads to. */
export interface Position {
  to_act: number[];
  seats: View[];
  /** Per seat, of the whole line. */
  rewards: number[];
  terminated: boolean;
  truncated: boolean;
  outcome: number[] | null;
  /** How many actions of the line were applied. */
  applied: number;
  /** Why the next one was not. */
  error: string;
}

export interface EnvironmentMessage {
  type: "message";
  id: Int;
  match: Int;
  body: any;
}

export interface Close {
  type: "close";
  match: Int;
}

const symmetry = s.struct<Symmetry>("symmetry", {
  observation: s.required(s.array(s.small)),
  actions: s.optional(s.array(s.small), []),
});
const spec = message<Spec>("spec", {
  match: s.optional(s.integer, 0),
  name: s.optional(s.text, ""),
  seats: s.optional(s.positive, 1),
  observation_spaces: s.optional(s.array(space), []),
  action_spaces: s.optional(s.array(space), []),
  reward_range: none(s.pair(s.number, s.number)),
  discount: s.optional(s.bounded(0, 1), 1),
  perfect_information: s.optional(s.boolean, true),
  afterstates: not,
  forfeit: none(s.pair(s.number, s.number)),
  max_turns: none(s.positive),
  symmetries: s.optional(s.array(symmetry.read), []),
});
const open = message<Open>("open", {
  match: s.required(s.integer),
  environment: s.required(s.text),
  configuration: s.optional(s.map(s.any), {}),
});
const environmentStart = message<EnvironmentStart>("start", {
  match: s.required(s.integer),
  episode: s.required(s.integer),
  seed: s.required(s.integer),
  wants: s.optional(s.array(s.array(s.oneOf<Want>("afterstates", "text", "scene"))), []),
  watched: not,
});
const environmentStep = message<EnvironmentStep>("step", {
  episode: s.required(s.integer),
  turn: s.required(s.small),
  actions: s.required(s.array(s.pair(s.small, s.any))),
});
const environmentLookahead = message<EnvironmentLookahead>("lookahead", {
  id: s.required(s.integer),
  episode: s.required(s.integer),
  seat: s.required(s.small),
  turn: s.required(s.small),
  lines: s.required(s.array(s.array(s.array(s.any)))),
  seed: s.optional(s.integer, 0),
});
const environmentMessage = message<EnvironmentMessage>("message", {
  id: s.required(s.integer),
  match: s.required(s.integer),
  body: nothing,
});
const close = message<Close>("close", { match: s.required(s.integer) });

// -- broker and agent -----------------------------------------------------------------------------

export interface Create {
  type: "create";
  id: Int;
  instance: Int;
  agent: string;
  parameters: Record<string, unknown>;
  seed: Int;
  state: Uint8Array | null;
}

export interface Init {
  type: "init";
  match: Int;
  seat: number;
  instance: Int;
  spec: Spec;
  lookahead: boolean;
}

/** What a seat may use, and what its last answer took; seconds at the broker. */
export interface Clock {
  decision: number | null;
  left: number | null;
  last: number | null;
}

export interface AgentStep {
  type: "step";
  episode: Int;
  seat: number;
  turn: number;
  reward: number;
  observation: any;
  legal: Legal;
  afterstates: any;
  text: string | null;
  scene: any;
  clock: Clock | null;
}

export interface AgentStart extends Omit<AgentStep, "type"> {
  type: "start";
  match: Int;
  seed: Int;
  mode: Mode;
}

export interface EndMessage {
  type: "end";
  episode: Int;
  seat: number;
  match: Int;
  reward: number;
  observation: any;
  outcome: number[] | null;
  reason: Reason;
  blame: number | null;
  total: number;
  decisions: number;
  text: string | null;
  scene: any;
  mode: Mode;
}

export interface Save {
  type: "save";
  id: Int;
  instance: Int;
  keep: string | null;
}

export interface Saved {
  type: "saved";
  id: Int;
  state: Uint8Array;
}

export interface Load {
  type: "load";
  id: Int;
  instance: Int;
  state: Uint8Array;
  kept: string | null;
}

export interface AgentMessage {
  type: "message";
  id: Int;
  instance: Int;
  body: any;
}

export interface Leave {
  type: "leave";
  match: Int;
}

export interface Cleanup {
  type: "cleanup";
  id: Int;
  instance: Int;
}

const clock = s.struct<Clock>("clock", {
  decision: none(s.number),
  left: none(s.number),
  last: none(s.number),
});
const create = message<Create>("create", {
  id: s.required(s.integer),
  instance: s.required(s.integer),
  agent: s.required(s.text),
  parameters: s.optional(s.map(s.any), {}),
  seed: s.optional(s.integer, 0),
  state: none(s.binary),
});
const specInside = s.union("type", [spec], "invalid");
const init = message<Init>("init", {
  match: s.required(s.integer),
  seat: s.required(s.small),
  instance: s.required(s.integer),
  spec: s.required(specInside),
  lookahead: not,
});
const seen = {
  observation: nothing,
  legal: s.optional(s.legal, null),
  afterstates: nothing,
  text: none(s.text),
  scene: nothing,
  clock: none(clock.read),
  reward: zero,
};
const agentStart = message<AgentStart>("start", {
  episode: s.required(s.integer),
  match: s.required(s.integer),
  seat: s.required(s.small),
  turn: s.required(s.small),
  seed: s.required(s.integer),
  mode,
  ...seen,
});
const agentStep = message<AgentStep>("step", {
  episode: s.required(s.integer),
  seat: s.required(s.small),
  turn: s.required(s.small),
  ...seen,
});
const end = message<EndMessage>("end", {
  episode: s.required(s.integer),
  seat: s.required(s.small),
  match: s.optional(s.integer, 0),
  reward: zero,
  observation: nothing,
  outcome,
  reason: s.optional(s.oneOf(...REASONS), "terminated"),
  blame: none(s.small),
  total: zero,
  decisions: s.optional(s.small, 0),
  text: none(s.text),
  scene: nothing,
  mode,
});
const save = message<Save>("save", {
  id: s.required(s.integer),
  instance: s.required(s.integer),
  keep: none(s.text),
});
const saved = message<Saved>("saved", { id: s.required(s.integer), state: s.required(s.binary) });
const load = message<Load>("load", {
  id: s.required(s.integer),
  instance: s.required(s.integer),
  state: s.optional(s.binary, new Uint8Array(0)),
  kept: none(s.text),
});
const agentMessage = message<AgentMessage>("message", {
  id: s.required(s.integer),
  instance: s.required(s.integer),
  body: nothing,
});
const leave = message<Leave>("leave", { match: s.required(s.integer) });
const cleanup = message<Cleanup>("cleanup", {
  id: s.required(s.integer),
  instance: s.required(s.integer),
});

// -- broker and experiment or observer ------------------------------------------------------------

/** How long a seat may think; seconds, null is no limit. */
export interface ClockRule {
  decision?: number | null;
  episode?: number | null;
  increment?: number;
  margin?: number;
}

/** What a run may be asked for, besides environment and agents. */
export interface RunOptions {
  configuration?: Record<string, unknown>;
  episodes?: number;
  seed?: Int;
  seeds?: readonly Int[] | null;
  first?: number;
  mode?: Mode;
  concurrency?: number;
  rotate?: boolean;
  clock?: ClockRule;
  patience?: number | null;
  max_turns?: number | null;
  on_timeout?: "forfeit" | "random" | "truncate";
  on_illegal?: "forfeit" | "random" | "truncate";
  retries?: number;
  check?: boolean;
  stepwise?: boolean;
  secret?: boolean;
  lookahead?: boolean;
}

/** A turn as a watcher may see it. */
export interface WatchedTurn {
  type: "turn";
  run: Int;
  match: Int;
  index: number;
  episode: Int;
  turn: number;
  to_act: number[];
  actions: [number, any][];
  rewards: number[];
  observations: [number, any][];
  agents: string[];
  terminated: boolean;
  truncated: boolean;
  outcome: number[] | null;
  reason: Reason | null;
  text: string | null;
}

/** What one seat got out of an episode. */
export interface SeatResult {
  agent: string;
  instance: Int;
  total: number;
  decisions: number;
  seconds: number;
  breaches: number;
  ignored: number;
}

/** The result of one episode. */
export interface Episode {
  type: "episode";
  run: Int;
  index: number;
  episode: Int;
  seed: Int;
  reason: Reason;
  seats: SeatResult[];
  outcome: number[] | null;
  blame: number | null;
  turns: number;
  /** False if the episode was interrupted; it counts for nobody. */
  scored: boolean;
  again: boolean;
  message: string;
}

export interface Progress {
  type: "progress";
  run: Int;
  finished: number;
  running: number;
  total: number;
}

export interface Done {
  type: "done";
  run: Int;
  finished: number;
  reason: "finished" | "drained" | "cancelled" | "failed";
  message: string;
}

const watchedTurn = message<WatchedTurn>("turn", {
  run: s.required(s.integer),
  match: s.required(s.integer),
  index: s.required(s.small),
  episode: s.required(s.integer),
  turn: s.required(s.small),
  to_act: s.optional(s.array(s.small), []),
  actions: s.optional(s.array(s.pair(s.small, s.any)), []),
  rewards: s.optional(s.array(s.number), []),
  observations: s.optional(s.array(s.pair(s.small, s.any)), []),
  agents: s.optional(s.array(s.text), []),
  terminated: not,
  truncated: not,
  outcome,
  reason: none(s.oneOf(...REASONS)),
  text: none(s.text),
});
const seatResult = s.struct<SeatResult>("seat", {
  agent: s.required(s.text),
  instance: s.required(s.integer),
  total: zero,
  decisions: s.optional(s.small, 0),
  seconds: zero,
  breaches: s.optional(s.small, 0),
  ignored: s.optional(s.small, 0),
});
const episode = message<Episode>("episode", {
  run: s.required(s.integer),
  index: s.required(s.small),
  episode: s.required(s.integer),
  seed: s.required(s.integer),
  reason: s.required(s.oneOf(...REASONS)),
  seats: s.required(s.array(seatResult.read)),
  outcome,
  blame: none(s.small),
  turns: s.optional(s.small, 0),
  scored: s.optional(s.boolean, true),
  again: not,
  message: s.optional(s.text, ""),
});
const progress = message<Progress>("progress", {
  run: s.required(s.integer),
  finished: s.required(s.small),
  running: s.required(s.small),
  total: s.required(s.small),
});
const done = message<Done>("done", {
  run: s.required(s.integer),
  finished: s.required(s.small),
  reason: s.optional(s.oneOf("finished", "drained", "cancelled", "failed"), "finished"),
  message: s.optional(s.text, ""),
});

// -- who hears what -------------------------------------------------------------------------------

export type SessionMessage = Welcome | Ping | Pong | ErrorMessage | Bye;
export type ToEnvironment =
  | SessionMessage
  | Open
  | EnvironmentStart
  | EnvironmentStep
  | Close
  | EnvironmentLookahead
  | EnvironmentMessage;
export type ToAgent =
  | SessionMessage
  | Create
  | Init
  | AgentStart
  | AgentStep
  | EndMessage
  | Reply
  | Save
  | Load
  | AgentMessage
  | Leave
  | Cleanup;
export type ToExperiment = SessionMessage | Reply | Saved | Episode | Progress | Done | WatchedTurn;

/** What a peer of each role hears. */
export interface Heard {
  environment: ToEnvironment;
  agent: ToAgent;
  experiment: ToExperiment;
  observer: ToExperiment;
}

const session = [welcome, ping, pong, error, bye];
const toExperiment = s.union<ToExperiment>(
  "type",
  [...session, reply, saved, episode, progress, done, watchedTurn],
  "unknown-type",
);
const readers: { readonly [R in Role]: s.Reader<Heard[R]> } = {
  environment: s.union<ToEnvironment>(
    "type",
    [...session, open, environmentStart, environmentStep, close, environmentLookahead, environmentMessage],
    "unknown-type",
  ),
  agent: s.union<ToAgent>(
    "type",
    [...session, create, init, agentStart, agentStep, end, reply, save, load, agentMessage, leave, cleanup],
    "unknown-type",
  ),
  experiment: toExperiment,
  observer: toExperiment,
};

/**
 * Return the message in a frame, as a peer of a role hears it.
 * @throws ProtocolError: code `limit`, `malformed`, `unknown-type` or `invalid`
 */
export function read<R extends Role>(role: R, frame: Uint8Array, limits?: Limits): Heard[R] {
  return readFrame(frame, readers[role] as s.Reader<Heard[R]>, limits);
}

const VIEW: Omit<View, "seat"> = {
  observation: null,
  legal: null,
  reward: 0,
  afterstates: null,
  text: null,
  scene: null,
};

/** Return the body of an answer to `lookahead` with all its fields. */
export function positionsOf(body: unknown): Position[] {
  return (body as Partial<Position>[]).map((each) => ({
    to_act: [],
    rewards: [],
    terminated: false,
    truncated: false,
    outcome: null,
    applied: 0,
    error: "",
    ...each,
    seats: (each.seats ?? []).map((view) => ({ ...VIEW, ...view })),
  }));
}

/** Return a turn that came as the body of a reply with all its fields. */
export function watchedTurnOf(body: unknown): WatchedTurn {
  return { ...watchedTurn.template, ...(body as object) } as WatchedTurn;
}

/** Return an `end` with all its fields. */
export function endOf(fields: Pick<EndMessage, "episode" | "seat"> & Partial<EndMessage>): EndMessage {
  return { ...end.template, ...fields } as EndMessage;
}
