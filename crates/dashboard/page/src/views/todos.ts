// The agent's todo list. A person can change an entry's state, add entries and remove them.

import { type Todo, client } from "../api.ts";
import { say } from "../dialog.ts";
import { type Child, h } from "../dom.ts";
import { draftOf, dropDraft, keepDraft } from "../drafts.ts";
import { openSession } from "../session-head.ts";
import { type Context, badge, empty, into, later, wordsOf } from "../view.ts";

type Status = Todo["status"];
const MARKS: Readonly<Record<Status, string>> = { pending: "○", in_progress: "◐", completed: "●" };
const WORDS: Readonly<Record<Status, string>> = { pending: "to do", in_progress: "in progress", completed: "done" };
const NEXT: Readonly<Record<Status, Status>> = { pending: "in_progress", in_progress: "completed", completed: "pending" };

/** Changes the newest list, which the agent may have changed since it was shown. */
type Change = (change: (todos: Todo[]) => Todo[]) => Promise<boolean>;

export async function todos(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "todos");
  if (!opened) return;
  const place = h("div");
  opened.body.append(place, adding(JSON.stringify(["todo", opened.id]), (change) => put(change)));
  const of = { path: { id: opened.id }, signal: context.signal };
  const read = () => client.get("/v1/sessions/{id}/todos", of);
  const put: Change = async (change) => {
    try {
      const { todos } = await read();
      await client.put("/v1/sessions/{id}/todos", { path: { id: opened.id }, body: { todos: change(todos) } });
    } catch (error) {
      say(wordsOf(error), true);
      return false;
    }
    await draw();
    return true;
  };
  const draw = () => into(place, context, read, ({ todos }) => show(todos, put));
  await draw();
  const again = later(150, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.session_id === opened.id && (event.event === "todos" || event.event === "message")) again();
  });
}

function show(todos: readonly Todo[], put: Change): Child {
  if (todos.length === 0) return empty("No todos.", "The agent's todo list appears here once the agent creates one. You can also add a todo below.");
  const done = todos.filter((todo) => todo.status === "completed").length;
  return [h("p", { class: "faint sum" }, `${done} of ${todos.length} done`), h("ul", { class: "todos" }, todos.map((todo) => row(todo, put)))];
}

function row(todo: Todo, put: Change): Child {
  const next = NEXT[todo.status];
  const go = () => void put((all) => all.map((one) => (one.id === todo.id ? { ...one, status: next } : one)));
  const remove = () => void put((all) => all.filter((one) => one.id !== todo.id));
  const name = `${WORDS[todo.status]}: ${todo.content}`;
  return h(
    "li",
    { class: `todo ${todo.status}`, "data-id": todo.id, tabindex: -1 },
    h("button", { class: "todo-mark", "aria-label": name, title: `Change to “${WORDS[next]}”`, onclick: go }, MARKS[todo.status]),
    h("span", { dir: "auto" }, todo.content),
    todo.priority === "high" && badge("high", "bad"),
    h("button", { class: "small quiet", "aria-label": `Remove: ${todo.content}`, onclick: remove }, "Remove"),
  );
}

/** A field for a new entry. What was typed stays until it is stored. */
function adding(key: string, put: Change): HTMLElement {
  const field = h("input", { type: "text", "aria-label": "New todo", placeholder: "New todo", dir: "auto" });
  field.value = draftOf(key)?.text ?? "";
  field.addEventListener("input", () => keepDraft(key, { text: field.value, base: "", etag: "" }));
  const form = h("form", { class: "filters" }, field, h("button", { type: "submit" }, "Add"));
  form.addEventListener("submit", () => {
    const content = field.value.trim();
    if (content === "") return;
    void put((all) => [...all, { content, status: "pending" } as Todo]).then((stored) => {
      if (!stored) return;
      field.value = "";
      dropDraft(key);
    });
  });
  return form;
}
