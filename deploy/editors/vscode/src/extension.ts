/**
 * bethink in VS Code: a thin client of the daemon. It draws and asks; all meaning is in the daemon.
 *
 * Reading order: `places` → `http`, `daemon`, `routes` → `sse`, `events` → `board` (what is shown) →
 * `status`, `tree`, `memory-files` → `commands`. There is no telemetry, and nothing but the daemon's
 * own address is ever asked.
 */

import * as vscode from 'vscode';

import { Board } from './board';
import { approve } from './commands/approve';
import { compact } from './commands/compact';
import { dashboard } from './commands/dashboard';
import { recall } from './commands/recall';
import { remember } from './commands/remember';
import { Daemon } from './daemon';
import { Events } from './events';
import { Unreachable, words } from './failure';
import { MemoryFiles, SCHEME } from './memory-files';
import { find } from './places';
import { Starter, settings } from './starter';
import { Status } from './status';
import { complain } from './tell';
import { Tree } from './tree';

export function activate(context: vscode.ExtensionContext): void {
  const place = () => find(process.env, settings().get<string>('home', ''));
  const daemon = new Daemon(place);
  const starter = new Starter(place);
  const board = new Board(daemon);
  const files = new MemoryFiles(daemon);
  const status = new Status(board);
  const tree = new Tree(board);
  const view = vscode.window.createTreeView('bethink.memory', { treeDataProvider: tree, showCollapseAll: true });

  const events = new Events(daemon, {
    up: () => {
      files.changed();
      board.all();
    },
    down: (error) => {
      board.down(error);
      if (error instanceof Unreachable) void attempt(async () => void ((await starter.offer()) && events.hurry()));
    },
    event: (kind, data) => {
      if (kind === 'memory' || kind === 'proposal' || kind === 'reset') files.changed();
      board.event(kind, data);
    },
  });
  const start = async () => {
    await starter.start();
    events.hurry();
  };

  /** Says what went wrong; where nothing answers, starting the daemon is offered with it. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const offer = error instanceof Unreachable && vscode.workspace.isTrusted ? ['Start the Daemon'] : [];
      const chosen = await complain(`bethink: ${words(error)}`, ...offer);
      if (chosen) await attempt(start);
    }
  }
  const command = (name: string, work: (argument?: unknown) => Promise<void>) =>
    vscode.commands.registerCommand(`bethink.${name}`, (argument?: unknown) => attempt(() => work(argument)));

  const draw = () => {
    status.draw();
    tree.draw();
    const waiting = board.proposals.length;
    view.badge = waiting === 0 ? undefined : { value: waiting, tooltip: `${waiting} waiting for approval` };
    void vscode.commands.executeCommand('setContext', 'bethink.state', board.state);
  };

  context.subscriptions.push(
    board, status, view, events,
    board.onDidChange(draw),
    vscode.workspace.registerFileSystemProvider(SCHEME, files, { isCaseSensitive: true }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => board.all()),
    vscode.window.onDidChangeActiveTextEditor(() => board.follow()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => events.hurry()),
    command('remember', () => remember(daemon)),
    command('recall', () => recall(daemon)),
    command('compact', () => compact(daemon, board)),
    command('approve', (id) => approve(daemon, typeof id === 'string' ? id : undefined)),
    command('dashboard', () => dashboard(daemon)),
    command('start', start),
    command('refresh', async () => {
      events.hurry();
      board.all();
    }),
  );
  void events.run();
}

export function deactivate(): void {}
