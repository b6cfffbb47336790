/**
 * Dovetail for Node: everything of the core, and connections over ZeroMQ.
 * @module
 */

export * from "../core/index.js";
export { SOFTWARE } from "../peer/serve.js";
export type { PeerOptions, Served, ServingOptions } from "../peer/serve.js";
export { ADDRESS, connect, main, serve, serveHost } from "./serve.js";
export type { ConnectOptions, ServeOptions } from "./serve.js";
