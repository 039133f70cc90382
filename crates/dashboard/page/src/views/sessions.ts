// All sessions, newest first, each with its window.

import { get, query } from "../api.ts";
import { type Filled, WindowBar } from "../bar.ts";
import { h, show } from "../dom.ts";
import type { Event } from "../events.ts";
import { List } from "../list.ts";
import { brief, count, whole } from "../number.ts";
import { shortDir, titleOf } from "../names.ts";
import { link, replace } from "../route.ts";
import { Reports } from "../reports.ts";
import { time } from "../time.ts";
import { highlighted } from "../search-box.ts";
import type { Hit, Report, Session, SessionsPage } from "../types.ts";
import { type Context, aside, empty, failure, heading, later } from "../view.ts";

const PAGE = 100;
const HITS = 20;
const NARROW = matchMedia("(max-width: 759px)");

export function sessions(main: HTMLElement, context: Context): void {
  context.title("Sessions");
  new SessionsView(main, context).open();
}

class SessionsView {
  readonly #main: HTMLElement;
  readonly #context: Context;
  readonly #list: List;
  readonly #reports: Reports;
  readonly #note = h("p", { class: "faint sum", role: "status" });
  readonly #place = h("div");
  readonly #hits = h("section", { class: "search", "aria-label": "Messages found" });
  readonly #search: HTMLInputElement;
  readonly #project = h("select", { "aria-label": "Project" }, h("option", { value: "" }, "All projects"));
  #sessions: Session[] = [];
  #bars = new Map<string, WindowBar>();
  #cursor: string | null = null;
  #reading = false;
  #asked = 0;

  constructor(main: HTMLElement, context: Context) {
    this.#main = main;
    this.#context = context;
    this.#reports = new Reports(context.signal, (id, report) => this.#came(id, report));
    this.#list = new List(
      {
        label: "Sessions",
        rowHeight: () => (NARROW.matches ? 92 : 60),
        row: (index) => this.#row(index),
        near: (first, last) => this.#near(first, last),
      },
      context.signal,
    );
    this.#search = h("input", { type: "search", placeholder: "Search titles and history", "aria-label": "Search sessions", value: context.route.query.get("q") });
  }

  open(): void {
    const soon = later(200, this.#context.signal, () => this.#again());
    this.#search.addEventListener("input", soon);
    this.#project.addEventListener("change", () => this.#again());
    this.#main.append(heading("Sessions", h("div", { class: "filters" }, this.#search, this.#project)), this.#note, this.#place, this.#hits);
    this.#place.append(this.#list.node);
    this.#context.events.hear(this.#context.signal, (event) => this.#hear(event));
    aside(this.#projects(), this.#context.signal);
    this.#readAll();
  }

  #again(): void {
    replace([], { q: this.#search.value, project: this.#project.value });
    this.#readAll();
  }

  #readAll(): void {
    void this.#read(true);
    void this.#searchHistory();
  }

  #wantedProject(): string {
    return this.#project.value || this.#context.route.query.get("project") || "";
  }

  /** What was said, below the sessions whose title fits. */
  async #searchHistory(): Promise<void> {
    const q = this.#search.value.trim();
    if (q === "") return this.#hits.replaceChildren();
    try {
      const { hits } = await get<{ hits: Hit[] }>(`/v1/search${query({ q, project_dir: this.#wantedProject(), limit: HITS })}`, this.#context.signal);
      if (q === this.#search.value.trim()) this.#hits.replaceChildren(h("h2", null, "In the history"), h("div", { class: "hits" }, hits.length === 0 ? h("p", { class: "faint" }, "No messages found.") : hits.map(hitLink)));
    } catch (error) {
      if (!this.#context.signal.aborted) this.#hits.replaceChildren(failure(error));
    }
  }

  async #projects(): Promise<void> {
    const wanted = this.#context.route.query.get("project") ?? "";
    if (wanted !== "") this.#project.append(h("option", { value: wanted, selected: true }, shortDir(wanted)));
    const { projects } = await get<{ projects: { project_dir: string; sessions: number }[] }>("/v1/projects", this.#context.signal);
    for (const { project_dir, sessions } of projects) {
      if (project_dir !== wanted) this.#project.append(h("option", { value: project_dir }, `${shortDir(project_dir)} (${sessions})`));
    }
  }

  async #read(anew: boolean): Promise<void> {
    if (this.#reading && !anew) return;
    const asked = ++this.#asked;
    this.#reading = true;
    try {
      const filter = { q: this.#search.value, project_dir: anew ? this.#wantedProject() : this.#project.value };
      const page = await get<SessionsPage>(`/v1/sessions${query({ ...filter, limit: PAGE, cursor: anew ? null : this.#cursor })}`, this.#context.signal);
      if (asked !== this.#asked) return;
      this.#sessions = anew ? page.sessions : [...this.#sessions, ...page.sessions];
      this.#cursor = page.next_cursor;
      this.#show(anew);
    } catch (error) {
      if (!this.#context.signal.aborted) this.#place.replaceChildren(failure(error, () => this.#context.reload()));
    } finally {
      if (asked === this.#asked) this.#reading = false;
    }
  }

  #show(anew: boolean): void {
    const some = this.#sessions.length;
    this.#note.textContent = some === 0 ? "" : `${count(some, "session")}${this.#cursor ? " and more" : ""}`;
    this.#list.count = some;
    if (anew) this.#list.refresh();
    if (some > 0) show(this.#place, this.#list.node);
    else if (this.#search.value !== "") this.#place.replaceChildren(empty("No session with such a title.", "What was said in sessions is searched below."));
    else this.#place.replaceChildren(empty("No sessions yet.", "An agent makes one by its hooks or through the gateway; `bethink import FILE` brings old ones in."));
  }

  #near(first: number, last: number): void {
    this.#reports.want(this.#sessions.slice(first, last + 1).map((session) => session.id));
    if (this.#cursor && last > this.#sessions.length - PAGE / 2) void this.#read(false);
  }

  #row(index: number): HTMLElement {
    const session = this.#sessions[index];
    if (!session) return h("a", { class: "row session" });
    const bar = new WindowBar();
    this.#bars.set(session.id, bar);
    const report = this.#reports.get(session.id);
    const figures = h("span", { class: "figures" });
    const row = h(
      "a",
      { class: "row session", href: link(["session", session.id]), "data-id": session.id },
      h("span", { class: "name" }, h("span", { class: "title", dir: "auto" }, titleOf(session)), h("span", { class: "faint path" }, shortDir(session.project_dir))),
      h("span", { class: "window" }, bar.node, figures),
      h("span", { class: "number messages" }, whole(session.messages), h("span", { class: "unit" }, " messages")),
      time(session.updated_at),
    );
    if (report) fillRow(row, bar, report);
    else bar.show({ tokens: 0, level: "", thresholds: bare(session.model.context_window) });
    return row;
  }

  #came(id: string, report: Report): void {
    const row = this.#list.node.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
    const bar = this.#bars.get(id);
    if (row && bar) fillRow(row, bar, report);
  }

  #hear(event: Event): void {
    const id = event.session_id;
    if (event.kind === "session") return this.#soonAnew();
    if (id === null) return;
    const index = this.#sessions.findIndex((session) => session.id === id);
    const session = this.#sessions[index];
    if (!session) {
      if (event.kind === "message") this.#soonAnew();
      return;
    }
    if (event.kind === "message") {
      const seq = Number(event.data["seq"] ?? 0);
      session.last_seq = Math.max(session.last_seq, seq);
      session.messages = Math.max(session.messages, seq);
      session.updated_at = new Date().toISOString();
      this.#touch(index);
    }
    if (event.kind === "context") this.#reports.told(id, event.data);
    if (["message", "context", "compaction", "collapse"].includes(event.kind)) this.#reports.stale(id);
  }

  /** A session that something happened in says so in its row. */
  #touch(index: number): void {
    const session = this.#sessions[index];
    const row = session && this.#list.node.querySelector<HTMLElement>(`[data-id="${CSS.escape(session.id)}"]`);
    if (!row) return;
    row.querySelector(".messages")?.replaceChildren(whole(session.messages), h("span", { class: "unit" }, " messages"));
    row.querySelector("time")?.replaceWith(time(session.updated_at));
  }

  readonly #soonAnew = later(400, new AbortController().signal, () => {
    // Further down somebody is reading: rows don't move under their eyes.
    if (!this.#context.signal.aborted && scrollY < 200) void this.#read(true);
  });
}

/** A message that was found, and the way to it. */
function hitLink(hit: Hit): HTMLElement {
  const what = hit.answers ? `${hit.answers.tool}: ${hit.answers.input}` : hit.role;
  const title = h("span", { class: "sort" }, hit.title || "Untitled session", " · ", what, " · ", time(hit.created_at));
  return h("a", { class: "hit found", href: link(["session", hit.session_id], { seq: hit.seq }) }, title, h("span", { class: "line", dir: "auto" }, highlighted(hit)));
}

function fillRow(row: HTMLElement, bar: WindowBar, report: Report): void {
  const filled: Filled = report;
  bar.show(filled);
  row.dataset["level"] = report.level;
  const left = report.level === "blocking" ? "full" : `${brief(report.remaining)} left`;
  row.querySelector(".figures")?.replaceChildren(h("strong", null, brief(report.tokens)), ` of ${brief(report.thresholds.window)}`, h("span", { class: "left" }, left));
}

/** Before the daemon has said where they stand, no thresholds are drawn. */
function bare(window: number): { window: number; effective: number; warning: number; auto: number; blocking: number } {
  return { window, effective: window, warning: window, auto: window, blocking: window };
}
