// The agent's todo list.

import { type Todo, client } from "../api.ts";
import { type Child, h } from "../dom.ts";
import { openSession } from "../session-head.ts";
import { type Context, badge, empty, into, later } from "../view.ts";

const MARKS: Readonly<Record<Todo["status"], string>> = { pending: "○", in_progress: "◐", completed: "●" };
const WORDS: Readonly<Record<Todo["status"], string>> = { pending: "to do", in_progress: "in progress", completed: "done" };

export async function todos(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "todos");
  if (!opened) return;
  const place = h("div");
  opened.body.append(place);
  const read = () => client.get("/v1/sessions/{id}/todos", { path: { id: opened.id }, signal: context.signal });
  const draw = () => into(place, context, read, ({ todos }) => show(todos));
  await draw();
  const again = later(150, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.session_id === opened.id && (event.event === "todos" || event.event === "message")) again();
  });
}

function show(todos: readonly Todo[]): Child {
  if (todos.length === 0) return empty("No todos.", "The agent's todo list appears here once the agent creates one.");
  const done = todos.filter((todo) => todo.status === "completed").length;
  const items = todos.map((todo) =>
    h(
      "li",
      { class: `todo ${todo.status}` },
      h("span", { class: "todo-mark", role: "img", "aria-label": WORDS[todo.status] }, MARKS[todo.status]),
      h("span", { dir: "auto" }, todo.content),
      todo.priority === "high" && badge("high", "bad"),
    ),
  );
  return [h("p", { class: "faint sum" }, `${done} of ${todos.length} done`), h("ul", { class: "todos" }, items)];
}
