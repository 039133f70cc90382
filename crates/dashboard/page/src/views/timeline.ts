// A session as a conversation: turns and days, tool calls with their results, and marks where prompts were changed.

import { type ContextReport, type HistoryMessage, type OutlineMessage, type Session, client } from "../api.ts";
import { type Filter, EVERYTHING, type Row, rowOf, rowsOf, sameRows, seqOf } from "../conversation.ts";
import { FilterBar } from "../filter-bar.ts";
import { Flow } from "../flow.ts";
import { h } from "../dom.ts";
import { Pages } from "../list.ts";
import { answeredIds } from "../message.ts";
import { markRow, markWords } from "../mark-row.ts";
import { showMessage } from "../message-dialog.ts";
import { MiniMap } from "../minimap.ts";
import { isModified } from "../movement.ts";
import { listTitle } from "../names.ts";
import { count } from "../number.ts";
import { readOutline } from "../outline.ts";
import { link, replace } from "../route.ts";
import { type Shown, callRow, dayRow, reveal, saidRow } from "../row-view.ts";
import { hitList } from "../search-box.ts";
import { openSession } from "../session-head.ts";
import { childrenAt } from "../subagents.ts";
import { type Mark, Track } from "../track.ts";
import { type Context, aside, empty, later } from "../view.ts";

const PAGE = 200;
/** Rows drawn before they are measured. */
const ESTIMATES = { day: 44, call: 30, mark: 38, said: 84 } as const;

export async function timeline(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "timeline");
  if (!opened) return;
  const view = new Timeline(opened.id, opened.session().project_dir, context);
  opened.body.append(view.node);
  await view.open();
  opened.onReport((report) => view.report(report));
}

/** Lets the browser draw and handle input. */
const pause = () => new Promise((done) => setTimeout(done));

class Timeline {
  readonly node = h("div", { class: "timeline" });
  readonly #id: string;
  readonly #project: string;
  readonly #context: Context;
  readonly #list: Flow;
  readonly #pages: Pages<HistoryMessage>;
  readonly #map = new MiniMap((seq) => this.#go(seq));
  readonly #bar: FilterBar;
  readonly #sum = h("p", { class: "faint sum", role: "status" });
  readonly #opened = new Set<string>();
  #messages: OutlineMessage[] = [];
  #rows: Row<Mark>[] = [];
  #track = new Track(0, [], []);
  #children = new Map<string, Session[]>();
  #cleared = new Set<string>();
  #filter: Filter = EVERYTHING;

  constructor(id: string, project: string, context: Context) {
    this.#id = id;
    this.#project = project;
    this.#context = context;
    this.#bar = new FilterBar(project, (filter) => {
      this.#filter = filter;
      this.#arrange(true);
    });
    this.#list = new Flow(
      {
        label: "Conversation",
        estimate: (index) => ESTIMATES[this.#rows[index]?.is ?? "said"],
        row: (index) => this.#row(index),
        near: (first, last) => this.#near(first, last),
        moved: (index) => this.#map.at(seqOf(this.#rows[index] ?? { is: "day", at: "" })),
      },
      context.signal,
    );
    this.#pages = new Pages(PAGE, (page, size) => this.#read(page, size), (first, many) => this.#came(first, many));
    this.#list.node.addEventListener("keydown", (event) => this.#turnKey(event));
  }

  async open(): Promise<void> {
    const search = hitList(this.#id, this.#context, (seq) => this.#open(seq));
    const end = (name: string, row: () => number) => h("button", { onclick: () => this.#list.show(row()) }, name);
    const ends = h("div", { class: "ends" }, search, this.#bar.node);
    this.node.append(ends, this.#sum, h("div", { class: "map-bar" }, this.#map.node), this.#list.node);
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

  /** Reads what came since, and the marks. */
  async #update(): Promise<void> {
    const options = { path: { id: this.#id }, signal: this.#context.signal };
    const known = this.#messages.at(-1)?.seq ?? 0;
    const [, { compactions }, { collapses }, { decisions }, { sessions }] = await Promise.all([
      readOutline(this.#id, known, this.#context.signal, (page) => this.#add(page)),
      client.get("/v1/sessions/{id}/compactions", options),
      client.get("/v1/sessions/{id}/collapses", options),
      client.get("/v1/sessions/{id}/decisions", options),
      client.get("/v1/sessions", { query: { parent: this.#id, limit: 100 }, signal: this.#context.signal }),
    ]);
    const last = this.#messages.at(-1)?.seq ?? 0;
    if (last > known) this.#pages.stale(known);
    this.#track = new Track(last, compactions, collapses, decisions);
    this.#children = childrenAt(this.#messages, sessions);
    await pause();
    this.#bar.files(this.#messages);
    await pause();
    if (!this.#context.signal.aborted) this.#arrange(false);
  }

  /** Adds what was read of the outline. The beginning of a long session is shown before the rest is known. */
  #add(page: readonly OutlineMessage[]): void {
    const isFirst = this.#messages.length === 0;
    // Another update may have read some of them.
    for (const message of page) if (message.seq > (this.#messages.at(-1)?.seq ?? 0)) this.#messages.push(message);
    if (isFirst && this.#messages.length > 0) this.#arrange(false);
  }

  /** Makes the rows. `anew` after the filter was changed. */
  #arrange(anew: boolean): void {
    const [old, filter] = [this.#rows, this.#filter];
    const rows = (this.#rows = rowsOf(this.#messages, this.#track.placed, filter));
    const same = anew ? 0 : sameRows(old, rows);
    this.#list.reset(rows.length, same);
    if (same > 0) this.#list.refresh();
    this.#map.show(this.#messages, this.#track.placed.filter(({ mark }) => mark.is !== "decided").map(({ after, mark }) => ({ after, name: markWords(mark) })));
    const said = rows.filter((row) => row.is === "said" || row.is === "call").length;
    const all = this.#track.words();
    if (this.#messages.length === 0) this.#sum.replaceChildren(empty("No messages yet."));
    else if (this.#track.lastSeq === 0) this.#sum.textContent = "Loading…";
    else if (rows.length === 0) this.#sum.replaceChildren(empty("Nothing matches the filter."));
    else this.#sum.textContent = filter === EVERYTHING ? all : `${said} of ${all}`;
  }

  #listen(): void {
    const again = later(150, this.#context.signal, () => aside(this.#update(), this.#context.signal));
    this.#context.events.listen(this.#context.signal, (event) => {
      if (event.session_id !== this.#id) return;
      if (["message", "compaction", "collapse", "recall", "context"].includes(event.event)) again();
    });
  }

  async #read(page: number, size: number): Promise<HistoryMessage[]> {
    const query = { after_seq: page * size, limit: size };
    return (await client.get("/v1/sessions/{id}/messages", { path: { id: this.#id }, query, signal: this.#context.signal })).messages;
  }

  #near(first: number, last: number): void {
    for (let index = first; index <= last; index++) {
      const row = this.#rows[index];
      if (row?.is !== "said" && row?.is !== "call") continue;
      const to = row.is === "call" ? (row.result?.seq ?? row.message.seq) : row.message.seq;
      this.#pages.want(row.message.seq - 1, row.message.seq - 1);
      this.#pages.want(to - 1, to - 1);
    }
  }

  /** Draws the rows of messages that were read, if they are near the screen. */
  #came(first: number, many: number): void {
    const isNew = (seq: number) => seq > first && seq <= first + many;
    const isShown = (row: Row<Mark> | undefined) => (row?.is === "said" && isNew(row.message.seq)) || (row?.is === "call" && (isNew(row.message.seq) || isNew(row.result?.seq ?? 0)));
    this.#list.renew(this.#list.shown.filter((index) => isShown(this.#rows[index])));
  }

  #row(index: number): HTMLElement {
    const row = this.#rows[index];
    if (!row) return h("div");
    switch (row.is) {
      case "day":
        return dayRow(row.at);
      case "mark":
        return markRow(row.mark, this.#id, this.#project);
      case "said":
        return saidRow(row, this.#pages.at(row.message.seq - 1), this.#shown(row.message.seq));
      case "call": {
        const answer = row.result ? this.#pages.at(row.result.seq - 1) : undefined;
        const children = this.#children.get(row.call.id) ?? [];
        const agentLink = (child: Session) => h("a", { href: link(["session", child.id]) }, `${listTitle(child)}, ${count(child.messages, "message")}`);
        return callRow(row, this.#pages.at(row.message.seq - 1), answer, children, this.#shown(row.message.seq, row.call.id, answer), agentLink);
      }
    }
  }

  #shown(seq: number, call = "", answer?: HistoryMessage): Shown {
    // The report names the results. Decisions only name their message, which may contain others.
    const isNamed = answer !== undefined && answeredIds(answer).some((id) => this.#cleared.has(id));
    const isCut = isNamed ? this.#cleared.has(call) : answer !== undefined && this.#track.shortens(answer.seq);
    const shortened = this.#track.shortens(seq) || isCut;
    return { hidden: this.#track.hides(seq), shortened, project: this.#project, opened: this.#opened, details: (seq) => this.#details(seq) };
  }

  #details(seq: number): void {
    const last = this.#messages.at(-1)?.seq ?? 0;
    replace(["session", this.#id], { seq });
    showMessage(seq, last, (seq) => this.#message(seq), () => this.#list.show(rowOf(this.#rows, seq)));
  }

  async #message(seq: number): Promise<HistoryMessage | undefined> {
    const query = { after_seq: seq - 1, limit: 1 };
    return this.#pages.at(seq - 1) ?? (await client.get("/v1/sessions/{id}/messages", { path: { id: this.#id }, query, signal: this.#context.signal })).messages[0];
  }

  #go(seq: number): void {
    // A filter may hide the message.
    if (this.#filter !== EVERYTHING && !this.#rows.some((row) => seqOf(row) === seq)) this.#bar.clear();
    this.#list.show(rowOf(this.#rows, seq));
  }

  /** Goes to a message whose words were searched for, which may be folded. */
  #open(seq: number): void {
    this.#go(seq);
    const at = rowOf(this.#rows, seq);
    reveal(this.#rows[at], this.#opened);
    this.#list.renew([at]);
  }

  /** Moves to the previous or next turn with `[` and `]`. */
  #turnKey(event: KeyboardEvent): void {
    const step = event.key === "]" ? 1 : event.key === "[" ? -1 : 0;
    if (step === 0 || isModified(event)) return;
    event.preventDefault();
    for (let at = this.#list.active + step; at >= 0 && at < this.#rows.length; at += step) {
      const row = this.#rows[at];
      if (row?.is === "said" && row.turn > 0) return this.#list.show(at);
    }
  }
}
