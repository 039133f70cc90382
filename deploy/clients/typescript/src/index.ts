// The bethink client for browsers and Node. `@bethink/client/node` finds the daemon and connects to it.

export type * from "./api.ts";
export { Client, TimeoutError } from "./client.ts";
export type { Answer, CallOptions, ClientOptions, Method, Path, RequestOptions, TextAnswer, Transport } from "./client.ts";
export { ApiError, ConnectionError } from "./errors.ts";
export { EventStream } from "./events.ts";
export type { BethinkEvent, EventOptions } from "./events.ts";
