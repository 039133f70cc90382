/**
 * What the extension shows: the newest session of the folder, its context window and todos, the memories, and
 * proposals and candidates to review. Events trigger new reads; listeners redraw after each change.
 */

import * as vscode from 'vscode';

import { type BethinkEvent, type Candidate, type Client, type ContextEvent, type Memory, type Proposal, type Session, type Todo } from './client';
import { isDown, words } from './failure';
import * as projects from './projects';
import * as routes from './routes';

/** Milliseconds between an event and the next read, so that a burst of events causes one read. */
const READ_AFTER = 150;

/** How full the context window is. */
type Window = Omit<ContextEvent['data'], 'parts'>;

export type State = 'starting' | 'up' | 'down' | 'failed';

export class Board implements vscode.Disposable {
  state: State = 'starting';
  /** Why the state is `down` or `failed`. */
  fault = '';
  dir: string | undefined;
  session: Session | undefined;
  window: Window | undefined;
  todos: Todo[] = [];
  memories: Memory[] = [];
  proposals: Proposal[] = [];
  candidates: Candidate[] = [];

  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changes.event;
  private readonly wanted = new Set<Part>();
  private timer: NodeJS.Timeout | undefined;
  private reading = false;

  constructor(private readonly client: Client) {}

  /** Reads everything again, after a change of folder or a reconnection. */
  all(): void {
    this.want('session', 'memories', 'proposals', 'candidates');
  }

  /** Follows the active editor, which may belong to another folder. */
  follow(): void {
    if (projects.folder() !== this.dir) this.all();
  }

  event(event: BethinkEvent): void {
    const ours = this.session !== undefined && event.session_id === this.session.id;
    switch (event.event) {
      case 'context':
        if (ours) this.moved(event.data);
        else this.want('session');
        return;
      case 'session':
        return this.want('session');
      case 'message':
        // a new message makes its session the newest one
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
      case 'candidate':
        return this.want('candidates');
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
    if (this.timer === undefined && !this.reading) {
      this.timer = setTimeout(() => void this.readWanted(), READ_AFTER);
    }
  }

  private async readWanted(): Promise<void> {
    this.timer = undefined;
    this.reading = true;
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
      this.reading = false;
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
    if (moved || parts.has('memories')) this.memories = await routes.memories(this.client, dir);
    if (moved || parts.has('candidates')) this.candidates = await routes.candidates(this.client, dir);
    if (moved || parts.has('proposals')) this.proposals = await routes.proposals(this.client, dir);
  }

  private async readSession(dir: string): Promise<void> {
    this.session = await routes.newestSession(this.client, dir);
    await this.readWindow();
    await this.readTodos();
  }

  private async readWindow(): Promise<void> {
    const session = this.session;
    if (!session) return void (this.window = undefined);
    const { tokens, level, remaining, thresholds } = await routes.report(this.client, session.id);
    this.window = { tokens, level, remaining, window: thresholds.window };
  }

  private async readTodos(): Promise<void> {
    this.todos = this.session ? await routes.todos(this.client, this.session.id) : [];
  }

  private empty(): void {
    this.session = this.window = undefined;
    this.todos = [];
    this.memories = [];
    this.proposals = [];
    this.candidates = [];
  }

  private fail(error: unknown): void {
    this.state = isDown(error) ? 'down' : 'failed';
    this.fault = words(error);
    this.changes.fire();
  }
}

type Part = 'session' | 'window' | 'todos' | 'memories' | 'proposals' | 'candidates';
