// Events of all sessions. They are read with `fetch`, because `EventSource` cannot send the page's header.

import { ApiError, type BethinkEvent, type EventStream, client } from "./api.ts";

export type State = "live" | "waiting" | "paused";

/** Milliseconds until a hidden tab closes its connection: a browser has six per server, for all its tabs. */
const HIDDEN_MS = 10_000;

type Listener = (event: BethinkEvent) => void;

export class Events {
  readonly #listeners = new Set<Listener>();
  readonly #onState: (state: State) => void;
  #lastEventId = "";
  /** Whether the next connection starts with a `reset`: a stream that was closed before its first event cannot be resumed. */
  #missed = false;
  #stream: EventStream | null = null;
  #hiding: ReturnType<typeof setTimeout> | undefined;

  constructor(onState: (state: State) => void) {
    this.#onState = onState;
  }

  start(): void {
    document.addEventListener("visibilitychange", () => this.#visibilityChanged(!document.hidden));
    void this.#run();
  }

  stop(): void {
    this.#stream?.close();
    this.#stream = null;
    this.#missed = this.#lastEventId === "";
  }

  /** Reconnects now instead of after the pause. */
  retryNow(): void {
    this.#stream?.retryNow();
  }

  /** Calls `listener` for each event until `signal` is aborted. */
  listen(signal: AbortSignal, listener: Listener): void {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }

  #visibilityChanged(visible: boolean): void {
    clearTimeout(this.#hiding);
    if (visible && !this.#stream) void this.#run();
    if (visible) return;
    this.#hiding = setTimeout(() => {
      this.stop();
      this.#onState("paused");
    }, HIDDEN_MS);
  }

  async #run(): Promise<void> {
    this.#stream = client.events({
      lastEventId: this.#lastEventId,
      onConnect: () => this.#connected(),
      onDisconnect: () => this.#onState("waiting"),
      // After a 401 the sign-in page is shown.
      reconnect: (error) => !(error instanceof ApiError && error.status === 401),
    });
    try {
      for await (const event of this.#stream) {
        this.#lastEventId = event.id;
        this.#tell(event);
      }
    } catch {
      this.stop();
    }
  }

  #connected(): void {
    this.#onState("live");
    if (this.#missed) this.#tell({ event: "reset", data: {}, id: "", session_id: undefined });
    this.#missed = false;
  }

  /** Calls the listeners. If one throws, the others still get the event, and the stream continues. */
  #tell(event: BethinkEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        console.error(error);
      }
    }
  }
}
