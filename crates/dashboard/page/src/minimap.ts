// A map of a whole session: who spoke where, what failed, and where the context window was compacted.

import type { OutlineMessage } from "./api.ts";
import { fill, h } from "./dom.ts";

/** Something to jump to, such as a compaction. */
export interface Landmark {
  readonly after: number;
  readonly name: string;
}

const PIECES = 240;

/** What a piece of the map shows: its most important message. */
export function pieceOf(messages: readonly OutlineMessage[]): string {
  if (messages.some(({ results }) => results?.some(({ failed }) => failed))) return "failed";
  if (messages.some(({ kind }) => kind === "typed")) return "typed";
  if (messages.some(({ calls }) => calls?.some(({ edits }) => edits))) return "edits";
  return messages.length === 0 ? "" : "work";
}

export class MiniMap {
  readonly node = h("div", { class: "minimap" });
  readonly #strip = h("div", { class: "strip", "aria-hidden": "true" });
  readonly #marks = h("div", { class: "landmarks" });
  readonly #here = h("span", { class: "here", "aria-hidden": "true" });
  readonly #go: (seq: number) => void;
  #last = 0;

  constructor(go: (seq: number) => void) {
    this.#go = go;
    this.#strip.addEventListener("click", (event) => {
      const box = this.#strip.getBoundingClientRect();
      this.#go(Math.max(1, Math.ceil(((event.clientX - box.left) / box.width) * this.#last)));
    });
    this.node.append(this.#strip, this.#marks, this.#here);
  }

  show(messages: readonly OutlineMessage[], landmarks: readonly Landmark[]): void {
    this.#last = messages.at(-1)?.seq ?? 0;
    const pieces = Math.min(PIECES, messages.length);
    fill(
      this.#strip,
      Array.from({ length: pieces }, (_, n) => {
        const part = messages.slice(Math.floor((n * messages.length) / pieces), Math.floor(((n + 1) * messages.length) / pieces));
        return h("span", { class: pieceOf(part) });
      }),
    );
    fill(
      this.#marks,
      landmarks.map(({ after, name }) => {
        const mark = h("button", { class: "bare landmark", "aria-label": `Go to: ${name}`, title: name, onclick: () => this.#go(after) });
        mark.style.left = `${(100 * after) / Math.max(1, this.#last)}%`;
        return mark;
      }),
    );
  }

  /** Shows which message is at the upper end of the screen. */
  at(seq: number): void {
    this.#here.style.left = `${(100 * seq) / Math.max(1, this.#last)}%`;
  }
}
