// What this person shares with the team, and who can read it.

import { type SharedDirectory, type TeamHistory, type TeamProject, client } from "./api.ts";
import { ask, say } from "./dialog.ts";
import { type Child, h } from "./dom.ts";
import { count, whole } from "./number.ts";
import { facts } from "./table.ts";
import { time } from "./time.ts";
import { type Context, attempt, badge } from "./view.ts";

/** Is open at first only if something is wrong. */
export function sharing({ shared = [], projects = [] }: TeamHistory, context: Context): Child {
  if (shared.length + projects.length === 0) return null;
  const isWrong = shared.some(({ problem }) => problem);
  const waiting = shared.reduce((sum, directory) => sum + directory.waiting, 0);
  return h(
    "details",
    { class: "sharing", open: isWrong },
    h("summary", null, `You share sessions of ${count(shared.length, "directory", "directories")}`, isWrong && [" ", badge("problem", "bad")], waiting > 0 && [" ", badge(`${whole(waiting)} not copied yet`, "busy")]),
    h("ul", { class: "versions" }, shared.map((directory) => row(directory, context))),
    facts(projects.map((project) => [project.name, memberWords(project)])),
  );
}

function row(directory: SharedDirectory, context: Context): HTMLElement {
  const { project_dir, project, since, waiting, problem } = directory;
  return h(
    "li",
    null,
    h("strong", null, project_dir),
    h("span", null, `shared with ${project}`, since && [", sessions since ", time(since)]),
    waiting > 0 && h("span", { class: "faint" }, `${count(waiting, "session")} not copied yet`),
    problem && h("span", { class: "bad-text" }, problem),
    h("button", { class: "small", "aria-label": `Stop sharing ${project_dir}`, onclick: () => void stop(directory, context) }, "Stop…"),
  );
}

/** `ann (admin), ben, cy (reader) · 41 shared sessions` */
export function memberWords({ members, sessions }: TeamProject): string {
  const people = members.map(({ person, role }) => (role === "contributor" ? person : `${person} (${role})`));
  return `${people.join(", ")} · ${count(sessions, "shared session")}`;
}

async function stop({ project_dir, project }: SharedDirectory, context: Context): Promise<void> {
  const text = `The copies of its sessions in ${project} will be removed. The sessions themselves stay.`;
  if (!(await ask({ title: `Stop sharing ${project_dir}?`, text, yes: "Stop sharing", danger: true }))) return;
  await attempt(async () => {
    const { removed } = await client.delete("/v1/team/history", { query: { project_dir } });
    say(`Removed ${count(removed, "copy", "copies")}.`);
    context.reload();
  });
}
