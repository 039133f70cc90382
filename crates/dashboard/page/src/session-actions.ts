// What a person can do with a session: rename, tag, export, hand over, share, delete.

import { type Session, client } from "./api.ts";
import { copy } from "./copy.ts";
import { ask, modal, say } from "./dialog.ts";
import { h, select } from "./dom.ts";
import { titleOf } from "./names.ts";
import { count } from "./number.ts";
import { attempt, wordsOf } from "./view.ts";

const AGENTS = ["claude-code", "codex", "gemini", "qwen", "opencode"];

/** `sharable` is the team project with which the session can be shared; empty if there is none. */
export function sessionActions(session: Session, sharable: string, changed: () => void): HTMLElement {
  const button = (name: string, act: () => void) => h("button", { onclick: act }, name);
  return h(
    "div",
    { class: "buttons start", role: "group", "aria-label": "Actions" },
    button("Rename…", () => edit(session)),
    button("Export", () => void exportSession(session)),
    button("Hand over…", () => handOver(session)),
    session.shared ? button("Stop sharing…", () => void share(session, false, session.shared ?? "", changed)) : sharable !== "" && button("Share…", () => void share(session, true, sharable, changed)),
    button("Delete…", () => void remove(session)),
  );
}

/** Changes the title and the tags. The dialog stays open if that fails, so that nothing typed is lost. */
function edit(session: Session): void {
  const title = h("input", { type: "text", value: session.title ?? "", maxlength: 300 });
  const tags = h("input", { type: "text", value: session.tags.join(", ") });
  const failed = h("p", { class: "failure", role: "alert", hidden: true });
  const save = h("button", { type: "submit", class: "primary" }, "Save");
  const form = h(
    "form",
    { class: "fields" },
    h("label", null, "Title", title),
    h("label", null, "Tags, separated by commas", tags),
    failed,
    h("div", { class: "buttons" }, h("button", { onclick: () => dialog.close() }, "Cancel"), save),
  );
  form.addEventListener("submit", () => {
    const body = { title: title.value.trim(), tags: tags.value.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "") };
    save.disabled = true;
    client
      .patch("/v1/sessions/{id}", { path: { id: session.id }, body })
      .then(() => {
        dialog.close();
        say("Saved.");
      })
      .catch((error: unknown) => {
        save.disabled = false;
        failed.hidden = false;
        failed.textContent = wordsOf(error);
      });
  });
  const dialog = modal("Rename session", form);
  title.select();
}

async function exportSession(session: Session): Promise<void> {
  await attempt(async () => {
    const { text } = await client.text("/v1/sessions/{id}/export", { path: { id: session.id } });
    const address = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
    const anchor = h("a", { download: `${session.id}.jsonl` });
    anchor.href = address;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
}

/** Agents run in a terminal, so the page offers the command that starts one. */
function handOver(session: Session): void {
  const agent = select("Agent", AGENTS.map((name) => [name, name]));
  const command = h("code");
  const show = () => {
    command.textContent = `bethink continue ${agent.value} --session ${session.id}`;
  };
  agent.addEventListener("change", show);
  show();
  const dialog = modal("Continue this session with an agent", [
    h("p", null, "The agent gets the open todos, the notes and the last messages of this session. Run this command in a terminal:"),
    agent,
    h("pre", { class: "wrap", tabindex: 0 }, command),
    h("div", { class: "buttons" }, h("button", { onclick: () => dialog.close() }, "Close"), h("button", { class: "primary", onclick: () => void copy(command.textContent ?? "") }, "Copy command")),
  ]);
}

/** Shares a session with a team project, or no longer shares it. */
async function share({ id }: Session, shared: boolean, project: string, changed: () => void): Promise<void> {
  const [title, yes, text] = shared ? ["Share this session?", "Share", `The members of ${project} can then read it. By default, secrets that bethink finds are removed.`] : ["Stop sharing this session?", "Stop sharing", `The copy in ${project} will be removed. The session itself stays.`];
  if (!(await ask({ title, text, yes, danger: true }))) return;
  await attempt(async () => {
    await client.put("/v1/sessions/{id}/sharing", { path: { id }, body: { shared } });
    changed();
  });
}

async function remove(session: Session): Promise<void> {
  const children = session.children?.length ?? 0;
  const yes = await ask({
    title: "Delete this session?",
    text: h("p", null, `“${titleOf(session)}” will be deleted, including its ${count(session.messages, "message")}, notes and todos. ${children > 0 ? `The sessions of its subagents (${children}) will be kept. ` : ""}Memories that were learned from the session will be kept. This cannot be undone; export the session first to keep a copy.`),
    yes: "Delete session",
    danger: true,
  });
  if (!yes) return;
  await attempt(async () => {
    await client.delete("/v1/sessions/{id}", { path: { id: session.id } });
    say("Session deleted.");
    location.hash = "#/";
  });
}
