/**
 * Dovetail for Node: everything of the core, and connections over ZeroMQ.
 * @module
 */

export * from "../core/index.js";
export { ADDRESS, Link } from "./link.js";
export type { Listener } from "./link.js";
export { SOFTWARE, connect, main, serve, serveHost } from "./serve.js";
export type { ConnectOptions, ServeOptions, Served } from "./serve.js";
