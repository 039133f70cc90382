// The state of the daemon and its model, and problems in a project's memory.

import { agentRows, hasBethink, readAgents } from "../agents.ts";
import { type AgentInstall, type Health, type MemoryShelf, type ModelState, client } from "../api.ts";
import { type Child, h } from "../dom.ts";
import { listed } from "../names.ts";
import { bytes, count } from "../number.ts";
import { chooser } from "../project.ts";
import { link, replace } from "../route.ts";
import { SCOPE_WORDS } from "../scopes.ts";
import { facts } from "../table.ts";
import { type Context, badge, into } from "../view.ts";

const STATES: Readonly<Record<string, [string, string]>> = {
  off: ["off", ""],
  ready: ["ready", "good"],
  no_key: ["no key", "bad"],
  resting: ["paused after failures", "bad"],
  spent: ["today's budget is spent", "bad"],
  broken: ["unusable", "bad"],
};

export async function doctor(main: HTMLElement, context: Context): Promise<void> {
  const [daemon, model, agents, lint] = [h("section"), h("section"), h("section"), h("div")];
  main.append(daemon, model, agents);
  await Promise.all([
    into(daemon, context, () => client.get("/health", { signal: context.signal }), health),
    into(agents, context, () => readAgents(context.signal), agentStates),
    into(model, context, () => client.get("/v1/model", { signal: context.signal }), modelState),
  ]);
  const look = (project: string) => {
    replace(["health"], { project });
    instructions.setAttribute("href", link(["instructions"], { project }));
    if (project === "") return lint.replaceChildren(h("p", { class: "faint" }, "Enter a project directory above."));
    const read = () => client.get("/v1/memories/lint", { query: { project_dir: project }, signal: context.signal });
    void into(lint, context, read, ({ shelves }) => shelves.map((one) => shelf(one, project)));
  };
  const instructions = h("a", { href: "#/instructions" }, "Instruction files of this project");
  const chosen = await chooser(context, look);
  main.append(h("section", null, h("div", { class: "beside" }, h("h2", null, "Project memory"), chosen.node), h("p", null, instructions), lint));
  look(chosen.value());
}

function health(health: Health): Child {
  const notices = [...(health.detail ? [health.detail] : []), ...(health.notices ?? [])];
  return [
    h("h2", null, "Daemon ", badge(health.status === "ok" ? "healthy" : health.status, health.status === "ok" ? "good" : "bad")),
    h("p", { class: "faint" }, `Version ${health.version}, at ${location.host}.`),
    notices.map((notice) => h("p", { class: "notice" }, notice)),
  ];
}

function agentStates(agents: readonly AgentInstall[]): Child {
  const [good, rest] = [agents.filter(hasBethink), agents.filter((agent) => !hasBethink(agent))];
  const isWell = good.length > 0 && rest.every((agent) => agent.state === "not_installed");
  return [
    h("h2", null, "Agents ", isWell && badge("no problems", "good")),
    agents.length === 0 && h("p", { class: "faint" }, "The daemon found no coding agent. It sees only what its own user has."),
    good.length > 0 && h("p", null, `bethink is installed for ${listed(good.map((agent) => agent.title))}.`),
    rest.length > 0 && agentRows(rest),
  ];
}

function modelState(model: ModelState): Child {
  const [words, kind] = STATES[model.state] ?? [model.state, "bad"];
  const rows: [string, Child][] = [
    ["Provider", model.provider],
    ["Model", model.name ?? (model.provider === "none" ? "none" : "the session's own model")],
    ["Model for notes and recall", model.small_name],
    ["bethink sends parts of sessions to", model.origin ?? "nobody"],
    ["Summaries", model.summary === "model" ? "by the model" : "by the built-in algorithm"],
    ["Notes", model.notes === "model" ? "by the model" : "by the built-in algorithm"],
    ["API key from", model.key && `${model.key.from}${model.key.present === false ? ", which is not set" : ""}`],
  ];
  return [
    h("h2", null, "Model ", badge(words, kind)),
    model.detail && h("p", null, model.detail),
    model.problems.map((problem) => h("p", { class: "notice" }, problem.found, ": ", problem.todo)),
    facts(rows.filter(([, value]) => value)),
  ];
}

function shelf(shelf: MemoryShelf, project: string): Child {
  const facts = [shelf.there ? count(shelf.topics, "topic") : "does not exist yet", bytes(shelf.bytes), shelf.index ? `index of ${count(shelf.index.lines, "line")}` : "no index", shelf.watch === "polling" ? "checked for changes every few seconds" : ""];
  return h(
    "section",
    { class: "shelf" },
    h("h3", null, SCOPE_WORDS[shelf.scope] ?? shelf.scope, " ", shelf.findings.length === 0 && shelf.there && badge("no problems", "good")),
    h("p", { class: "faint break" }, facts.filter((fact) => fact !== "").join(" · "), h("br"), shelf.dir),
    shelf.fault && h("p", { class: "notice" }, shelf.fault),
    shelf.index?.cut_by && h("p", { class: "notice" }, `The index has too many ${shelf.index.cut_by}. Prompts contain only its beginning.`),
    findings(shelf, project),
  );
}

/** Notes need no action, and are folded. */
function findings(shelf: MemoryShelf, project: string): Child {
  const isNote = (finding: MemoryShelf["findings"][number]) => finding.severity !== "error" && finding.severity !== "warning";
  const [notes, rest] = [shelf.findings.filter(isNote), shelf.findings.filter((finding) => !isNote(finding))];
  return [findingList(rest, shelf, project), notes.length > 0 && h("details", null, h("summary", { class: "faint" }, count(notes.length, "note")), findingList(notes, shelf, project))];
}

function findingList(some: MemoryShelf["findings"], shelf: MemoryShelf, project: string): Child {
  return some.length > 0 && h("ul", { class: "findings" }, some.map((finding) => h("li", null, badge(finding.severity, finding.severity === "error" ? "bad" : finding.severity === "warning" ? "busy" : ""), h("span", null, place(finding.file, shelf.scope, project), finding.line === undefined ? "" : ` line ${finding.line}`, ` ${finding.what}; `, h("span", { class: "faint" }, finding.help)))));
}

function place(file: string, scope: string, project: string): Child {
  const name = file.replace(/\.md$/, "");
  return name === file || file === "MEMORY.md" ? h("code", null, file) : h("a", { href: link(["memory", scope, name], { project }) }, file);
}
