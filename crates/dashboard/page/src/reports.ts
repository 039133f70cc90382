// The context reports of the sessions on the screen. They are read a few at a time, and again after changes.

import { type ContextEvent, type ContextReport, client } from "./api.ts";
import { later } from "./view.ts";

/** Maximum number of reports read at a time. A first report makes the daemon load its session. */
const AT_ONCE = 3;

/** Returns the report with the figures of a `context` event. */
export function withContext(report: ContextReport, { tokens, remaining, level, parts }: ContextEvent["data"]): ContextReport {
  return { ...report, tokens, remaining, level, parts };
}

export class Reports {
  readonly #signal: AbortSignal;
  readonly #came: (id: string, report: ContextReport) => void;
  readonly #known = new Map<string, ContextReport>();
  readonly #stale = new Set<string>();
  readonly #reading = new Set<string>();
  #wanted: readonly string[] = [];

  constructor(signal: AbortSignal, came: (id: string, report: ContextReport) => void) {
    this.#signal = signal;
    this.#came = came;
  }

  get(id: string): ContextReport | undefined {
    return this.#known.get(id);
  }

  /** Sets which sessions are on the screen. */
  want(ids: readonly string[]): void {
    this.#wanted = ids;
    this.#more();
  }

  /** Reads the report of a session again. */
  stale(id: string): void {
    this.#stale.add(id);
    this.#soon();
  }

  /** Applies the figures of a new prompt. */
  update(id: string, data: ContextEvent["data"]): void {
    const known = this.#known.get(id);
    if (!known) return;
    const report = withContext(known, data);
    this.#known.set(id, report);
    this.#came(id, report);
  }

  readonly #soon = later(120, new AbortController().signal, () => this.#more());

  #more(): void {
    for (const id of this.#wanted) {
      if (this.#signal.aborted || this.#reading.size >= AT_ONCE) return;
      if (this.#reading.has(id) || (this.#known.has(id) && !this.#stale.has(id))) continue;
      void this.#read(id);
    }
  }

  async #read(id: string): Promise<void> {
    this.#reading.add(id);
    this.#stale.delete(id);
    try {
      const report = await client.get("/v1/sessions/{id}/context/report", { path: { id }, signal: this.#signal });
      this.#known.set(id, report);
      this.#came(id, report);
    } catch {
      // The session was deleted or the daemon stopped, which the list and the header show.
      this.#known.delete(id);
      this.#wanted = this.#wanted.filter((other) => other !== id);
    } finally {
      this.#reading.delete(id);
      this.#more();
    }
  }
}
