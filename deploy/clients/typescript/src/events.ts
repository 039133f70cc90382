// The daemon's events, with reconnection. After a lost connection, the stream resumes after the last event received.

import type { Event } from "./api.ts";
import { ApiError, ConnectionError } from "./errors.ts";
import { EventParser, type ServerSentEvent } from "./sse.ts";

/**
 * One event. `event` is its kind, and `data` depends on the kind. A newer daemon may send kinds that this type does not
 * list, so a `switch` needs a `default`.
 */
export type BethinkEvent = Event & {
  /** The ID to resume after; empty if the event has none. */
  readonly id: string;
  /** The session in which it happened; not set in the stream of one session. */
  readonly session_id: string | undefined;
};

export interface EventOptions {
  /** Follow only this session. */
  session?: string;
  /** Resume after this event. */
  lastEventId?: string;
  /** Ends the stream. */
  signal?: AbortSignal;
  /** Called after each connection. */
  onConnect?: () => void;
  /** Called when a connection fails or is lost. */
  onDisconnect?: (error: unknown) => void;
  /** Whether to reconnect after this error. By default, not after a refusal such as a wrong token. */
  reconnect?: (error: unknown) => boolean;
}

/** Pauses before reconnecting, in milliseconds: doubled after each failure, and up to a quarter shorter or longer. */
const FIRST_PAUSE = 250;
const MAX_PAUSE = 10_000;
/** Milliseconds of silence after which a connection counts as lost. The daemon sends a comment every 15 seconds. */
const SILENCE = 45_000;

type Open = (path: string, headers: Record<string, string>, signal: AbortSignal) => Promise<Response>;

/** An endless stream of events: `for await (const event of client.events()) …`. */
export class EventStream implements AsyncIterable<BethinkEvent> {
  readonly #open: Open;
  readonly #options: EventOptions;
  readonly #closed = new AbortController();
  #lastEventId: string;
  /** Whether a connection may have been lost, so that events were missed if the next one has no ID to resume after. */
  #hadConnection: boolean;
  #pause = FIRST_PAUSE;
  #wake = () => {};

  constructor(open: Open, options: EventOptions) {
    this.#open = open;
    this.#options = options;
    this.#lastEventId = options.lastEventId ?? "";
    this.#hadConnection = this.#lastEventId !== "";
    if (options.signal?.aborted) this.close();
    options.signal?.addEventListener("abort", () => this.close(), { once: true, signal: this.#closed.signal });
  }

  /** Ends the stream. */
  close(): void {
    this.#closed.abort();
    this.#wake();
  }

  /** Reconnects now if the stream is waiting to reconnect. */
  retryNow(): void {
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BethinkEvent, void, undefined> {
    const { onDisconnect, reconnect = isTemporary } = this.#options;
    while (!this.#closed.signal.aborted) {
      try {
        yield* this.#connection();
      } catch (error) {
        if (this.#closed.signal.aborted) return;
        if (this.#lastEventId !== "" && error instanceof ApiError && error.status === 422) {
          // The daemon no longer knows the ID. The next connection starts with a reset.
          this.#lastEventId = "";
          continue;
        }
        onDisconnect?.(error);
        if (!reconnect(error)) throw error;
      }
      await this.#rest();
    }
  }

  async *#connection(): AsyncGenerator<BethinkEvent, void, undefined> {
    const { session, onConnect } = this.#options;
    const path = session === undefined ? "/v1/events" : `/v1/sessions/${encodeURIComponent(session)}/events`;
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.#lastEventId !== "") headers["last-event-id"] = this.#lastEventId;
    const connection = new AbortController();
    const abort = () => connection.abort();
    this.#closed.signal.addEventListener("abort", abort, { once: true });
    let timer = setTimeout(abort, SILENCE);
    try {
      const response = await this.#open(path, headers, connection.signal);
      onConnect?.();
      if (this.#hadConnection && this.#lastEventId === "") yield { event: "reset", data: {}, id: "", session_id: undefined };
      this.#hadConnection = true;
      const parser = new EventParser();
      const decoder = new TextDecoder();
      const reader = response.body?.getReader();
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        if (done) throw new ConnectionError("the event stream ended");
        clearTimeout(timer);
        timer = setTimeout(abort, SILENCE);
        const received = parser.push(decoder.decode(value, { stream: true }));
        this.#pause = parser.retry ?? FIRST_PAUSE;
        for (const one of received) {
          const event = parsed(one);
          if (event) yield event;
          this.#lastEventId = one.id;
        }
      }
    } catch (error) {
      if (!connection.signal.aborted || this.#closed.signal.aborted) throw error;
      throw new ConnectionError(`the event stream was silent for ${SILENCE / 1000} s`, { cause: error });
    } finally {
      clearTimeout(timer);
      this.#closed.signal.removeEventListener("abort", abort);
      connection.abort();
    }
  }

  #rest(): Promise<void> {
    if (this.#closed.signal.aborted) return Promise.resolve();
    const pause = this.#pause * (0.75 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pause);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Returns the event, or `undefined` if its data is not a JSON object. */
function parsed({ id, event, data }: ServerSentEvent): BethinkEvent | undefined {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value !== "object" || value === null) return undefined;
    const session = (value as Record<string, unknown>)["session_id"];
    return { event, data: value, id, session_id: typeof session === "string" ? session : undefined } as BethinkEvent;
  } catch {
    return undefined;
  }
}

function isTemporary(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status >= 500 || error.status === 429;
}
