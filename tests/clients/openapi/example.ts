// A small client, which checks that the types generated from openapi.json are precise enough for `tsc --strict`.
import type { components, paths } from "./api";

type Schemas = components["schemas"];

const session: Schemas["CreateSession"] = {
  project_dir: "/tmp",
  model: { name: "claude-sonnet-4-5", context_window: 200_000 },
};

const messages: Schemas["AppendRequest"] = {
  messages: [
    { role: "user", content: "Why is the build red?" },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "Bash", input: { command: "make" } }] },
  ],
};

export function lastText(prompt: Schemas["Prompt"]): string {
  const content = prompt.messages.at(-1)?.content ?? "";
  return typeof content === "string" ? content : content.map((block) => block.text ?? "").join("\n");
}

export function described(event: Schemas["Event"]): string {
  switch (event.event) {
    case "message":
      return `message ${event.data.seq} of the ${event.data.role}`;
    case "compaction":
      return `compaction with a fidelity of ${event.data.fidelity.toFixed(2)}`;
    default:
      return event.event;
  }
}

export function isTemporary(problem: Schemas["Problem"]): boolean {
  const temporary: Schemas["ProblemType"][] = ["busy", "shutting_down"];
  return temporary.includes(problem.type);
}

type Answer = paths["/v1/sessions"]["post"]["responses"][201]["content"]["application/json"];
export const idOf = (made: Answer): string => made.id;

// @ts-expect-error: a level is one of a closed set.
export const level: Schemas["FillLevel"] = "full";

export const requests = { session, messages };
