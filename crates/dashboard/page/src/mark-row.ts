// Marks between messages: compactions, collapsed spans, and what was added to prompts or removed from them.

import type { Collapse, Compaction, DecidedView } from "./api.ts";
import { modal } from "./dialog.ts";
import { h } from "./dom.ts";
import { KIND_WORDS } from "./names.ts";
import { brief, count, share } from "./number.ts";
import { link } from "./route.ts";
import { clock } from "./time.ts";
import { type Mark, isRecall } from "./track.ts";

export function markWords(mark: Mark): string {
  if (mark.is === "compaction") return compactionWords(mark.compaction);
  return mark.is === "collapse" ? collapseWords(mark.collapse) : decidedWords(mark.decided);
}

export function markRow(mark: Mark, session: string, project: string): HTMLElement {
  if (mark.is === "compaction") return compactionRow(mark.compaction, session);
  if (mark.is === "decided") return decidedRow(mark.decided, project);
  const { collapse } = mark;
  const words = collapseWords(collapse);
  const open = () => void modal("Collapsed messages", [h("p", { class: "faint" }, words), h("pre", { class: "wrap", tabindex: 0 }, collapse.text)]);
  return h("button", { class: "row boundary collapse", "data-main": true, onclick: open }, h("span", { class: "line" }, words), clock(collapse.committed_at ?? collapse.staged_at));
}

function collapseWords({ state, covers, tokens_before, tokens }: Collapse): string {
  return `${state === "committed" ? "collapsed" : "ready to collapse"}: messages ${covers.first_seq} to ${covers.last_seq}, ${brief(tokens_before)} → ${brief(tokens)} tokens`;
}

function compactionWords(done: Compaction): string {
  const kinds = [KIND_WORDS[done.trigger] ?? done.trigger, KIND_WORDS[done.level] ?? done.level];
  return `Compaction, ${[...new Set(kinds)].join(", ")}: ${brief(done.tokens_before)} → ${brief(done.tokens_after)} tokens${done.undone_at ? ", undone" : ""}`;
}

function compactionRow(done: Compaction, session: string): HTMLElement {
  return h(
    "a",
    { class: `row boundary ${done.undone_at ? "undone" : ""}`, "data-main": true, href: link(["session", session, "compactions", done.id]) },
    h("span", { class: "line" }, compactionWords(done)),
    done.level !== "recorded" && h("span", { class: "fidelity" }, `fidelity ${share(done.fidelity)}`),
    clock(done.created_at),
  );
}

/** Text that was added to a prompt, or content that was removed from it. */
function decidedRow(decided: DecidedView, project: string): HTMLElement {
  const tokens = decided.tokens == null ? "" : `, ${brief(decided.tokens)} tokens`;
  const inside = [h("span", { class: "line", dir: "auto" }, `${decidedWords(decided)}${tokens}`), clock(decided.at)];
  const [scope = "", ...name] = (decided.name ?? "").split("/");
  if (decided.what !== "memory" || name.length === 0) return h("div", { class: "row boundary decided" }, inside);
  return h("a", { class: "row boundary decided", "data-main": true, href: link(["memory", scope, name.join("/")], { project }) }, inside);
}

function decidedWords(decided: DecidedView): string {
  const many = decided.seqs?.length ?? 0;
  switch (decided.kind) {
    case "cleared":
      return `${count(many, "old tool result")} cleared`;
    case "snipped":
      return `${count(many, "superseded tool result")} left out`;
    case "stripped":
      return "Content left out of prompts because the provider rejected it";
    case "instructed":
      return `Instructions: ${decided.name ?? ""}`;
    default:
      if (isRecall(decided)) return `Recalled: ${decided.name ?? ""}`;
      return decided.what === "memory" ? "Changes to the memory index" : `${decided.what ?? "text"}${decided.name ? `: ${decided.name}` : ""}`;
  }
}
