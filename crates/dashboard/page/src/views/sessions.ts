// All sessions, newest first, each with its context window.

import { type BethinkEvent, type ContextReport, type Session, client } from "../api.ts";
import { type Filled, WindowBar } from "../bar.ts";
import { h, show } from "../dom.ts";
import { Flow } from "../flow.ts";
import { brief, count, whole } from "../number.ts";
import { countMessage, listTitle, shortDir } from "../names.ts";
import { link, replace } from "../route.ts";
import { Reports } from "../reports.ts";
import { time } from "../time.ts";
import { hitLink, hitLinks } from "../search-box.ts";
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
  readonly #list: Flow;
  readonly #reports: Reports;
  readonly #note = h("p", { class: "faint sum", role: "status" });
  readonly #place = h("div");
  readonly #hits = h("section", { class: "search", "aria-label": "Matching messages" });
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
    this.#list = new Flow(
      {
        label: "Sessions",
        links: true,
        estimate: () => (NARROW.matches ? 92 : 60),
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
    this.#context.events.listen(this.#context.signal, (event) => this.#listen(event));
    aside(this.#projects(), this.#context.signal);
    this.#readAll();
  }

  #again(): void {
    replace(["sessions"], { q: this.#words, project: this.#project.value });
    this.#readAll();
  }

  #readAll(): void {
    void this.#read(true);
    void this.#searchHistory();
  }

  get #words(): string {
    return this.#search.value.trim();
  }

  #wantedProject(): string {
    return this.#project.value || this.#context.route.query.get("project") || "";
  }

  /** Shows matching messages below the sessions with a matching title. */
  async #searchHistory(limit = HITS): Promise<void> {
    const q = this.#words;
    if (q === "") return this.#hits.replaceChildren();
    try {
      const { hits } = await client.get("/v1/search", { query: { q, project_dir: this.#wantedProject(), limit }, signal: this.#context.signal });
      if (q === this.#words) this.#hits.replaceChildren(h("h2", null, "In the history"), hitLinks(hits.map((hit) => hitLink(hit, link(["session", hit.session_id], { seq: hit.seq }), [hit.title || "Untitled session", " · ", time(hit.created_at)])), limit, (limit) => this.#searchHistory(limit)));
    } catch (error) {
      if (!this.#context.signal.aborted) this.#hits.replaceChildren(failure(error));
    }
  }

  async #projects(): Promise<void> {
    const wanted = this.#context.route.query.get("project") ?? "";
    if (wanted !== "") this.#project.append(h("option", { value: wanted, selected: true }, shortDir(wanted)));
    const { projects } = await client.get("/v1/projects", { signal: this.#context.signal });
    for (const { project_dir } of projects) {
      if (project_dir !== wanted) this.#project.append(h("option", { value: project_dir }, shortDir(project_dir)));
    }
  }

  async #read(restart: boolean): Promise<void> {
    if (this.#reading && !restart) return;
    const asked = ++this.#asked;
    this.#reading = true;
    try {
      const filter = { q: this.#words, project_dir: restart ? this.#wantedProject() : this.#project.value };
      const page = await client.get("/v1/sessions", { query: { ...filter, limit: PAGE, cursor: restart ? null : this.#cursor }, signal: this.#context.signal });
      if (asked !== this.#asked) return;
      this.#sessions = restart ? page.sessions : [...this.#sessions, ...page.sessions];
      this.#cursor = page.next_cursor ?? null;
      this.#show(restart);
    } catch (error) {
      if (!this.#context.signal.aborted) this.#place.replaceChildren(failure(error, () => this.#context.reload()));
    } finally {
      if (asked === this.#asked) this.#reading = false;
    }
  }

  #show(restart: boolean): void {
    const some = this.#sessions.length;
    this.#note.textContent = some === 0 ? "" : `${this.#cursor ? "More than " : ""}${count(some, "session")}`;
    if (some > 0) show(this.#place, this.#list.node);
    else if (this.#words !== "") this.#place.replaceChildren(empty("No session has a matching title.", "Matching messages, if any, are listed below."));
    else this.#place.replaceChildren(empty("No sessions yet.", "Agents create sessions through hooks or the gateway. To import earlier sessions, run ", h("code", null, "bethink import"), "."));
    this.#list.reset(some, Math.min(some, this.#list.count));
    if (restart) this.#list.refresh();
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
    const { shared } = session;
    const figures = h("span", { class: "figures" });
    const row = h(
      "a",
      { class: "row session", href: link(["session", session.id]), "data-id": session.id },
      h("span", { class: "name" }, h("span", { class: "title", dir: "auto" }, listTitle(session)), h("span", { class: "faint path" }, shortDir(session.project_dir), shared && [" · ", h("span", { class: "shared" }, `shared with ${shared}`)])),
      h("span", { class: "window" }, bar.node, figures),
      h("span", { class: "number messages" }, ...messagesOf(session)),
      time(session.updated_at),
    );
    if (report) fillRow(row, bar, report);
    else bar.show({ tokens: 0, level: "", thresholds: bare(session.model.context_window) });
    return row;
  }

  #came(id: string, report: ContextReport): void {
    const row = this.#list.node.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
    const bar = this.#bars.get(id);
    if (row && bar) fillRow(row, bar, report);
  }

  #listen(event: BethinkEvent): void {
    const id = event.session_id;
    if (event.event === "session") return this.#readSoon();
    if (id === undefined) return;
    const index = this.#sessions.findIndex((session) => session.id === id);
    const session = this.#sessions[index];
    if (!session) {
      if (event.event === "message") this.#readSoon();
      return;
    }
    if (event.event === "message") {
      countMessage(session, event.data.seq);
      this.#touch(index);
    }
    if (event.event === "context") this.#reports.update(id, event.data);
    if (["message", "context", "compaction", "collapse"].includes(event.event)) this.#reports.stale(id);
  }

  /** Updates the row of a session after a new message. */
  #touch(index: number): void {
    const session = this.#sessions[index];
    const row = session && this.#list.node.querySelector<HTMLElement>(`[data-id="${CSS.escape(session.id)}"]`);
    if (!row) return;
    row.querySelector(".messages")?.replaceChildren(...messagesOf(session));
    row.querySelector("time")?.replaceWith(time(session.updated_at));
  }

  readonly #readSoon = later(400, new AbortController().signal, () => {
    // Do not move rows while someone reads further down.
    if (!this.#context.signal.aborted && scrollY < 200) void this.#read(true);
  });
}

export function messagesOf({ messages }: { readonly messages: number }): [string, HTMLElement] {
  return [whole(messages), h("span", { class: "unit" }, messages === 1 ? " message" : " messages")];
}

function fillRow(row: HTMLElement, bar: WindowBar, report: ContextReport): void {
  const filled: Filled = report;
  bar.show(filled);
  row.dataset["level"] = report.level;
  const left = report.level === "blocking" ? "full" : `${brief(report.remaining)} left`;
  row.querySelector(".figures")?.replaceChildren(h("strong", null, brief(report.tokens)), ` of ${brief(report.thresholds.window)}`, h("span", { class: "left" }, left));
}

/** Puts all thresholds at the end of the bar until the report has been read. */
function bare(window: number): { window: number; effective: number; warning: number; auto: number; blocking: number } {
  return { window, effective: window, warning: window, auto: window, blocking: window };
}
