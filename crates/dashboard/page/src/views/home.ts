// What happened since yesterday, and what waits for a person.

import { agentRows, hasBethink, readAgents } from "../agents.ts";
import { type BethinkEvent, type Candidate, type Health, type Memory, type Proposal, type Session, type TeamStatus, client } from "../api.ts";
import { resolveConflict } from "../conflict.ts";
import { copyable } from "../copy.ts";
import { type Child, fill, h } from "../dom.ts";
import { addressOf, unsaved } from "../memory-actions.ts";
import { listTitle, shortDir } from "../names.ts";
import { count } from "../number.ts";
import { type Recalled, recallsOf } from "../recalls.ts";
import { link } from "../route.ts";
import { exact, time } from "../time.ts";
import { textOf, usedIn } from "../used.ts";
import { type Context, badge, heading, into, later } from "../view.ts";
import { candidateCards } from "./candidates.ts";

const DAY_MS = 86_400_000;
const SESSIONS = 30;
/** Number of projects whose memories are looked at. */
const PROJECTS = 24;
/** Number of projects, those with the newest sessions first, whose team memory is looked at. */
const TEAMS = 8;
const ROWS = 8;

export async function home(main: HTMLElement, context: Context): Promise<void> {
  context.title("Home");
  const { signal } = context;
  const place = h("div", { class: "home" });
  // They stay when Home is drawn again, and with them the focus.
  const places = Array.from({ length: 5 }, () => h("section"));
  main.append(heading("Home"), place);
  const draw = () => into(place, context, () => readAll(signal), (found) => (found.sessions.length === 0 ? firstRun(found, context) : parts(found, places, context)));
  await draw();
  const again = later(800, signal, () => void draw());
  const isTold = (event: BethinkEvent) => ["candidate", "memory", "proposal", "session", "recall", "reset"].includes(event.event);
  // What somebody types here is not replaced.
  context.events.listen(signal, (event) => isTold(event) && !place.querySelector("textarea") && again());
}

interface HomeData {
  readonly sessions: readonly Session[];
  /** Those with sessions come first. */
  readonly projects: readonly string[];
}

async function readAll(signal: AbortSignal): Promise<HomeData> {
  const [{ sessions }, { projects }] = await Promise.all([client.get("/v1/sessions", { query: { limit: SESSIONS }, signal }), client.get("/v1/projects", { signal })]);
  return { sessions, projects: projects.slice(0, PROJECTS).map(({ project_dir }) => project_dir) };
}

function parts({ sessions, projects }: HomeData, places: readonly HTMLElement[], context: Context): Child {
  const { signal } = context;
  const newest = [...new Set(sessions.map((session) => session.project_dir))].slice(0, TEAMS);
  const [needs, waiting, review, recalled, learned] = places as [HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement];
  const reading = [
    into(needs, context, () => readProblems(newest, signal), (found) => problems(found, context)),
    drawCandidates(waiting, projects, context),
    into(review, context, () => client.get("/v1/proposals", { signal }), ({ proposals }) => proposalList(proposals)),
    into(recalled, context, () => readRecalls(sessions, signal), (found) => recalls(found, signal)),
    into(learned, context, () => readLearned(projects, signal), learnedToday),
  ];
  void Promise.all(reading);
  return [h("div", null, needs, review, recalled, learned, waiting), h("section", { class: "home-sessions" }, h("h2", null, "Sessions"), byDay(sessions))];
}

/** Says how many of all are listed. */
function numberOf({ length }: readonly unknown[]): string {
  return length === 0 ? "" : length > ROWS ? ` (${ROWS} of ${length})` : ` (${length})`;
}

const isRecent = (at: string) => Date.now() - Date.parse(at) < DAY_MS;

async function readRecalls(sessions: readonly Session[], signal: AbortSignal): Promise<Recalled[]> {
  const recalls = await recallsOf(sessions.filter((session) => isRecent(session.updated_at)), signal);
  return recalls.filter((one) => isRecent(one.at));
}

function recalls(all: readonly Recalled[], signal: AbortSignal): Child {
  const shown = all.slice(0, ROWS);
  return [
    h("h2", null, "Recalled in the last 24 hours", numberOf(all)),
    all.length === 0
      ? h("p", { class: "faint" }, "No memory was added to a prompt. ", h("a", { href: link(["recall"]) }, "See what would be recalled for a question"), ".")
      : h("ul", { class: "plain lines" }, shown.map((one) => recallRow(one, shown, signal))),
  ];
}

function recallRow(one: Recalled, all: readonly Recalled[], signal: AbortSignal): HTMLElement {
  const { session, seq, at, name } = one;
  const used = h("span", { class: "faint" });
  const memory = h("a", { href: addressOf({ project: session.project_dir, scope: one.scope as Memory["scope"], name }) }, name);
  // What is shown without it is true as well.
  showUse(one, all, used, signal).catch(() => undefined);
  return h("li", null, memory, h("span", { class: "faint" }, " in "), h("a", { href: link(["session", session.id], { seq }), dir: "auto" }, listTitle(session)), " · ", time(at), h("br"), used);
}

/** Says which words of the memory only the answer can have from it. Other memories of the session are no proof. */
async function showUse(one: Recalled, all: readonly Recalled[], place: HTMLElement, signal: AbortSignal): Promise<void> {
  const others = all.filter((other) => other !== one && other.session.id === one.session.id && other.name !== one.name);
  const used = await usedIn(one, await Promise.all(others.map((other) => textOf(other, signal))), signal);
  if (used === null) place.textContent = "No answer yet.";
  else if (used.length === 0) place.textContent = "No sign that this memory was used: the answers that followed contain no name that occurs only in this memory.";
  else fill(place, badge("used", "good"), " The answers contain ", used.map((word, n) => [n > 0 && ", ", h("code", null, word)]));
}

interface Learned {
  readonly memory: Memory;
  readonly project: string;
  readonly at: string;
}

/** Worktrees of one repository share a memory, which counts once. */
async function readLearned(projects: readonly string[], signal: AbortSignal): Promise<Learned[]> {
  const all = new Map<string, Learned>();
  const read = async (project: string) => {
    const query = { project_dir: project };
    const [{ memories }, { candidates }] = await Promise.all([client.get("/v1/memories", { query: { ...query, limit: 500 }, signal }), client.get("/v1/candidates", { query: { ...query, all: true }, signal })]);
    // The time in a memory made from a candidate is when the user said it.
    // The newest candidates come first, and the last entry of a topic counts.
    const kept = new Map(candidates.reverse().map(({ topic, decided_at }) => [topic, decided_at]));
    for (const memory of memories) {
      const decided = kept.get(memory.name) ?? "";
      const at = decided > memory.modified ? decided : memory.modified;
      if (isRecent(at)) all.set(`${memory.scope} ${memory.name} ${memory.etag}`, { memory, project, at });
    }
  };
  await Promise.all(projects.map(read));
  return [...all.values()].sort((a, b) => b.at.localeCompare(a.at));
}

function learnedToday(all: readonly Learned[]): Child {
  return [
    h("h2", null, "New or changed memories in the last 24 hours", numberOf(all)),
    all.length === 0
      ? h("p", { class: "faint" }, "None. ", h("a", { href: link(["memories"], { add: 1 }) }, "Add one"), ".")
      : h("ul", { class: "plain lines" }, all.slice(0, ROWS).map(({ memory, project, at }) => h("li", null, h("a", { href: addressOf({ project, scope: memory.scope, name: memory.name }) }, memory.name), h("span", { class: "faint", dir: "auto" }, ` ${memory.description ?? ""}`), " · ", time(at)))),
  ];
}

async function readCandidates(projects: readonly string[], signal: AbortSignal): Promise<Candidate[]> {
  const read = async (project_dir: string) => (await client.get("/v1/candidates", { query: { project_dir }, signal })).candidates;
  const all = (await Promise.all(projects.map(read))).flat();
  const once = new Map(all.filter((one) => one.state === "waiting").map((one) => [one.id, one]));
  return [...once.values()].sort((a, b) => b.score - a.score);
}

async function drawCandidates(place: HTMLElement, projects: readonly string[], context: Context): Promise<void> {
  const again = () => void drawCandidates(place, projects, context);
  await into(place, context, () => readCandidates(projects, context.signal), (all) => candidates(all, context, again));
}

function candidates(all: readonly Candidate[], context: Context, again: () => void): Child {
  if (all.length === 0) return null;
  return [
    h("h2", null, `${count(all.length, "statement")} to keep or drop`),
    candidateCards(all.slice(0, 3), context, again),
    all.length > 3 && h("p", null, h("a", { href: link(["candidates"]) }, "All candidates")),
  ];
}

function proposalList(open: readonly Proposal[]): Child {
  if (open.length === 0) return null;
  return [
    h("h2", null, "Proposals for the team", numberOf(open)),
    h("ul", { class: "plain lines" }, open.slice(0, ROWS).map((proposal) => h("li", null, h("a", { href: link(["proposals"]) }, proposal.name), " ", badge(proposal.replaces ? "changes a topic" : "new topic"), " ", time(proposal.proposed_at)))),
  ];
}

const BLOCKED: Readonly<Record<"here" | "incoming" | "history", string>> = {
  here: "is blocked, so bethink does not share it with the team",
  incoming: "was not pulled from the team",
  history: "contains a secret in an unpushed commit, so nothing is pushed to the team",
};

interface Problems {
  readonly health: Health;
  readonly teams: readonly (readonly [string, TeamStatus])[];
}

async function readProblems(projects: readonly string[], signal: AbortSignal): Promise<Problems> {
  const team = async (project: string) => [project, await client.get("/v1/team", { query: { project_dir: project }, signal })] as const;
  const [health, ...teams] = await Promise.all([client.get("/health", { signal }), ...projects.map(team)]);
  return { health, teams: [...new Map(teams.map((one) => [one[1].dir, one])).values()] };
}

function problems({ health, teams }: Problems, context: Context): Child {
  const all: Child[] = [health.status === "ok" ? null : (health.detail ?? "The daemon is degraded."), ...(health.notices ?? [])].filter((one) => one !== null);
  for (const { project, scope, name } of unsaved()) all.push(["Unsaved text for ", h("a", { href: addressOf({ project, scope, name }) }, name), " is kept in this tab."]);
  for (const [project, team] of teams) {
    for (const conflict of team.conflicts ?? []) {
      all.push([h("a", { href: addressOf({ project, scope: "team", name: conflict.name }) }, conflict.name), " has conflicting versions. ", h("button", { class: "small", onclick: () => void resolveConflict(project, conflict, context.reload) }, "Compare and choose…")]);
    }
    for (const blocked of team.blocked ?? []) all.push([`${blocked.file} ${BLOCKED[blocked.way]}: `, blocked.reasons.join("; ")]);
    for (const problem of team.problems ?? []) all.push(problem);
  }
  if (all.length === 0) return null;
  return [h("h2", null, "Needs your attention"), h("ul", { class: "plain" }, all.map((one) => h("li", { class: "notice" }, one))), h("p", null, h("a", { href: link(["health"]) }, "Open Health"))];
}

function byDay(sessions: readonly Session[]): Child {
  const days = groups(sessions, (session) => exact(session.updated_at).slice(0, 10));
  return [
    [...days].map(([day, some]) => [h("h3", null, dayWords(day)), byProject(some)]),
    h("p", null, h("a", { href: link(["sessions"]) }, "All sessions")),
  ];
}

function byProject(sessions: readonly Session[]): Child {
  const projects = groups(sessions, (session) => session.project_dir);
  return [...projects].map(([project, some]) => [
    h("p", { class: "faint home-project", title: project }, shortDir(project)),
    h("ul", { class: "plain lines" }, some.map((session) => h("li", null, h("a", { href: link(["session", session.id]), dir: "auto" }, listTitle(session)), h("span", { class: "faint" }, ` ${count(session.messages, "message")}`)))),
  ]);
}

function groups(sessions: readonly Session[], key: (session: Session) => string): Map<string, Session[]> {
  const found = new Map<string, Session[]>();
  for (const session of sessions) found.set(key(session), [...(found.get(key(session)) ?? []), session]);
  return found;
}

function dayWords(day: string): string {
  const today = exact(new Date().toISOString()).slice(0, 10);
  const yesterday = exact(new Date(Date.now() - DAY_MS).toISOString()).slice(0, 10);
  return day === today ? "Today" : day === yesterday ? "Yesterday" : day;
}

const COMMANDS: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ["bethink install", "Find your agents and add bethink to their settings"],
  ["bethink import", "Import the sessions that your agents have recorded so far"],
  ["bethink remember \"I prefer short answers\" --type user", "Add a memory yourself"],
];

function firstRun({ projects }: HomeData, context: Context): Child {
  const [[install, what], ...rest] = COMMANDS;
  const item = (what: string, ...content: Child[]) => h("li", null, h("p", null, what), content);
  const first = item(what, copyable(install));
  // The command finds the agents itself, so it stays if they are not known here.
  const name = async () => {
    const agents = await readAgents(context.signal);
    if (agents.length > 0) first.replaceWith(item(agents.every(hasBethink) ? "These agents use bethink" : "Add bethink to your agents", agentRows(agents)));
  };
  name().catch(() => undefined);
  const learned = h("section");
  if (projects.length > 0) void into(learned, context, () => readLearned(projects, context.signal), (all) => [learnedToday(all), h("p", null, h("a", { href: link(["memories"]) }, "All memories"))]);
  const steps = h(
    "section",
    { class: "first-run" },
    h("p", { class: "lead" }, "No sessions yet. Run these commands in a terminal:"),
    h("ol", null, first, rest.map(([command, what]) => item(what, copyable(command)))),
    h("p", { class: "faint" }, "Then work with your agent as usual. Sessions that bethink can read appear here while the agent works."),
  );
  return [steps, learned];
}
