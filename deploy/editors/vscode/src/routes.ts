/** The requests of this extension, one function each. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type {
  Candidate, Client, Compaction, ContextReport, MemoriesPage, Memory, MemoryScope, MemoryWritten, Proposal, RecalledMemory, SearchHit,
  SearchHits, Session, TextAnswer, Todo,
} from './client';
import { line, plain } from './text';

/** Maximum number of pages of memories to list. The dashboard shows all memories of a larger directory. */
const PAGES = 20;
/** Number of newest sessions among which to look for one that is not a subagent's. */
const SESSIONS = 20;
/** Maximum number of hits of a search in the history. */
const HITS = 50;
/** Number of messages to show before and after a hit. */
const BESIDE = 3;
/** Milliseconds that a compaction or an update of notes may take: a model may write the text. */
const MODEL_TIMEOUT = 600_000;

/** Returns the newest session of the directory, or of the nearest directory above it in the same working tree. */
export async function newestSession(client: Client, dir: string): Promise<Session | undefined> {
  for (let project = dir; ; project = dirname(project)) {
    const query = { project_dir: project, exact_dir: true, limit: SESSIONS };
    const { sessions } = await client.get('/v1/sessions', { query });
    // prefer a session that is not a subagent's
    const own = sessions.find((one) => one.parent == null || one.forked_at_seq != null);
    if (own ?? sessions[0]) return own ?? sessions[0];
    const isTop = existsSync(join(project, '.git')) || dirname(dirname(project)) === dirname(project);
    if (isTop) return undefined;
  }
}

/** Returns the newest session like `newestSession`, or fails with an instruction. */
export async function needSession(client: Client, dir: string): Promise<Session> {
  const session = await newestSession(client, dir);
  if (!session) throw new Error('this folder has no sessions yet; connect an agent with `bethink install`, or run `bethink import`');
  return session;
}

export function report(client: Client, id: string): Promise<ContextReport> {
  return client.get('/v1/sessions/{id}/context/report', { path: { id } });
}

export async function todos(client: Client, id: string): Promise<Todo[]> {
  return (await client.get('/v1/sessions/{id}/todos', { path: { id } })).todos;
}

export async function memories(client: Client, dir: string): Promise<Memory[]> {
  const all: Memory[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const answer: MemoriesPage = await client.get('/v1/memories', { query: { project_dir: dir, cursor } });
    all.push(...answer.memories);
    cursor = answer.next_cursor;
    if (cursor == null) break;
  }
  return all;
}

/** The result of a save. */
export type Written = Pick<MemoryWritten, 'etag' | 'warnings'>;

export interface Topic {
  dir: string;
  scope: MemoryScope;
  name: string;
}

export function readMemory(client: Client, { dir, scope, name }: Topic): Promise<TextAnswer> {
  return client.text('/v1/memories/{scope}/{name}', { path: { scope, name }, query: { project_dir: dir } });
}

/** Replaces the version with this `etag`, and no other. */
export function writeMemory(client: Client, { dir, scope, name }: Topic, markdown: string, etag: string): Promise<MemoryWritten> {
  return client.put('/v1/memories/{scope}/{name}', {
    path: { scope, name },
    query: { project_dir: dir },
    headers: { 'if-match': etag },
    body: markdown,
  });
}

export function readNotes(client: Client, id: string): Promise<TextAnswer> {
  return client.text('/v1/sessions/{id}/notes', { path: { id } });
}

/** Replaces the version with this `etag`, and no other. Returns the new tag. */
export async function writeNotes(client: Client, id: string, markdown: string, etag: string): Promise<Written> {
  await client.put('/v1/sessions/{id}/notes', { path: { id }, headers: { 'if-match': etag }, body: markdown });
  // The answer of the client has no tag. If someone has written since, the old tag makes the next save a conflict.
  const now = await readNotes(client, id);
  return { etag: now.text === markdown ? now.etag : etag, warnings: [] };
}

export async function updateNotes(client: Client, id: string, signal: AbortSignal): Promise<void> {
  await client.post('/v1/sessions/{id}/notes/update', { path: { id }, signal, timeout: MODEL_TIMEOUT });
}

/** By default, the daemon chooses the scope. */
export function remember(client: Client, dir: string, text: string, scope?: MemoryScope): Promise<MemoryWritten> {
  return client.post('/v1/memories', { body: { project_dir: dir, text, scope: scope ?? null } });
}

export async function recall(client: Client, dir: string, query: string): Promise<RecalledMemory[]> {
  return (await client.post('/v1/recall', { body: { project_dir: dir, query } })).memories;
}

export function search(client: Client, dir: string, query: string): Promise<SearchHits> {
  return client.get('/v1/search', { query: { project_dir: dir, q: query, limit: HITS } });
}

/** A message in the history. */
export type Place = Pick<SearchHit, 'session_id' | 'seq'>;

/** Returns the messages around a hit as Markdown. */
export async function around(client: Client, { session_id, seq }: Place): Promise<string> {
  const query = { after_seq: Math.max(0, seq - BESIDE - 1), limit: 2 * BESIDE + 1 };
  const path = { id: session_id };
  const [{ title }, { messages }] = await Promise.all([
    client.get('/v1/sessions/{id}', { path }),
    client.get('/v1/sessions/{id}/messages', { path, query }),
  ]);
  const parts = messages.map((one) => {
    const mark = one.seq === seq ? ' ← found' : '';
    return `## ${one.seq} · ${one.role}${mark}\n\n${plain(one.message.content)}\n`;
  });
  return [`# ${line(title ?? session_id)}\n`, ...parts].join('\n');
}

export function compact(client: Client, id: string, instructions: string, signal: AbortSignal): Promise<Compaction> {
  const body = instructions === '' ? {} : { instructions };
  return client.post('/v1/sessions/{id}/compact', { path: { id }, body, signal, timeout: MODEL_TIMEOUT });
}

export async function proposals(client: Client, dir: string): Promise<Proposal[]> {
  return (await client.get('/v1/proposals', { query: { project_dir: dir } })).proposals;
}

/** `replace` approves a proposal even if its topic has changed since. Returns warnings. */
export async function approve(client: Client, id: string, replace = false): Promise<string[]> {
  return (await client.post('/v1/proposals/{id}/approve', { path: { id }, body: { replace } })).warnings ?? [];
}

export async function reject(client: Client, id: string): Promise<void> {
  await client.post('/v1/proposals/{id}/reject', { path: { id } });
}

/** Returns the statements that wait for a decision. */
export async function candidates(client: Client, dir: string): Promise<Candidate[]> {
  return (await client.get('/v1/candidates', { query: { project_dir: dir } })).candidates;
}

/** Writes a memory from a candidate; `text` replaces the user's words, which are quoted below it. */
export function keepCandidate(client: Client, id: string, text?: string): Promise<MemoryWritten> {
  return client.post('/v1/candidates/{id}/keep', { path: { id }, body: text === undefined ? {} : { text } });
}

export async function dropCandidate(client: Client, id: string): Promise<void> {
  await client.post('/v1/candidates/{id}/drop', { path: { id } });
}

/** Returns a URL that opens the dashboard once. */
export async function launch(client: Client): Promise<string> {
  return (await client.post('/v1/dashboard/launch')).url;
}
