// Reports of the sessions that are on the screen: read a few at a time, and again when something happened.

import { get } from "./api.ts";
import { isObject } from "./message.ts";
import type { Parts, Report } from "./types.ts";
import { later } from "./view.ts";

/** The first report of a session loads it, so rows are filled a few at a time. */
const AT_ONCE = 3;

/** A report with what a `context` event says. */
export function withContext(report: Report, data: Readonly<Record<string, unknown>>): Report {
  const number = (name: string, before: number) => (typeof data[name] === "number" ? data[name] : before);
  return {
    ...report,
    tokens: number("tokens", report.tokens),
    remaining: number("remaining", report.remaining),
    level: typeof data["level"] === "string" ? data["level"] : report.level,
    parts: isObject(data["parts"]) ? { ...report.parts, ...(data["parts"] as Partial<Parts>) } : report.parts,
  };
}

export class Reports {
  readonly #signal: AbortSignal;
  readonly #came: (id: string, report: Report) => void;
  readonly #known = new Map<string, Report>();
  readonly #stale = new Set<string>();
  readonly #reading = new Set<string>();
  #wanted: readonly string[] = [];

  constructor(signal: AbortSignal, came: (id: string, report: Report) => void) {
    this.#signal = signal;
    this.#came = came;
  }

  get(id: string): Report | undefined {
    return this.#known.get(id);
  }

  /** These are on the screen, and nothing else is. */
  want(ids: readonly string[]): void {
    this.#wanted = ids;
    this.#more();
  }

  /** Something happened there. */
  stale(id: string): void {
    this.#stale.add(id);
    this.#soon();
  }

  /** A prompt was made, and this is how it fills the window. */
  told(id: string, data: Readonly<Record<string, unknown>>): void {
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
      const report = await get<Report>(`/v1/sessions/${id}/context/report`, this.#signal);
      this.#known.set(id, report);
      this.#came(id, report);
    } catch {
      // Deleted meanwhile, or the daemon is gone: the list and the state in the header tell.
      this.#known.delete(id);
      this.#wanted = this.#wanted.filter((other) => other !== id);
    } finally {
      this.#reading.delete(id);
      this.#more();
    }
  }
}
