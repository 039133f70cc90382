/**
 * Documents of the daemon: memories (`bethink:/<scope>/<name>.md?<project directory>`), a session's notes
 * (`bethink:/notes/<session>/notes.md`) and the messages around a hit (`bethink:/history/<session>/message <seq>.md`, read-only).
 * A save goes to the daemon with the tag of the version that was read. If someone else has changed the text since, nothing is
 * overwritten, the document stays as it is, and the person can compare both versions.
 */

import * as vscode from 'vscode';

import { ApiError, type BothVersions, type Client, type MemoryScope, type TextAnswer } from './client';
import { conflictOf, words } from './failure';
import { needTrust } from './projects';
import * as routes from './routes';
import { complain, warn } from './tell';
import { line } from './text';

export const SCHEME = 'bethink';
/** The language of documents: Markdown's colors without its links, because a link in raw Markdown can run a command. */
export const LANGUAGE = 'bethink';

const COMPARE = 'Compare';
const OVERWRITE = 'Overwrite';

export function uriOf(dir: string, scope: string, name: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${scope}/${name}.md`, query: dir });
}

export function notesUri(session: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/notes/${session}/notes.md` });
}

export function hitUri({ session_id, seq }: routes.Place): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/history/${session_id}/message ${seq}.md` });
}

/** Where the text of a document comes from, and where a save goes. */
interface Source {
  name: string;
  read(): Promise<Pick<TextAnswer, 'text' | 'etag'>>;
  /** Replaces the version with this `etag`, and no other. Absent if the text cannot be changed. */
  write?(text: string, etag: string): Promise<routes.Written>;
}

/** The version of a document that was read last. `mtime` changes when the text does. */
interface Seen {
  etag: string;
  mtime: number;
  size: number;
}

export class Documents implements vscode.FileSystemProvider {
  private readonly changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changes.event;
  /** The tag of the version in the editor, by the address of the document. */
  private readonly read = new Map<string, string>();
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly client: Client) {}

  /** Makes the editor read all unedited documents again, because a memory or notes have changed. */
  changed(): void {
    const events = [...this.seen.keys()].map((key) => ({
      type: vscode.FileChangeType.Changed,
      uri: vscode.Uri.parse(key, true),
    }));
    if (events.length > 0) this.changes.fire(events);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { mtime, size } = (await this.fetch(uri)).seen;
    const file = { type: vscode.FileType.File, ctime: 0, mtime, size };
    return this.source(uri).write ? file : { ...file, permissions: vscode.FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const { text, seen } = await this.fetch(uri);
    this.read.set(uri.toString(), seen.etag);
    return Buffer.from(text, 'utf8');
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    needTrust();
    const etag = this.read.get(uri.toString());
    if (etag === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    const text = Buffer.from(content).toString('utf8');
    try {
      await this.put(uri, text, etag);
    } catch (error) {
      const versions = conflictOf(error);
      if (!versions) throw error;
      void this.conflict(uri, text, versions);
      throw vscode.FileSystemError.Unavailable(`${this.source(uri).name} has been changed by someone else; nothing was overwritten`);
    }
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {}); // the event stream reports every change
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(): void {
    throw vscode.FileSystemError.NoPermissions('memories are not in directories; the bethink view lists them');
  }

  delete(): void {
    throw vscode.FileSystemError.NoPermissions('run `bethink memory rm` to remove a memory');
  }

  rename(): void {
    throw vscode.FileSystemError.NoPermissions('a memory cannot be renamed');
  }

  private async fetch(uri: vscode.Uri): Promise<{ text: string; seen: Seen }> {
    try {
      const { text, etag } = await this.source(uri).read();
      return { text, seen: this.note(uri, etag, Buffer.byteLength(text)) };
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) throw vscode.FileSystemError.FileNotFound(uri);
      throw vscode.FileSystemError.Unavailable(words(error));
    }
  }

  private async put(uri: vscode.Uri, text: string, etag: string): Promise<void> {
    const { write } = this.source(uri);
    if (!write) throw vscode.FileSystemError.NoPermissions('the history cannot be changed');
    const written = await write(text, etag);
    this.read.set(uri.toString(), quoted(written.etag));
    this.note(uri, quoted(written.etag), Buffer.byteLength(text));
    for (const warning of written.warnings) void warn(warning);
  }

  private source(uri: vscode.Uri): Source {
    const notes = /^\/notes\/([^/]+)\/notes\.md$/.exec(uri.path)?.[1];
    if (notes) {
      return {
        name: 'notes.md',
        read: () => routes.readNotes(this.client, notes),
        write: (text, etag) => routes.writeNotes(this.client, notes, text, etag),
      };
    }
    const [, session, seq] = /^\/history\/([^/]+)\/message (\d+)\.md$/.exec(uri.path) ?? [];
    if (session) {
      return {
        name: `message ${seq}`,
        read: async () => ({ text: await routes.around(this.client, { session_id: session, seq: Number(seq) }), etag: '' }),
      };
    }
    const topic = topicOf(uri);
    return {
      name: topic.name,
      read: () => routes.readMemory(this.client, topic),
      write: (text, etag) => routes.writeMemory(this.client, topic, text, etag),
    };
  }

  /** The daemon reports no modification times, so the time when a tag was first seen is used. */
  private note(uri: vscode.Uri, etag: string, size: number): Seen {
    const key = uri.toString();
    const before = this.seen.get(key);
    if (before?.etag === etag) return before;
    const seen = { etag, size, mtime: Math.max(Date.now(), (before?.mtime ?? 0) + 1) };
    this.seen.set(key, seen);
    return seen;
  }

  private async conflict(uri: vscode.Uri, yours: string, { current, etag }: BothVersions): Promise<void> {
    const { name } = this.source(uri);
    const told = `${line(name, 80)} has been changed by someone else since you opened it.`;
    const choices = etag == null ? [COMPARE] : [COMPARE, OVERWRITE];
    const chosen = await warn(told, ...choices);
    if (chosen === COMPARE) await compare(uri, current ?? '', line(name, 80));
    if (chosen === OVERWRITE && etag != null) await this.overwrite(uri, yours, etag);
  }

  /** Replaces the version that the person was shown, but no later one. */
  private async overwrite(uri: vscode.Uri, text: string, etag: string): Promise<void> {
    try {
      await this.put(uri, text, quoted(etag));
      this.changes.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    } catch (error) {
      void complain(`bethink: ${words(error)}`);
    }
  }
}

async function compare(uri: vscode.Uri, current: string, name: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: LANGUAGE, content: current });
  await vscode.commands.executeCommand('vscode.diff', document.uri, uri, `${name}: theirs ↔ yours`);
}

function topicOf(uri: vscode.Uri): routes.Topic {
  const parts = /^\/([^/]+)\/(.+)\.md$/.exec(uri.path);
  if (!parts?.[1] || !parts[2] || !uri.query) throw vscode.FileSystemError.FileNotFound(uri);
  // the daemon refuses a scope that it does not know
  return { dir: uri.query, scope: parts[1] as MemoryScope, name: parts[2] };
}

/** Returns a tag in quotes, as headers have it. In JSON, tags have none. */
function quoted(etag: string): string {
  return etag.startsWith('"') ? etag : `"${etag}"`;
}
