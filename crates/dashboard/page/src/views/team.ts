// The history that people share with their team: who has solved this before.

import { type SearchHit, type TeamHistory, type TeamSession, type TeamSessionsPage, client } from "../api.ts";
import { type Child, h, select } from "../dom.ts";
import { titleOf } from "../names.ts";
import { link, replace } from "../route.ts";
import { hitLink, hitLinks } from "../search-box.ts";
import { readTeamHistory } from "../team-history.ts";
import { sharing } from "../team-sharing.ts";
import { time } from "../time.ts";
import { type Context, aside, empty, heading, into, later } from "../view.ts";
import { messagesOf } from "./sessions.ts";
import { teamSession } from "./team-session.ts";

const PAGE = 100;
const HITS = 30;
const DAY_MS = 86_400_000;
const TIMES: readonly [string, string][] = [["7", "Last 7 days"], ["30", "Last 30 days"], ["365", "Last year"]];

export async function team(main: HTMLElement, context: Context): Promise<void> {
  const { route, signal } = context;
  if (route.path.length > 1) return teamSession(main, context);
  context.title("Team history");
  const search = h("input", { type: "search", placeholder: "Who has solved this before?", "aria-label": "Search the team's history", value: route.query.get("q") });
  const place = h("div");
  main.append(heading("Team history", h("div", { class: "filters" }, search)), place);
  await into(place, context, () => readTeamHistory(signal), (history) => {
    search.disabled = Boolean(history.problem);
    return [sharing(history, context), history.problem ? empty("Team history is not available.", history.problem) : finder(history, search, context)];
  });
}

/** The filters, and what they find: messages if something is searched for, or else sessions, newest first. */
function finder({ projects = [] }: TeamHistory, search: HTMLInputElement, context: Context): Child {
  const { signal } = context;
  const people = new Set(projects.flatMap(({ members }) => members.map(({ person }) => person)));
  const choice = (name: string, any: string, values: readonly (readonly [string, string])[]) => select(name, [["", any], ...values], context.route.query.get(name.toLowerCase()) ?? "");
  const person = choice("Person", "Anyone", [...people].sort().map((name) => [name, name]));
  const project = choice("Project", "All projects", projects.map(({ name }) => [name, name]));
  const time = choice("Time", "Any time", TIMES);
  const filters = h("div", { class: "selects" }, person, project, time);
  const found = h("div");
  const filter = () => ({ project: project.value, person: person.value });
  const read = (cursor?: string | null) => client.get("/v1/team/history/sessions", { query: { ...filter(), limit: PAGE, cursor }, signal });
  const draw = () => {
    const q = search.value.trim();
    // The list is in the order of time.
    time.hidden = q === "";
    replace(["team"], { q, ...filter(), time: time.value });
    if (q !== "") {
      const after = time.value && new Date(Date.now() - Number(time.value) * DAY_MS).toISOString();
      const find = (limit: number): Promise<void> => into(found, context, () => client.get("/v1/team/history/search", { query: { q, ...filter(), after, limit }, signal }), ({ hits }) => hitLinks(hits.map(hit), limit, find));
      return void find(HITS);
    }
    return void into(found, context, () => read(), (page) => {
      if (page.sessions.length > 0) return sessionList(page, read, signal);
      return person.value || project.value ? empty("No matching sessions.") : empty("No shared sessions yet.", "To share the sessions of a project with your team, run ", h("code", null, "bethink team history on"), " in its directory.");
    });
  };
  filters.addEventListener("change", draw);
  search.addEventListener("input", later(250, signal, draw));
  draw();
  return [filters, found];
}

function sessionList(first: TeamSessionsPage, read: (cursor?: string | null) => Promise<TeamSessionsPage>, signal: AbortSignal): Child {
  const list = h("ul", { class: "plain list", "aria-label": "Shared sessions" });
  const next = () => {
    more.hidden = true;
    aside(read(cursor).then(add), signal);
  };
  const more = h("button", { onclick: next }, "More sessions");
  let cursor: string | null | undefined;
  const add = ({ sessions, next_cursor }: TeamSessionsPage) => {
    list.append(...sessions.map(row));
    cursor = next_cursor;
    more.hidden = !cursor;
  };
  add(first);
  return [list, more];
}

function row(session: TeamSession): HTMLElement {
  return h(
    "li",
    null,
    h(
      "a",
      { class: "row session team-row", href: link(["team", session.id]) },
      h("strong", { class: "line", dir: "auto" }, session.person),
      h("span", { class: "name" }, h("span", { class: "title", dir: "auto" }, titleOf(session)), h("span", { class: "faint path" }, session.project)),
      h("span", { class: "number messages" }, ...messagesOf(session)),
      time(session.updated_at),
    ),
  );
}

function hit(hit: SearchHit): HTMLElement {
  return hitLink(hit, link(["team", hit.session_id], { seq: hit.seq }), [h("strong", null, hit.person, ", ", time(hit.created_at)), " · ", hit.title || "Untitled session", " · ", hit.project]);
}
