// Which tool call started which subagent.

import type { OutlineMessage, Session } from "./api.ts";
import { sortOf } from "./tools.ts";

/** A session is created shortly before or after its call is stored. */
const SLACK_MS = 5_000;

/** Returns the subagents by the ID of the call that started them: the last such call before each one was created. */
export function childrenAt(messages: readonly OutlineMessage[], children: readonly Session[]): Map<string, Session[]> {
  if (children.length === 0) return new Map();
  const starts = messages.flatMap(({ created_at, calls }) => (calls ?? []).filter(({ tool }) => sortOf(tool) === "agent").map(({ id }) => ({ id, at: Date.parse(created_at) })));
  const found = new Map<string, Session[]>();
  for (const child of [...children].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at))) {
    const before = starts.filter(({ at, id }) => at <= Date.parse(child.created_at) + SLACK_MS && !found.has(id));
    const start = before[0] ?? starts.at(-1);
    if (start) found.set(start.id, [...(found.get(start.id) ?? []), child]);
  }
  return found;
}
