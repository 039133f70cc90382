// A parser of server-sent events.

export interface ServerSentEvent {
  /** The ID of this event, or of the last one that had an ID. */
  readonly id: string;
  /** The kind; `message` if the event has none. */
  readonly event: string;
  readonly data: string;
}

/** Maximum length of an incomplete event, in characters. The daemon's events have a few hundred. */
const MAX_EVENT = 1_000_000;

/** Parses chunks of text, which may end anywhere. */
export class EventParser {
  #rest = "";
  #id = "";
  #event = "";
  #data: string[] = [];
  #length = 0;
  #endsWithCr = false;
  /** How many milliseconds to wait before reconnecting, if the server has sent `retry`. */
  retry: number | undefined;

  /** Returns the events that this chunk completes. Throws if an event is too long. */
  push(chunk: string): ServerSentEvent[] {
    // CR LF is one line ending, even if it is split between two chunks.
    const text = this.#endsWithCr && chunk.startsWith("\n") ? chunk.slice(1) : chunk;
    if (chunk !== "") this.#endsWithCr = chunk.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? "";
    const events: ServerSentEvent[] = [];
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else this.#end(events);
    }
    if (this.#length + this.#rest.length > MAX_EVENT) throw new Error(`an event is longer than ${MAX_EVENT} characters`);
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    // A comment, which keeps the connection open.
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    this.#length += line.length;
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }

  #end(events: ServerSentEvent[]): void {
    if (this.#data.length > 0) events.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
    this.#event = "";
    this.#data = [];
    this.#length = 0;
  }
}
