// What happens in all sessions, as the daemon tells it. Read with fetch(), since an EventSource can't send the
// header that proves the page.

import { Problem, request } from "./api.ts";
import { Parser, type Told } from "./sse.ts";

export type State = "live" | "waiting" | "paused";

export interface Event {
  readonly kind: string;
  readonly session_id: string | null;
  readonly data: Record<string, unknown>;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;
/** The daemon says something every 15 seconds; a stream that is silent for three of them is dead. */
const SILENCE_MS = 45_000;
/** A tab that nobody sees gives its connection back: a browser has six for a server, however many tabs. */
const HIDDEN_MS = 10_000;

type Hear = (event: Event) => void;

export class Events {
  readonly #hearers = new Set<Hear>();
  readonly #told: (state: State) => void;
  #last = "";
  #wait = FIRST_WAIT_MS;
  #running: AbortController | null = null;
  #hiding: ReturnType<typeof setTimeout> | undefined;

  constructor(told: (state: State) => void) {
    this.#told = told;
  }

  start(): void {
    document.addEventListener("visibilitychange", () => this.#seen(!document.hidden));
    this.#run();
  }

  stop(): void {
    this.#running?.abort();
    this.#running = null;
  }

  /** Hears until `signal` ends it. */
  hear(signal: AbortSignal, hear: Hear): void {
    this.#hearers.add(hear);
    signal.addEventListener("abort", () => this.#hearers.delete(hear), { once: true });
  }

  #seen(visible: boolean): void {
    clearTimeout(this.#hiding);
    if (visible && !this.#running) this.#run();
    if (visible) return;
    this.#hiding = setTimeout(() => {
      this.stop();
      this.#told("paused");
    }, HIDDEN_MS);
  }

  #run(): void {
    const running = new AbortController();
    this.#running = running;
    void this.#loop(running.signal);
  }

  async #loop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#read(signal);
      } catch (error) {
        // The page is not known any more: asking again changes nothing.
        if (error instanceof Problem && error.status === 401) return this.stop();
        // The daemon does not know the place in the stream: from here on, then, and the lists anew.
        if (error instanceof Problem && error.status === 422) {
          this.#last = "";
          this.#tell({ id: "", kind: "reset", data: "{}" });
        }
      }
      if (signal.aborted) return;
      this.#told("waiting");
      await new Promise((go) => setTimeout(go, this.#wait * (0.75 + Math.random() / 2)));
      this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 2);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const silence = new AbortController();
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.#last !== "") headers["Last-Event-ID"] = this.#last;
    const both = AbortSignal.any([signal, silence.signal]);
    const answer = await request("/v1/events", { headers, signal: both });
    if (!answer.body) return;
    this.#told("live");
    this.#wait = FIRST_WAIT_MS;
    const parser = new Parser();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let watch = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(() => silence.abort(), SILENCE_MS);
        for (const told of parser.push(value)) this.#tell(told);
      }
    } finally {
      clearTimeout(watch);
    }
  }

  #tell(told: Told): void {
    if (told.id !== "") this.#last = told.id;
    let data: Record<string, unknown> = {};
    try {
      data = JSON.parse(told.data) as Record<string, unknown>;
    } catch {
      return;
    }
    const session_id = typeof data["session_id"] === "string" ? data["session_id"] : null;
    for (const hear of [...this.#hearers]) hear({ kind: told.kind, session_id, data });
  }
}
