/**
 * Everything above the transport.  Nothing in here needs Node.
 * @module
 */

export * from "./agent.js";
export { AgentHost } from "./agent_host.js";
export { LIMITS, decode } from "./decode.js";
export type { Limits } from "./decode.js";
export { encode } from "./encode.js";
export * from "./environment.js";
export { EnvironmentHost } from "./environment_host.js";
export * from "./errors.js";
export * from "./experiment.js";
export type { Awaitable, Host } from "./host.js";
export { formatReading, fromHex, parseReading, toHex } from "./json.js";
export { mask, unmask } from "./legal.js";
export * from "./messages.js";
export { readOptions } from "./options.js";
export type { Option, Options } from "./options.js";
export { Random } from "./random.js";
export { derive } from "./seeds.js";
export { Session } from "./session.js";
export type { Received } from "./session.js";
export {
  box,
  contains,
  dict,
  discrete,
  multiBinary,
  multiDiscrete,
  sample,
  spaceOf,
  textSpace,
  tuple,
} from "./spaces.js";
export type { Bound, Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple } from "./spaces.js";
export { DTYPES, Extension, Tensor, int, isDtype } from "./values.js";
export type { Dtype, Int, Numbers, Value } from "./values.js";
