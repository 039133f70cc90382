// The instruction files in a project's prompt, and those that are not loaded.

import { type InstructionChain, type InstructionFile, type SkippedInstruction, client } from "../api.ts";
import { copyable } from "../copy.ts";
import { ask, say } from "../dialog.ts";
import { type Child, h } from "../dom.ts";
import { bytes, count, whole } from "../number.ts";
import { chooser } from "../project.ts";
import { replace } from "../route.ts";
import { type Context, badge, empty, heading, into, wordsOf } from "../view.ts";

const KINDS: Readonly<Record<InstructionFile["kind"], string>> = {
  managed: "this machine",
  user: "personal",
  project: "project",
  rule: "rule",
  local: "personal, in this project",
  import: "import",
};

/** Approves a file for the project, or revokes its approval. */
type Decide = (path: string, approve: boolean) => void;

export async function instructions(main: HTMLElement, context: Context): Promise<void> {
  context.title("Instructions");
  const place = h("div");
  const show = (project: string) => {
    replace(["instructions"], { project });
    if (project === "") return place.replaceChildren(empty("No project yet.", "Enter a project directory above."));
    const read = () => client.get("/v1/instructions", { query: { project_dir: project }, signal: context.signal });
    const decide = async (path: string, approve: boolean) => {
      if (approve && !(await isSure(path))) return;
      const body = { project_dir: project, path };
      try {
        await (approve ? client.post("/v1/instructions/approve", { body }) : client.post("/v1/instructions/revoke", { body }));
        say(approve ? "Approved. Prompts of this project contain the file." : "Revoked. Prompts of this project no longer contain the file.");
      } catch (error) {
        return say(wordsOf(error), true);
      }
      show(project);
    };
    void into(place, context, read, (chain) => chainView(chain, (path, approve) => void decide(path, approve)));
  };
  const chosen = await chooser(context, show);
  main.append(heading("Instructions", h("div", { class: "filters" }, chosen.node)), h("p", { class: "faint sum" }, "The instruction files in the prompts of this project, in order. Later files take precedence. Edit them with your own editor."), place);
  show(chosen.value());
}

function isSure(path: string): Promise<boolean> {
  const text = [h("p", { class: "break" }, h("code", null, path)), h("p", null, "Your agents and model providers will see this file. Approve it only if you know what it contains.")];
  return ask({ title: "Load this file into prompts?", text, yes: "Approve", danger: true });
}

function chainView({ enabled, files, skipped, skipped_more = 0, approved = [] }: InstructionChain, decide: Decide): Child {
  const waiting = skipped.filter((one) => one.approve);
  const problems = skipped.filter((one) => !one.approve && !one.harmless);
  const harmless = skipped.filter((one) => !one.approve && one.harmless);
  const isLoaded = (path: string) => files.some((file) => (file.real_path ?? file.path) === path);
  const tokens = files.reduce((sum, file) => sum + file.tokens, 0);
  return [
    !enabled && h("p", { class: "notice" }, "Prompts contain no instruction files, because `instructions` in the `[memory]` section of the settings is `false`."),
    section("Waiting for approval", waiting, (one) => skippedRow(one, decide)),
    section("Could not be loaded", problems, (one) => skippedRow(one, decide)),
    files.length === 0 ? empty("No instruction files.", "Files such as AGENTS.md and CLAUDE.md are listed here.") : section(`${count(files.length, "file")}, about ${whole(tokens)} tokens`, files, (file) => fileRow(file, approved, decide)),
    section("Approved, but not loaded", approved.filter((path) => !isLoaded(path)), (path) => h("li", null, copyable(path), " ", revoke(path, decide))),
    harmless.length > 0 && h("details", null, h("summary", { class: "faint" }, `${count(harmless.length, "other file")} not loaded`), h("ul", { class: "plain agents" }, harmless.map((one) => skippedRow(one, decide)))),
    skipped_more > 0 && h("p", { class: "faint" }, `${whole(skipped_more)} more not listed.`),
  ];
}

function section<T>(title: string, items: readonly T[], row: (item: T) => HTMLElement): Child {
  return items.length > 0 && h("section", null, h("h2", null, title), h("ul", { class: "plain agents" }, items.map(row)));
}

function fileRow(file: InstructionFile, approved: readonly string[], decide: Decide): HTMLElement {
  const real = file.real_path ?? file.path;
  return h(
    "li",
    null,
    h("p", null, copyable(file.path), " ", badge(KINDS[file.kind] ?? file.kind), approved.includes(real) && [" ", revoke(real, decide)]),
    h("p", { class: "faint break" }, [bytes(file.bytes), count(file.lines, "line"), `about ${whole(file.tokens)} tokens`, file.why].join(" · "), file.imported_by && ` · from ${file.imported_by}`),
    file.paths && file.paths.length > 0 && h("p", { class: "faint break" }, `For ${file.paths.join(", ")}`),
    file.warnings?.map((warning) => h("p", { class: "notice" }, warning)),
    h("details", null, h("summary", { class: "faint" }, "Show the text"), h("pre", { class: "wrap", tabindex: 0 }, file.content)),
  );
}

function skippedRow(one: SkippedInstruction, decide: Decide): HTMLElement {
  const approve = h("button", { class: "small", "aria-label": `Approve ${one.path}`, onclick: () => decide(one.path, true) }, "Approve…");
  return h("li", null, h("p", null, copyable(one.path), one.approve && [" ", approve]), h("p", { class: "faint break" }, one.why, one.imported_by && ` · imported by ${one.imported_by}`));
}

function revoke(path: string, decide: Decide): HTMLElement {
  return h("button", { class: "small", "aria-label": `Revoke the approval of ${path}`, onclick: () => decide(path, false) }, "Revoke");
}
