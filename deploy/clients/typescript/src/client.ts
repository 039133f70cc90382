// Typed requests to the daemon. Changes carry an idempotency key, so that a lost connection can be retried safely.

import { ApiError, ConnectionError, ProofError, TimeoutError, apiError } from "./errors.ts";
import { type EventOptions, EventStream } from "./events.ts";
import type { Answer, CallOptions, Method, OptionalArgument, Path } from "./paths.ts";

/** Sends one request, like `fetch`, to the daemon. `path` starts with `/`. Rejects with a `ConnectionError`. */
export type Transport = (path: string, init: RequestInit) => Promise<Response>;

export interface ClientOptions {
  /** Milliseconds that an answer may take. The default leaves time for a compaction by a slow model. */
  timeout?: number;
  /** Maximum size of an answer, in bytes; unlimited by default. */
  maxBytes?: number;
}

/** A text with the tag that a later write sends as `If-Match`. */
export interface TextAnswer {
  readonly text: string;
  readonly etag: string;
  readonly headers: Headers;
}

const TIMEOUT = 660_000;
/** Attempts to send a request whose connection is lost, and the first pause between them in milliseconds. */
const ATTEMPTS = 5;
const FIRST_PAUSE = 100;

export class Client {
  readonly #transport: Transport;
  readonly #timeout: number;
  readonly #maxBytes: number;

  constructor(transport: Transport, options: ClientOptions = {}) {
    this.#transport = transport;
    this.#timeout = options.timeout ?? TIMEOUT;
    this.#maxBytes = options.maxBytes ?? Infinity;
  }

  get<P extends Path<"get">>(path: P, ...[options]: OptionalArgument<"get", P>): Promise<Answer<"get", P>> {
    return this.#call("get", path, options);
  }

  post<P extends Path<"post">>(path: P, ...[options]: OptionalArgument<"post", P>): Promise<Answer<"post", P>> {
    return this.#call("post", path, options);
  }

  put<P extends Path<"put">>(path: P, ...[options]: OptionalArgument<"put", P>): Promise<Answer<"put", P>> {
    return this.#call("put", path, options);
  }

  patch<P extends Path<"patch">>(path: P, ...[options]: OptionalArgument<"patch", P>): Promise<Answer<"patch", P>> {
    return this.#call("patch", path, options);
  }

  delete<P extends Path<"delete">>(path: P, ...[options]: OptionalArgument<"delete", P>): Promise<Answer<"delete", P>> {
    return this.#call("delete", path, options);
  }

  /** Returns an answer as text, with its tag: notes, or a topic of the memory. */
  async text<P extends Path<"get">>(path: P, ...[options]: OptionalArgument<"get", P>): Promise<TextAnswer> {
    const { response, text } = await this.#send("get", path, options ?? {});
    return { text, etag: response.headers.get("etag") ?? "", headers: response.headers };
  }

  /** Follows the events of one session, or of all sessions. Connects when the first event is read. */
  events(options: EventOptions = {}): EventStream {
    return new EventStream((path, headers, signal) => this.#open(path, { headers, signal }), options);
  }

  async #call<T>(method: Method, path: string, options: AnyOptions = {}): Promise<T> {
    const { response, text } = await this.#send(method, path, options);
    if (text === "") return undefined as T;
    if (!response.headers.get("content-type")?.startsWith("application/json")) return text as T;
    try {
      return JSON.parse(text) as T;
    } catch (cause) {
      throw new Error(`could not read the daemon's answer to ${method.toUpperCase()} ${path}`, { cause });
    }
  }

  /** Sends a request within one time limit for all of its attempts. */
  async #send(method: Method, template: string, options: AnyOptions): Promise<{ response: Response; text: string }> {
    const { timeout = this.#timeout } = options;
    const { signal, end, expired } = deadline(timeout, options.signal);
    try {
      const init = { method: method.toUpperCase(), ...requestBody(method, options), signal };
      return await this.#attempts(fillPath(template, options), init, Date.now() + timeout);
    } catch (error) {
      throw expired() ? new TimeoutError(timeout) : error;
    } finally {
      end();
    }
  }

  /** Sends a request, and again if its connection is lost. The key stays the same, so a change is made once. */
  async #attempts(path: string, init: SignalledInit, end: number): Promise<{ response: Response; text: string }> {
    let lost: ConnectionError | undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(path, init);
      } catch (error) {
        if (error instanceof ConnectionError && error.sent) lost ??= error;
        const pause = retryPause(error, attempt, lost !== undefined);
        if (pause === undefined || Date.now() + pause > end) throw error instanceof ConnectionError ? (lost ?? error) : error;
        await sleep(pause, init.signal);
      }
    }
  }

  async #once(path: string, init: SignalledInit): Promise<{ response: Response; text: string }> {
    try {
      const response = await this.#open(path, init);
      return { response, text: await readText(response, this.#maxBytes) };
    } catch (error) {
      if (error instanceof ApiError || error instanceof ConnectionError || error instanceof RangeError || init.signal.aborted) throw error;
      throw new ConnectionError("the connection to the daemon was lost", { cause: error });
    }
  }

  /** Returns the answer before its body is read. Throws if it is not a success. */
  async #open(path: string, init: RequestInit): Promise<Response> {
    const response = await this.#transport(path, init);
    if (!response.ok) throw apiError(response, await readText(response, this.#maxBytes));
    return response;
  }
}

type SignalledInit = RequestInit & { signal: AbortSignal };

interface AnyOptions extends CallOptions {
  path?: unknown;
  query?: unknown;
  body?: unknown;
}

function fillPath(template: string, { path, query }: AnyOptions): string {
  const values = (path ?? {}) as Record<string, unknown>;
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") search.append(name, String(one));
    }
  }
  const text = search.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/** A string is sent as Markdown, which is the format of topics and notes; everything else as JSON. */
function requestBody(method: Method, options: AnyOptions): RequestInit {
  const headers: Record<string, string> = { ...options.headers };
  if (method === "get") return { headers };
  headers["idempotency-key"] ??= options.key ?? newKey();
  const { body } = options;
  if (body === undefined) return { headers };
  headers["content-type"] ??= typeof body === "string" ? "text/markdown" : "application/json";
  return { headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}

/** Milliseconds to wait before the next attempt; `undefined` if another attempt cannot help. */
function retryPause(error: unknown, attempt: number, sent: boolean): number | undefined {
  // The first request with this key is still running.
  if (error instanceof ApiError && error.status === 409) return error.retryAfter;
  if (attempt === ATTEMPTS) return undefined;
  const isBusy = (error instanceof ApiError && error.type === "busy") || (error instanceof ProofError && error.status === 503);
  const isLost = error instanceof ConnectionError && sent;
  return isBusy || isLost ? FIRST_PAUSE * 2 ** (attempt - 1) * (0.75 + Math.random() / 2) : undefined;
}

/** A unique key, which need not be secret: `crypto.randomUUID` is missing in some editors' extension hosts. */
function newKey(): string {
  return [Date.now(), Math.random(), Math.random()].map((part) => part.toString(36).replace("0.", "")).join("-");
}

/** Returns the body as text. Throws if it is too large. */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; ; ) {
    const { value, done } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader.cancel();
      throw new RangeError(`the daemon's answer is larger than ${maxBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** A signal that is aborted after a time, or with `outer`. `end` releases both. */
function deadline(milliseconds: number, outer?: AbortSignal): { signal: AbortSignal; end: () => void; expired: () => boolean } {
  const controller = new AbortController();
  let expired = false;
  const abort = () => controller.abort(outer?.reason);
  if (outer?.aborted) abort();
  outer?.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(() => {
    expired = true;
    controller.abort();
  }, milliseconds);
  const end = () => {
    clearTimeout(timer);
    outer?.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, end, expired: () => expired };
}

/** Waits, or rejects as soon as `signal` is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
