// The head of every view of a session: its title, its context window and links to its other views.

import { type ContextReport, type Session, type TeamHistory, client } from "./api.ts";
import { WindowBar, figures, legend } from "./bar.ts";
import { fill, h } from "./dom.ts";
import { LEVEL_WORDS, countMessage, shortDir, titleOf } from "./names.ts";
import { brief, count, whole } from "./number.ts";
import { link } from "./route.ts";
import { sessionActions } from "./session-actions.ts";
import { visible } from "./visible.ts";
import { withContext } from "./reports.ts";
import { readTeamHistory } from "./team-history.ts";
import { time } from "./time.ts";
import { type Context, badge, failure, later } from "./view.ts";

const TABS: readonly [string, string][] = [
  ["timeline", "Timeline"],
  ["compactions", "Compactions"],
  ["notes", "Notes"],
  ["todos", "Todos"],
  ["report", "Window"],
];

export interface Opened {
  readonly id: string;
  /** The element for the view's own content. */
  readonly body: HTMLElement;
  readonly session: () => Session;
  readonly report: () => ContextReport | null;
  /** Calls `hear` with the current report, and with every newer one. */
  readonly onReport: (hear: (report: ContextReport) => void) => void;
}

/** Shows the head of a session. Shows the error and returns `null` if the session cannot be read. */
export async function openSession(main: HTMLElement, context: Context, tab: string): Promise<Opened | null> {
  const id = context.route.path[1] ?? "";
  const head = new Head(id, context, tab);
  main.append(head.node, head.body);
  try {
    await head.read();
  } catch (error) {
    if (!context.signal.aborted) fill(main, failure(error, context.reload), h("p", null, h("a", { href: "#/sessions" }, "Back to sessions")));
    return null;
  }
  return head;
}

class Head implements Opened {
  readonly id: string;
  readonly node = h("header", { class: "session-head" });
  readonly body = h("section", { class: "session-body" });
  readonly #context: Context;
  readonly #tab: string;
  readonly #bar = new WindowBar(true);
  readonly #hearers: ((report: ContextReport) => void)[] = [];
  readonly #figures = h("p", { class: "sum" });
  readonly #legend = h("div");
  readonly #notices = h("div");
  readonly #actions = h("div", { class: "session-actions" });
  readonly #meta = h("p", { class: "meta faint" });
  #session: Session | null = null;
  #report: ContextReport | null = null;
  #sharable = "";

  constructor(id: string, context: Context, tab: string) {
    this.id = id;
    this.#context = context;
    this.#tab = tab;
  }

  session(): Session {
    if (!this.#session) throw new Error("the session has not been read yet");
    return this.#session;
  }

  report(): ContextReport | null {
    return this.#report;
  }

  onReport(hear: (report: ContextReport) => void): void {
    this.#hearers.push(hear);
    if (this.#report) hear(this.#report);
  }

  async read(): Promise<void> {
    this.#session = await client.get("/v1/sessions/{id}", this.#options());
    this.#draw(this.#session);
    void this.#renew();
    void this.#findSharable(this.#session);
    const soon = later(100, this.#context.signal, () => void this.#renew());
    this.#context.events.listen(this.#context.signal, (event) => {
      if (event.session_id !== this.id) return;
      if (event.event === "context" && this.#report) this.#bar.show(withContext(this.#report, event.data));
      // The next report shows the new count.
      if (event.event === "message") countMessage(this.session(), event.data.seq);
      if (["message", "context", "compaction", "collapse", "cache", "recall"].includes(event.event)) soon();
      if (event.event === "session") void this.#again();
    });
  }

  #options() {
    return { path: { id: this.id }, signal: this.#context.signal };
  }

  #draw(session: Session): void {
    this.#context.title(titleOf(session));
    const tabs = TABS.map(([path, name]) =>
      h("a", { href: link(["session", session.id, path]), "aria-current": path === this.#tab ? "page" : null }, name),
    );
    const crumbs = h("p", { class: "crumbs" }, h("a", { href: "#/sessions" }, "Sessions"), " / ", h("a", { href: link(["sessions"], { project: session.project_dir }), title: session.project_dir }, shortDir(session.project_dir)));
    fill(
      this.node,
      crumbs,
      h("h1", { tabindex: -1, dir: "auto", title: titleOf(session) }, titleOf(session)),
      this.#meta,
      this.#actions,
      h("div", { class: "window-box" }, this.#figures, this.#bar.node, this.#legend),
      this.#notices,
      h("nav", { class: "tabs", "aria-label": "Views of this session" }, tabs),
    );
    this.#describe(session);
    this.#actionsOf(session);
    this.node.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #actionsOf(session: Session): void {
    fill(this.#actions, sessionActions(session, this.#sharable, () => void this.#again()));
  }

  /** Finds the team project with which the session's directory is shared. Without one, sharing is not offered. */
  async #findSharable(session: Session): Promise<void> {
    if (session.shared) {
      this.#sharable = session.shared;
      return;
    }
    const { shared = [] } = await readTeamHistory(this.#context.signal).catch((): TeamHistory => ({}));
    this.#sharable = shared.find(({ project_dir }) => project_dir === session.project_dir)?.project ?? "";
    if (this.#sharable !== "") this.#actionsOf(this.session());
  }

  #describe(session: Session): void {
    const { shared } = session;
    fill(
      this.#meta,
      count(session.messages, "message"),
      " · ",
      session.model.name,
      " · ",
      time(session.updated_at, true),
      session.parent && [" · ", h("a", { href: link(["session", session.parent]) }, session.forked_at_seq == null ? "subagent of another session" : `forked at message ${session.forked_at_seq}`)],
      session.tags.map((tag) => [" ", badge(tag)]),
      shared && [" ", h("a", { class: "badge team", href: link(["team", session.id]) }, `shared with ${shared}`)],
    );
  }

  async #again(): Promise<void> {
    try {
      this.#session = await client.get("/v1/sessions/{id}", this.#options());
      this.#describe(this.#session);
      this.#actionsOf(this.#session);
      const heading = this.node.querySelector("h1");
      if (heading) heading.textContent = visible(titleOf(this.#session));
    } catch (error) {
      // The session was deleted.
      if (!this.#context.signal.aborted) fill(this.body, failure(error, this.#context.reload));
    }
  }

  async #renew(): Promise<void> {
    try {
      const report = await client.get("/v1/sessions/{id}/context/report", this.#options());
      this.#report = report;
      this.#show(report);
      for (const hear of this.#hearers) hear(report);
    } catch (error) {
      if (!this.#context.signal.aborted) fill(this.#notices, failure(error, () => void this.#renew()));
    }
  }

  #show(report: ContextReport): void {
    this.#bar.show(report);
    fill(
      this.#figures,
      figures(report),
      h("span", { class: `level ${report.level}` }, LEVEL_WORDS[report.level] ?? report.level),
      report.tokens_from === "estimate" && h("span", { class: "faint" }, "estimated"),
      report.stages.length > 0 && h("span", { class: "faint" }, saved(report)),
    );
    fill(this.#legend, legend(report));
    const warning = report.last_compaction?.warning;
    fill(this.#notices, [...report.notices, ...(warning ? [`Last compaction: ${warning}`] : [])].map((notice) => h("p", { class: "notice" }, notice)));
    const session = this.#session;
    if (session) this.#describe(session);
  }
}

function saved(report: ContextReport): string {
  const freed = report.stages.reduce((sum, stage) => sum + Math.max(0, stage.tokens_before - stage.tokens_after), 0);
  return freed > 0 ? `${brief(freed)} tokens freed` : `${whole(report.messages)} messages in the prompt`;
}
