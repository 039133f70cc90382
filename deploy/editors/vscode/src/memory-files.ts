/**
 * Memories as documents: `bethink:/<scope>/<name>.md?<project directory>`. A save goes to the daemon
 * with the tag of what was read, so that nobody's words are lost: a save that comes too late is
 * refused, the document stays as it is, and the person sees both sides.
 */

import * as vscode from 'vscode';

import type { Daemon } from './daemon';
import { Refused, words } from './failure';
import { needTrust } from './projects';
import * as routes from './routes';
import { complain, warn } from './tell';
import { line } from './text';

export const SCHEME = 'bethink';

const COMPARE = 'Compare';
const OVERWRITE = 'Overwrite';

export function uriOf(dir: string, scope: string, name: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${scope}/${name}.md`, query: dir });
}

interface Topic {
  dir: string;
  scope: string;
  name: string;
}

/** What was seen of a document: the tag a save needs, and a time that moves when the text does. */
interface Seen {
  etag: string;
  mtime: number;
  size: number;
}

export class MemoryFiles implements vscode.FileSystemProvider {
  private readonly changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changes.event;
  /** As it was read into the editor; by the document's address. */
  private readonly read = new Map<string, string>();
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly daemon: Daemon) {}

  /** Some memory changed: documents that nobody edits are read again by the editor. */
  changed(): void {
    const events = [...this.seen.keys()].map((key) => ({
      type: vscode.FileChangeType.Changed,
      uri: vscode.Uri.parse(key, true),
    }));
    if (events.length > 0) this.changes.fire(events);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { mtime, size } = (await this.fetch(uri)).seen;
    return { type: vscode.FileType.File, ctime: 0, mtime, size };
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
      if (!(error instanceof Refused && error.stale)) throw error;
      void this.conflict(uri, text, error);
      throw vscode.FileSystemError.Unavailable(`${topicOf(uri).name} was changed by somebody else; nothing was overwritten`);
    }
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {}); // the stream of events tells of every change
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(): void {
    throw vscode.FileSystemError.NoPermissions('memories are listed in the view');
  }

  delete(): void {
    throw vscode.FileSystemError.NoPermissions('bethink memory rm removes a memory');
  }

  rename(): void {
    throw vscode.FileSystemError.NoPermissions('a memory keeps its name');
  }

  private async fetch(uri: vscode.Uri): Promise<{ text: string; seen: Seen }> {
    const { dir, scope, name } = topicOf(uri);
    try {
      const { text, etag } = await routes.readMemory(this.daemon, dir, scope, name);
      return { text, seen: this.note(uri, etag, Buffer.byteLength(text)) };
    } catch (error) {
      if (error instanceof Refused && error.problem.status === 404) throw vscode.FileSystemError.FileNotFound(uri);
      throw vscode.FileSystemError.Unavailable(words(error));
    }
  }

  private async put(uri: vscode.Uri, text: string, etag: string): Promise<void> {
    const { dir, scope, name } = topicOf(uri);
    const written = await routes.writeMemory(this.daemon, dir, scope, name, text, etag);
    this.read.set(uri.toString(), quoted(written.etag));
    this.note(uri, quoted(written.etag), Buffer.byteLength(text));
    for (const warning of written.warnings) void warn(warning);
  }

  /** The daemon gives no times of single reads: the first look at a tag stands for its time. */
  private note(uri: vscode.Uri, etag: string, size: number): Seen {
    const key = uri.toString();
    const before = this.seen.get(key);
    if (before?.etag === etag) return before;
    const seen = { etag, size, mtime: Math.max(Date.now(), (before?.mtime ?? 0) + 1) };
    this.seen.set(key, seen);
    return seen;
  }

  private async conflict(uri: vscode.Uri, yours: string, refused: Refused): Promise<void> {
    const { name } = topicOf(uri);
    const { current, etag } = refused.problem.versions ?? {};
    const told = `${line(name, 80)} was changed by somebody else since you opened it.`;
    const choices = etag === undefined ? [COMPARE] : [COMPARE, OVERWRITE];
    const chosen = await warn(told, ...choices);
    if (chosen === COMPARE) await compare(uri, current ?? '', line(name, 80));
    if (chosen === OVERWRITE && etag !== undefined) await this.overwrite(uri, yours, etag);
  }

  /** Over what the person was told of, and over nothing that came after it. */
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
  const document = await vscode.workspace.openTextDocument({ language: 'markdown', content: current });
  await vscode.commands.executeCommand('vscode.diff', document.uri, uri, `${name}: theirs ↔ yours`);
}

function topicOf(uri: vscode.Uri): Topic {
  const parts = /^\/([^/]+)\/(.+)\.md$/.exec(uri.path);
  if (!parts?.[1] || !parts[2] || !uri.query) throw vscode.FileSystemError.FileNotFound(uri);
  return { dir: uri.query, scope: parts[1], name: parts[2] };
}

/** In JSON a tag is bare; in a header it has its quotes. */
function quoted(etag: string): string {
  return etag.startsWith('"') ? etag : `"${etag}"`;
}
