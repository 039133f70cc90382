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
      onConnect: () => this.#onState("live"),
      onDisconnect: () => this.#onState("waiting"),
      // After a 401 the sign-in page is shown.
      reconnect: (error) => !(error instanceof ApiError && error.status === 401),
    });
    try {
      for await (const event of this.#stream) {
        this.#lastEventId = event.id;
        for (const listener of [...this.#listeners]) listener(event);
      }
    } catch {
      this.stop();
    }
  }
}
