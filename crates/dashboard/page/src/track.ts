// Marks between the messages of a session where prompts were changed, and what prompts no longer contain.

import type { PlacedMark } from "./conversation.ts";
import { count } from "./number.ts";
import type { Collapse, Compaction, DecidedView } from "./api.ts";

export type Mark =
  | { readonly is: "compaction"; readonly compaction: Compaction }
  | { readonly is: "collapse"; readonly collapse: Collapse }
  | { readonly is: "decided"; readonly decided: DecidedView };

/** Decisions that are shown as marks. Todo lists are added every few messages, and have a view of their own. */
const SHOWN = new Set(["attached", "instructed", "cleared", "snipped", "stripped"]);

type Placed = PlacedMark<Mark>;

/** Whether a memory was added to a prompt. Its name is its scope and its name; changes to the index are named `MEMORY.md`. */
export function isRecall({ kind, what, name }: DecidedView): boolean {
  return kind === "attached" && what === "memory" && (name ?? "").includes("/");
}

export class Track {
  readonly lastSeq: number;
  readonly #compactions: readonly Compaction[];
  readonly #collapses: readonly Collapse[];
  readonly #decided: readonly DecidedView[];
  readonly #placed: readonly Placed[];
  readonly #shortened: ReadonlySet<number>;

  constructor(lastSeq: number, compactions: readonly Compaction[], collapses: readonly Collapse[], decided: readonly DecidedView[] = []) {
    this.lastSeq = lastSeq;
    this.#compactions = compactions;
    this.#collapses = collapses;
    const cuts = compactions.map((compaction): Placed => ({ after: compaction.covers.last_seq, mark: { is: "compaction", compaction } }));
    const spans = collapses.map((collapse): Placed => ({ after: collapse.covers.last_seq, mark: { is: "collapse", collapse } }));
    const told = decided.filter((one) => SHOWN.has(one.kind) && one.what !== "todos");
    const others = told.map((decided): Placed => ({ after: decided.after_seq, mark: { is: "decided", decided } }));
    this.#decided = decided;
    this.#shortened = new Set(decided.flatMap((one) => one.seqs ?? []));
    this.#placed = [...others, ...cuts, ...spans].filter(({ after }) => after <= lastSeq).sort((a, b) => a.after - b.after);
  }

  /** The marks, in the order of the messages that they follow. */
  get placed(): readonly Placed[] {
    return this.#placed;
  }

  /** Whether current prompts show a summary or the text of a collapsed span instead of this message. */
  hides(seq: number): boolean {
    const covers = ({ covers }: { covers: { first_seq: number; last_seq: number } }) => covers.first_seq <= seq && seq <= covers.last_seq;
    return this.#compactions.some((done) => !done.undone_at && covers(done)) || this.#collapses.some((span) => span.state === "committed" && covers(span));
  }

  /** Whether prompts no longer contain all of this message. */
  shortens(seq: number): boolean {
    return this.#shortened.has(seq);
  }

  words(): string {
    const cuts = this.#compactions.filter((done) => !done.undone_at).length;
    const spans = this.#collapses.filter((span) => span.state === "committed").length;
    const recalled = this.#decided.filter(isRecall).length;
    const parts = [count(this.lastSeq, "message"), recalled > 0 ? count(recalled, "recalled memory", "recalled memories") : "", cuts > 0 ? count(cuts, "compaction") : "", spans > 0 ? count(spans, "collapsed span") : ""];
    return parts.filter((part) => part !== "").join(", ");
  }
}
