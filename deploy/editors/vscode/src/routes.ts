/** The routes that this extension asks, one function each. */

import { dirname } from 'node:path';

import type { Ask, Daemon, Text } from './daemon';
import type {
  Compaction, ContextReport, Memory, MemoryWritten, Proposal, Recalled, Session, Todo,
} from './shapes';

/** Memories are listed up to so many pages; the dashboard shows all of a larger directory. */
const PAGES = 20;
/** Sessions looked at for one that is nobody's child. */
const SESSIONS = '20';
/** Milliseconds that a compaction may take: a model may write the summary. */
const COMPACTS_WITHIN = 600_000;

/** The newest session of the directory, which may have been begun in a directory above it. */
export async function newestSession(daemon: Daemon, dir: string): Promise<Session | undefined> {
  for (let project = dir; ; project = dirname(project)) {
    const query = { project_dir: project, limit: SESSIONS };
    const { sessions } = await daemon.json<{ sessions: Session[] }>('GET', ['v1', 'sessions'], { query });
    // what explored for its parent is nobody's newest session, if there is another
    const own = sessions.find((one) => one.parent === null || one.forked_at_seq !== null);
    if (own ?? sessions[0]) return own ?? sessions[0];
    if (dirname(dirname(project)) === dirname(project)) return undefined;
  }
}

export function report(daemon: Daemon, session: string): Promise<ContextReport> {
  return daemon.json('GET', ['v1', 'sessions', session, 'context', 'report']);
}

export async function todos(daemon: Daemon, session: string): Promise<Todo[]> {
  return (await daemon.json<{ todos: Todo[] }>('GET', ['v1', 'sessions', session, 'todos'])).todos;
}

export async function memories(daemon: Daemon, dir: string): Promise<Memory[]> {
  const all: Memory[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const query = { project_dir: dir, cursor };
    const answer = await daemon.json<{ memories: Memory[]; next_cursor?: string | null }>(
      'GET', ['v1', 'memories'], { query });
    all.push(...answer.memories);
    cursor = answer.next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return all;
}

export function readMemory(daemon: Daemon, dir: string, scope: string, name: string): Promise<Text> {
  return daemon.text('GET', ['v1', 'memories', scope, name], { query: { project_dir: dir } });
}

/** Writes over what was read with `etag`, and over nothing else. */
export function writeMemory(
  daemon: Daemon, dir: string, scope: string, name: string, markdown: string, etag: string,
): Promise<MemoryWritten> {
  const ask = { query: { project_dir: dir }, markdown, headers: { 'if-match': etag } };
  return daemon.json('PUT', ['v1', 'memories', scope, name], ask);
}

export function remember(daemon: Daemon, dir: string, text: string): Promise<MemoryWritten> {
  return daemon.json('POST', ['v1', 'memories'], { json: { project_dir: dir, text } });
}

export async function recall(daemon: Daemon, dir: string, query: string): Promise<Recalled[]> {
  const json = { project_dir: dir, query };
  return (await daemon.json<{ memories: Recalled[] }>('POST', ['v1', 'recall'], { json })).memories;
}

export function compact(
  daemon: Daemon, session: string, instructions: string, signal: AbortSignal,
): Promise<Compaction> {
  const json = instructions === '' ? {} : { instructions };
  const ask: Ask = { json, signal, patience: COMPACTS_WITHIN };
  return daemon.json('POST', ['v1', 'sessions', session, 'compact'], ask);
}

export async function proposals(daemon: Daemon, dir: string): Promise<Proposal[]> {
  const query = { project_dir: dir };
  const answer = await daemon.json<{ proposals: Proposal[] }>('GET', ['v1', 'proposals'], { query });
  return answer.proposals;
}

/** `replace` lets it in although the topic was changed since. */
export function decide(
  daemon: Daemon, id: string, verdict: 'approve' | 'reject', replace = false,
): Promise<{ warnings?: string[] }> {
  const ask = verdict === 'approve' ? { json: { replace } } : {};
  return daemon.json('POST', ['v1', 'proposals', id, verdict], ask);
}

export async function launch(daemon: Daemon): Promise<string> {
  return (await daemon.json<{ url: string }>('POST', ['v1', 'dashboard', 'launch'])).url;
}

