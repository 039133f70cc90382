// The bethink client for browsers and Node. `@bethink/client/node` finds the daemon and connects to it.

export type * from "./api.ts";
export { Client } from "./client.ts";
export type { ClientOptions, TextAnswer, Transport } from "./client.ts";
export { ApiError, ConnectionError, ProofError, TimeoutError } from "./errors.ts";
export { EventStream } from "./events.ts";
export type { BethinkEvent, EventOptions } from "./events.ts";
export type { Answer, CallOptions, Method, Path, RequestOptions } from "./paths.ts";
