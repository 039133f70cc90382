// Server-sent events from text, however it is cut.

export interface Told {
  readonly id: string;
  readonly kind: string;
  readonly data: string;
}

export class Parser {
  #rest = "";
  #id = "";
  #kind = "";
  #data: string[] = [];
  #cr = false;
  /** What the server asked for, in milliseconds. */
  retry: number | null = null;

  /** Events that are whole with this piece. */
  push(piece: string): Told[] {
    // A pair of CR and LF may come in two pieces: the LF is no line of its own then.
    let text = this.#cr && piece.startsWith("\n") ? piece.slice(1) : piece;
    if (piece !== "") this.#cr = piece.endsWith("\r");
    text = this.#rest + text;
    const lines = text.split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? "";
    const told: Told[] = [];
    for (const line of lines) {
      const event = this.#line(line);
      if (event) told.push(event);
    }
    return told;
  }

  #line(line: string): Told | null {
    if (line === "") return this.#end();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#kind = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    return null;
  }

  #end(): Told | null {
    const [kind, data] = [this.#kind || "message", this.#data];
    this.#kind = "";
    this.#data = [];
    return data.length === 0 ? null : { id: this.#id, kind, data: data.join("\n") };
  }
}
