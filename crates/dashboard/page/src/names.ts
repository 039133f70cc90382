// Names of sessions, directories and states on the page.

import type { Session } from "./api.ts";

export function titleOf(session: Pick<Session, "title" | "id">): string {
  const title = session.title?.trim().replace(/\s+/g, " ");
  // Ids from the same day begin with the same characters.
  return title ? title : `Session ${session.id.slice(-8)}`;
}

/** The title in a list, which marks side conversations. */
export function listTitle(session: Pick<Session, "title" | "id" | "parent">): string {
  return `${session.parent ? "↳ " : ""}${titleOf(session)}`;
}

/** Counts a new message of a session. */
export function countMessage(session: Session, seq: number): void {
  session.last_seq = Math.max(session.last_seq, seq);
  session.messages = Math.max(session.messages, seq);
  session.updated_at = new Date().toISOString();
}

/** Returns the last two parts of a path. */
export function shortDir(dir: string): string {
  const parts = dir.split("/").filter((part) => part !== "");
  return parts.length <= 2 ? dir : `…/${parts.slice(-2).join("/")}`;
}

/** Returns the last two parts of each path, or more where the ends of several paths are the same. */
export function shortPaths(paths: readonly string[]): string[] {
  const all = paths.map((path) => path.split("/"));
  const ends = all.map((parts) => parts.slice(-2).join("/"));
  for (let many = 3, changed = true; changed; many++) {
    const counts = new Map<string, number>();
    for (const end of ends) counts.set(end, (counts.get(end) ?? 0) + 1);
    changed = false;
    all.forEach((parts, n) => {
      if (counts.get(ends[n] ?? "") === 1 || parts.length < many) return;
      ends[n] = parts.slice(-many).join("/");
      changed = true;
    });
  }
  return ends;
}

export const LEVEL_WORDS: Readonly<Record<string, string>> = {
  comfortable: "comfortable",
  degrading: "filling up",
  warning: "compaction due soon",
  auto: "compaction due",
  blocking: "full",
};

export const KIND_WORDS: Readonly<Record<string, string>> = {
  session_memory: "from the notes",
  full: "by a model",
  embedded: "without a model",
  recorded: "by the agent itself",
  auto: "automatic",
  manual: "manual",
  reactive: "after the provider rejected a prompt",
};

export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
