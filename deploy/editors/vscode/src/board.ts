/**
 * What is shown: the newest session of the folder with its window, its todos, the memories and what
 * waits for approval. One object looks when events say so, and tells everybody who draws.
 */

import * as vscode from 'vscode';

import type { Daemon } from './daemon';
import { Unreachable, words } from './failure';
import * as projects from './projects';
import * as routes from './routes';
import type { Memory, Proposal, Session, Todo, Window } from './shapes';

/** Events come in bursts, such as the messages of an import: one look is enough for all of them. */
const LOOK_AFTER = 150;

export type State = 'looking' | 'up' | 'down' | 'failed';

export class Board implements vscode.Disposable {
  state: State = 'looking';
  /** Why it is down or failed. */
  fault = '';
  dir: string | undefined;
  session: Session | undefined;
  window: Window | undefined;
  todos: Todo[] = [];
  memories: Memory[] = [];
  proposals: Proposal[] = [];

  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changes.event;
  private readonly wanted = new Set<Part>();
  private timer: NodeJS.Timeout | undefined;
  private looking = false;

  constructor(private readonly daemon: Daemon) {}

  /** Everything may have changed: another folder, or a daemon that was away. */
  all(): void {
    this.want('session', 'memories', 'proposals');
  }

  /** Another editor is active, which may be another folder's. */
  follow(): void {
    if (projects.folder() !== this.dir) this.all();
  }

  event(kind: string, data: Record<string, unknown>): void {
    const ours = data['session_id'] === this.session?.id;
    switch (kind) {
      case 'context':
        if (ours) this.moved(data as unknown as Window);
        else this.want('session');
        return;
      case 'session':
        return this.want('session');
      case 'message':
        // a session that is written to becomes the newest one
        return this.want(ours ? 'window' : 'session');
      case 'compaction':
      case 'collapse':
        return ours ? this.want('window') : undefined;
      case 'todos':
        return ours ? this.want('todos') : undefined;
      case 'memory':
        return this.want('memories');
      case 'proposal':
        return this.want('proposals', 'memories');
      case 'reset':
        return this.all();
    }
  }

  down(error: unknown): void {
    this.fail(error);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.changes.dispose();
  }

  private moved(to: Window): void {
    this.window = to;
    this.changes.fire();
  }

  private want(...parts: Part[]): void {
    for (const part of parts) this.wanted.add(part);
    if (this.timer === undefined && !this.looking) {
      this.timer = setTimeout(() => void this.look(), LOOK_AFTER);
    }
  }

  private async look(): Promise<void> {
    this.timer = undefined;
    this.looking = true;
    const parts = new Set(this.wanted);
    this.wanted.clear();
    try {
      await this.read(parts);
      this.state = 'up';
      this.fault = '';
      this.changes.fire();
    } catch (error) {
      this.fail(error);
    } finally {
      this.looking = false;
      if (this.wanted.size > 0) this.want();
    }
  }

  private async read(parts: Set<Part>): Promise<void> {
    const dir = projects.folder();
    const moved = dir !== this.dir;
    this.dir = dir;
    if (dir === undefined) return this.empty();
    if (moved || parts.has('session')) await this.readSession(dir);
    else if (parts.has('window')) await this.readWindow();
    else if (parts.has('todos')) await this.readTodos();
    if (moved || parts.has('memories')) this.memories = await routes.memories(this.daemon, dir);
    if (moved || parts.has('proposals')) this.proposals = await routes.proposals(this.daemon, dir);
  }

  private async readSession(dir: string): Promise<void> {
    this.session = await routes.newestSession(this.daemon, dir);
    await this.readWindow();
    await this.readTodos();
  }

  private async readWindow(): Promise<void> {
    const session = this.session;
    if (!session) return void (this.window = undefined);
    const told = await routes.report(this.daemon, session.id);
    const { tokens, level, remaining, thresholds } = told;
    this.window = { session_id: session.id, tokens, level, remaining, window: thresholds.window };
  }

  private async readTodos(): Promise<void> {
    this.todos = this.session ? await routes.todos(this.daemon, this.session.id) : [];
  }

  private empty(): void {
    this.session = this.window = undefined;
    this.todos = [];
    this.memories = [];
    this.proposals = [];
  }

  private fail(error: unknown): void {
    this.state = error instanceof Unreachable ? 'down' : 'failed';
    this.fault = words(error);
    this.changes.fire();
  }
}

type Part = 'session' | 'window' | 'todos' | 'memories' | 'proposals';
