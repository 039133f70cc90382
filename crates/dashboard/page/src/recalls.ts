// Which memories were added to the prompts of which sessions.

import { type MemoryScope, type Session, client } from "./api.ts";
import { isRecall } from "./track.ts";

export interface Recalled {
  readonly session: Session;
  /** The message after which the memory was added. */
  readonly seq: number;
  readonly at: string;
  readonly scope: string;
  readonly name: string;
}

/** Number of the newest sessions that are looked at. */
const SESSIONS = 20;

/** Returns what was recalled in these sessions, newest first. */
export async function recallsOf(sessions: readonly Session[], signal: AbortSignal): Promise<Recalled[]> {
  const all = await Promise.all(
    sessions.map(async (session) => {
      const { decisions } = await client.get("/v1/sessions/{id}/decisions", { path: { id: session.id }, signal });
      return decisions.filter(isRecall).map(({ name, after_seq, at }) => ({ session, seq: after_seq, at, ...placeOf(name ?? "") }));
    }),
  );
  return all.flat().sort((a, b) => b.at.localeCompare(a.at));
}

export async function recalledIn(project: string, scope: MemoryScope, name: string, signal: AbortSignal): Promise<{ found: Recalled[]; searched: number }> {
  const { sessions } = await client.get("/v1/sessions", { query: { project_dir: project, limit: SESSIONS }, signal });
  const recalls = await recallsOf(sessions, signal);
  return { found: recalls.filter((one) => one.name === name && one.scope === scope), searched: sessions.length };
}

/** The name of an attached memory is its scope and its name. */
function placeOf(name: string): { scope: string; name: string } {
  const slash = name.indexOf("/");
  return { scope: name.slice(0, slash), name: name.slice(slash + 1) };
}
