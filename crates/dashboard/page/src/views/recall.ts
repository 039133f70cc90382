// Which memories would be recalled for a question, and why.

import { type RecallAnswer, type RecalledMemory, client } from "../api.ts";
import { type Child, h } from "../dom.ts";
import { count, share, whole } from "../number.ts";
import { chooser } from "../project.ts";
import { prose } from "../prose.ts";
import { link, replace } from "../route.ts";
import { time } from "../time.ts";
import { type Context, badge, empty, heading, into } from "../view.ts";

export async function recall(main: HTMLElement, context: Context): Promise<void> {
  context.title("Recall");
  const place = h("div", { role: "status" });
  const words = h("input", { type: "search", placeholder: "A question or a task", "aria-label": "Question or task", value: context.route.query.get("q"), class: "grow" });
  const chosen = await chooser(context, () => ask());
  const form = h("form", { class: "filters wide", role: "search" }, words, chosen.node, h("button", { type: "submit", class: "primary" }, "Recall"));
  const ask = () => {
    const [query, project_dir] = [words.value.trim(), chosen.value()];
    replace(["recall"], { project: project_dir, q: query });
    if (query === "" || project_dir === "") return place.replaceChildren(empty("Enter a question or a task.", "This view shows the best matches. Those marked “perhaps” would not be added to a prompt automatically."));
    void into(place, context, () => client.post("/v1/recall", { body: { project_dir, query } }), (answer) => show(answer, project_dir));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  main.append(heading("Recall"), form, place);
  ask();
}

function show(answer: RecallAnswer, project: string): Child {
  const by = answer.strategy === "model" ? "chosen by a model" : "chosen by the built-in algorithm";
  const sum = h("p", { class: "faint sum" }, `${whole(answer.memories.length)} of ${count(answer.searched, "memory", "memories")}, ${by}`);
  if (answer.memories.length === 0) return [sum, empty("No matching memories.", "Nothing would be added to the prompt. Words in a memory's name and description count most.")];
  return [sum, h("ol", { class: "recalled" }, answer.memories.map((memory) => item(memory, project)))];
}

function item(memory: RecalledMemory, project: string): HTMLElement {
  const score = h("span", { class: "score", role: "img", "aria-label": `score ${share(memory.score)}` });
  const fill = h("span", { class: "score-fill" });
  fill.style.width = `${Math.round(Math.min(1, memory.score) * 100)}%`;
  score.append(fill);
  return h(
    "li",
    null,
    h("div", { class: "beside" }, h("h2", null, h("a", { href: link(["memory", memory.scope, memory.name], { project }) }, memory.name)), h("span", { class: "marks" }, score, h("span", { class: "number" }, memory.score.toFixed(2)), memory.type && badge(memory.type), memory.scope === "team" && badge("team", "team"), memory.certainty === "perhaps" && badge("perhaps"))),
    memory.description && h("p", null, memory.description),
    h("p", { class: "faint why" }, why(memory), ". Written ", time(memory.modified, true), "."),
    h("details", null, h("summary", null, memory.truncated ? "Text for the prompt (shortened)" : "Text for the prompt"), h("div", { class: "paper" }, prose(memory.content, { top: 3 })), h("p", { class: "faint break" }, memory.path)),
  );
}

function why(memory: RecalledMemory): Child {
  const { terms, by, place } = memory.why;
  const words = terms.map((term, n) => [n > 0 && ", ", h("strong", null, term.term), term.fields.length > 0 && ` in ${term.fields.join(" and ")}`]);
  if (by === "model") return [`Chosen by the model${place == null ? "" : ` as number ${place}`}`, terms.length > 0 && ["; contains ", words]];
  return terms.length === 0 ? "Matches the question" : ["Matches ", words];
}
