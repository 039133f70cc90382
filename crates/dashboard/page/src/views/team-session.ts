// A session that a person shares with the team, to read.

import { type MessagesPage, type TeamSession, client } from "../api.ts";
import { type Row, rowOf, rowsOf } from "../conversation.ts";
import { ask } from "../dialog.ts";
import { type Child, fill, h } from "../dom.ts";
import { showMessage } from "../message-dialog.ts";
import { titleOf } from "../names.ts";
import { count } from "../number.ts";
import { outlineOf } from "../outline.ts";
import { link } from "../route.ts";
import { callRow, dayRow, reveal, saidRow } from "../row-view.ts";
import { mayRemove, readTeamHistory } from "../team-history.ts";
import { time } from "../time.ts";
import { type Context, aside, attempt, into } from "../view.ts";

const PAGE = 100;
/** Number of messages shown before the one that was searched for. */
const BEFORE = 20;

export async function teamSession(main: HTMLElement, context: Context): Promise<void> {
  const { route, signal } = context;
  const options = { path: { id: route.path[1] ?? "" }, signal };
  const wanted = Number(route.query.get("seq") ?? 0);
  const first = Math.max(0, wanted - BEFORE);
  const read = (after_seq: number, limit: number) => client.get("/v1/team/history/sessions/{id}/messages", { ...options, query: { after_seq, limit } });
  const readAll = () => Promise.all([client.get("/v1/team/history/sessions/{id}", options), readTeamHistory(signal), read(first, PAGE)]);
  await into(main, context, readAll, ([session, history, page]) => {
    context.title(titleOf(session));
    return [head(session, mayRemove(history, session), history.person === session.person), conversation(session, read, page, first, wanted, signal)];
  });
  const hit = main.querySelector<HTMLElement>("[aria-current]");
  hit?.scrollIntoView({ block: "center" });
  hit?.focus({ preventScroll: true });
}

function head(session: TeamSession, mayRemove: boolean, isOwn: boolean): HTMLElement {
  const { project, person, redacted } = session;
  return h(
    "header",
    { class: "session-head" },
    h("p", { class: "crumbs" }, h("a", { href: "#/team" }, "Team history"), " / ", h("a", { href: link(["team"], { project }) }, project)),
    h("h1", { tabindex: -1, dir: "auto" }, titleOf(session)),
    h("p", { class: "sum" }, h("strong", null, h("a", { href: link(["team"], { person }) }, person), ", ", time(session.updated_at, true)), count(session.messages, "message"), redacted > 0 && h("span", { class: "faint" }, `secrets were removed from ${count(redacted, "message")}`)),
    mayRemove && h("div", { class: "session-actions" }, h("button", { onclick: () => void remove(session, isOwn) }, isOwn ? "Stop sharing…" : "Remove…")),
  );
}

async function remove({ id, project, person }: TeamSession, isOwn: boolean): Promise<void> {
  const [title, yes, more] = isOwn ? ["Stop sharing this session?", "Stop sharing", ""] : ["Remove this session?", "Remove", `${person} can never share it again. `];
  const text = `The copy in ${project} will be removed. ${more}The session itself stays.`;
  if (!(await ask({ title, text, yes, danger: true }))) return;
  await attempt(async () => {
    await client.delete("/v1/team/history/sessions/{id}", { path: { id } });
    location.hash = "#/team";
  });
}

/** The messages around the one that is wanted; buttons show those before and after them. */
function conversation(session: TeamSession, read: (after: number, limit: number) => Promise<MessagesPage>, page: MessagesPage, first: number, wanted: number, signal: AbortSignal): HTMLElement {
  let { messages } = page;
  let more = Boolean(page.next_cursor);
  const node = h("section", { "aria-label": "Conversation" });
  const opened = new Set<string>();
  const find = (seq: number) => messages.find((message) => message.seq === seq);
  const details = (seq: number) => showMessage(seq, messages.at(-1)?.seq ?? 0, async (seq) => find(seq) ?? (await read(seq - 1, 1)).messages[0], () => {});
  const shown = { hidden: false, shortened: false, project: session.project, person: session.person, opened, details };
  const view = (row: Row<never>): Child => {
    if (row.is === "day") return dayRow(row.at);
    if (row.is === "said") return saidRow(row, find(row.message.seq), shown);
    return row.is === "call" && callRow(row, find(row.message.seq), row.result ? find(row.result.seq) : undefined, [], shown, () => null);
  };
  const draw = () => {
    const rows = rowsOf<never>(messages.map(outlineOf), []);
    const hit = wanted > 0 ? rowOf(rows, wanted) : -1;
    reveal(rows[hit], opened);
    fill(
      node,
      first > 0 && h("button", { onclick: () => aside(earlier(), signal) }, "Earlier messages"),
      rows.map((row, at) => h("div", at === hit ? { "aria-current": "true", tabindex: -1 } : null, view(row))),
      more && h("button", { onclick: () => aside(newer(), signal) }, "Later messages"),
    );
  };
  const earlier = async () => {
    const from = Math.max(0, first - PAGE);
    const page = await read(from, first - from);
    messages = [...page.messages, ...messages];
    first = from;
    // What is on the screen stays where it is.
    const below = node.offsetHeight - scrollY;
    draw();
    scrollTo({ top: node.offsetHeight - below });
  };
  const newer = async () => {
    const page = await read(messages.at(-1)?.seq ?? 0, PAGE);
    messages.push(...page.messages);
    more = Boolean(page.next_cursor);
    draw();
  };
  draw();
  return node;
}
