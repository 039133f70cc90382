// All messages of a session, with marks where prompts were changed.

import { type Compaction, type ContextReport, type DecidedView, type HistoryMessage, client } from "../api.ts";
import { h } from "../dom.ts";
import { List, Pages } from "../list.ts";
import { answeredIds, briefOf } from "../message.ts";
import { messageView } from "../message-view.ts";
import { KIND_WORDS } from "../names.ts";
import { brief, count, share } from "../number.ts";
import { link, replace } from "../route.ts";
import { hitList } from "../search-box.ts";
import { openSession } from "../session-head.ts";
import { time } from "../time.ts";
import { type Mark, Track } from "../track.ts";
import { modal } from "../dialog.ts";
import { type Context, aside, empty, later } from "../view.ts";

const PAGE = 200;
const NARROW = matchMedia("(max-width: 759px)");

export async function timeline(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "timeline");
  if (!opened) return;
  const view = new Timeline(opened.id, opened.session().project_dir, context);
  opened.body.append(view.node);
  await view.open();
  opened.onReport((report) => view.report(report));
}

class Timeline {
  readonly node = h("div", { class: "timeline" });
  readonly #id: string;
  readonly #project: string;
  readonly #context: Context;
  readonly #list: List;
  readonly #pages: Pages<HistoryMessage>;
  readonly #sum = h("p", { class: "faint sum", role: "status" });
  #track = new Track(0, [], []);
  #cleared = new Set<string>();

  constructor(id: string, project: string, context: Context) {
    this.#id = id;
    this.#project = project;
    this.#context = context;
    this.#list = new List(
      { label: "Messages", rowHeight: () => (NARROW.matches ? 56 : 32), row: (index) => this.#row(index), near: (first, last) => this.#near(first, last) },
      context.signal,
    );
    this.#pages = new Pages(PAGE, (page, size) => this.#read(page, size), (first, many) => this.#came(first, many));
  }

  async open(): Promise<void> {
    const search = hitList(this.#id, this.#context, (seq) => this.#go(seq));
    const end = (name: string, row: () => number) => h("button", { type: "button", onclick: () => this.#list.show(row()) }, name);
    const ends = h("div", { class: "ends" }, search);
    this.node.append(ends, this.#sum, this.#list.node);
    // Before anything is read, so that no message is missed.
    this.#listen();
    await this.#update();
    // The number of rows is known now.
    ends.append(end("First", () => 0), end("Newest", () => this.#list.count - 1));
    const wanted = Number(this.#context.route.query.get("seq") ?? 0);
    if (wanted > 0) this.#go(wanted);
  }

  /** Marks the messages of which prompts show only a part, or nothing. */
  report(report: ContextReport): void {
    this.#cleared = new Set(report.stages.flatMap((stage) => stage.touched));
    this.#list.refresh();
  }

  /** Reads how many messages there are, and the marks between them. */
  async #update(): Promise<void> {
    const options = { path: { id: this.#id }, signal: this.#context.signal };
    const [{ last_seq }, { compactions }, { collapses }, { decisions }] = await Promise.all([
      client.get("/v1/sessions/{id}", options),
      client.get("/v1/sessions/{id}/compactions", options),
      client.get("/v1/sessions/{id}/collapses", options),
      client.get("/v1/sessions/{id}/decisions", options),
    ]);
    // New messages may have arrived in the meantime. A shorter list would move the rows on the screen.
    const last = Math.max(last_seq, this.#track.lastSeq);
    if (last > this.#track.lastSeq) this.#pages.stale(this.#track.lastSeq);
    this.#track = new Track(last, compactions, collapses, decisions);
    this.#list.count = this.#track.rows;
    this.#list.refresh();
    this.#sum.textContent = last === 0 ? "" : this.#track.words();
    if (last === 0) this.#sum.replaceChildren(empty("No messages yet."));
  }

  #listen(): void {
    const again = later(150, this.#context.signal, () => aside(this.#update(), this.#context.signal));
    this.#context.events.listen(this.#context.signal, (event) => {
      if (event.session_id !== this.#id) return;
      if (["compaction", "collapse", "recall", "context"].includes(event.event)) again();
      if (event.event !== "message") return;
      const { seq } = event.data;
      if (seq <= this.#track.lastSeq) return;
      this.#pages.stale(this.#track.lastSeq);
      this.#track = this.#track.until(seq);
      this.#list.count = this.#track.rows;
      this.#pages.want(seq - 1, seq - 1);
    });
  }

  async #read(page: number, size: number): Promise<HistoryMessage[]> {
    const query = { after_seq: page * size, limit: size };
    return (await client.get("/v1/sessions/{id}/messages", { path: { id: this.#id }, query, signal: this.#context.signal })).messages;
  }

  #near(first: number, last: number): void {
    const [from, to] = [this.#track.seqNear(first), this.#track.seqNear(last)];
    if (to > 0) this.#pages.want(Math.max(0, from - 1), to - 1);
  }

  #came(first: number, many: number): void {
    for (let at = first; at < first + many; at++) this.#list.renew(this.#track.rowOf(at + 1));
  }

  #row(index: number): HTMLElement {
    const item = this.#track.at(index);
    return typeof item === "number" ? this.#messageRow(item) : this.#markRow(item);
  }

  #messageRow(seq: number): HTMLElement {
    const stored = this.#pages.at(seq - 1);
    const hidden = this.#track.hides(seq);
    if (!stored) return h("button", { type: "button", class: "row message-row waiting" }, h("span", { class: "number faint" }, seq));
    const told = briefOf(stored);
    const shortened = this.#track.shortens(seq) || answeredIds(stored).some((id) => this.#cleared.has(id));
    return h(
      "button",
      { type: "button", class: `row message-row ${told.sort}${hidden ? " hidden" : ""}`, onclick: () => this.#open(seq) },
      h("span", { class: "number faint" }, seq),
      h("span", { class: `sort ${told.failed ? "bad" : ""}` }, told.sort === "call" ? told.tool : told.sort),
      h("span", { class: "line", dir: "auto" }, told.text),
      h("span", { class: "marks" }, shortened && h("span", { class: "badge", title: "Prompts no longer contain all of this message" }, "shortened"), hidden && h("span", { class: "unseen" }, "summarized")),
      time(stored.created_at),
    );
  }

  #markRow(mark: Mark): HTMLElement {
    if (mark.is === "compaction") return this.#compactionRow(mark.compaction);
    if (mark.is === "decided") return this.#decidedRow(mark.decided);
    const { collapse } = mark;
    const words = `${collapse.state === "committed" ? "collapsed" : "ready to collapse"}: messages ${collapse.covers.first_seq} to ${collapse.covers.last_seq}, ${brief(collapse.tokens_before)} → ${brief(collapse.tokens)} tokens`;
    const open = () => void modal("Collapsed messages", [h("p", { class: "faint" }, words), h("pre", { class: "wrap", tabindex: 0 }, collapse.text)]);
    return h("button", { type: "button", class: "row boundary collapse", onclick: open }, h("span", { class: "line" }, words), time(collapse.committed_at ?? collapse.staged_at));
  }

  #compactionRow(done: Compaction): HTMLElement {
    const undone = done.undone_at ? " · undone" : "";
    const words = `compaction (${KIND_WORDS[done.trigger] ?? done.trigger}, ${KIND_WORDS[done.level] ?? done.level}): ${brief(done.tokens_before)} → ${brief(done.tokens_after)} tokens${undone}`;
    return h(
      "a",
      { class: `row boundary ${done.undone_at ? "undone" : ""}`, href: link(["session", this.#id, "compactions", done.id]) },
      h("span", { class: "line" }, words),
      done.level !== "recorded" && h("span", { class: "fidelity" }, `fidelity ${share(done.fidelity)}`),
      time(done.created_at),
    );
  }

  /** Text that was added to a prompt, or content that was removed from it. */
  #decidedRow(decided: DecidedView): HTMLElement {
    const tokens = decided.tokens == null ? "" : `, ${brief(decided.tokens)} tokens`;
    const words = `${decidedWords(decided)}${tokens}`;
    const inside = [h("span", { class: "line", dir: "auto" }, words), time(decided.at)];
    const [scope = "", ...name] = (decided.name ?? "").split("/");
    if (decided.what !== "memory" || name.length === 0) return h("button", { type: "button", class: "row boundary decided" }, inside);
    return h("a", { class: "row boundary decided", href: link(["memory", scope, name.join("/")], { project: this.#project }) }, inside);
  }

  #open(seq: number): void {
    const stored = this.#pages.at(seq - 1);
    if (!stored) return;
    replace(["session", this.#id], { seq });
    const step = (to: number) => {
      if (to < 1 || to > this.#track.lastSeq || !this.#pages.at(to - 1)) return;
      dialog.close();
      this.#open(to);
    };
    const dialog = modal(`Message ${seq}`, [
      messageView(stored),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", disabled: seq <= 1, onclick: () => step(seq - 1) }, "← Previous"),
        h("button", { type: "button", disabled: seq >= this.#track.lastSeq, onclick: () => step(seq + 1) }, "Next →"),
        h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close"),
      ),
    ], () => this.#list.show(this.#track.rowOf(seq)));
    dialog.classList.add("wide");
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft" || event.key === "k") step(seq - 1);
      if (event.key === "ArrowRight" || event.key === "j") step(seq + 1);
    });
  }

  #go(seq: number): void {
    this.#pages.want(seq - 1, seq - 1);
    this.#list.show(this.#track.rowOf(seq));
  }
}

function decidedWords(decided: DecidedView): string {
  const many = decided.seqs?.length ?? 0;
  switch (decided.kind) {
    case "cleared":
      return `${count(many, "old result")} cleared`;
    case "snipped":
      return `${count(many, "superseded result")} snipped`;
    case "stripped":
      return "Content that the provider rejected was removed";
    case "instructed":
      return `Instructions: ${decided.name ?? ""}`;
    default:
      return decided.what === "memory" ? (decided.name ? `Recalled: ${decided.name}` : "Changes in the memory") : `${decided.what ?? "text"}${decided.name ? `: ${decided.name}` : ""}`;
  }
}
