/**
 * bethink in VS Code. The extension shows what the daemon knows, and contains no rules of its own.
 *
 * Reading order: `client`, `routes` → `board` (what is shown) → `status`, `tree`, `documents` → `commands` → `mcp`. There is
 * no telemetry, and no requests go anywhere but to the daemon.
 */

import * as vscode from 'vscode';

import { Board } from './board';
import { approve } from './commands/approve';
import { type Decide, drop, edit, keep, review } from './commands/candidates';
import { compact } from './commands/compact';
import { dashboard } from './commands/dashboard';
import { notes, updateNotes } from './commands/notes';
import { recall } from './commands/recall';
import { remember } from './commands/remember';
import { search } from './commands/search';
import { clientOf, findDaemon } from './client';
import { Documents, LANGUAGE, SCHEME } from './documents';
import { isDown, words } from './failure';
import { offerTools } from './mcp';
import { Starter, settings } from './starter';
import { Status } from './status';
import { complain } from './tell';
import { type Node, Tree } from './tree';

export function activate(context: vscode.ExtensionContext): void {
  const find = () => findDaemon(process.env, settings().get<string>('home') || undefined);
  const client = clientOf(find);
  const starter = new Starter(find);
  const board = new Board(client);
  const files = new Documents(client);
  const status = new Status(board);
  const tree = new Tree(board);
  const view = vscode.window.createTreeView('bethink.memory', { treeDataProvider: tree, showCollapseAll: true });

  const events = client.events({
    onConnect: () => {
      // Anything may have changed since the last connection.
      files.changed();
      board.all();
    },
    onDisconnect: (error) => {
      board.down(error);
      if (isDown(error)) void attempt(async () => void ((await starter.offer()) && events.retryNow()));
    },
    // Even after a refusal: a token can be corrected.
    reconnect: () => true,
  });
  async function follow(): Promise<void> {
    for await (const event of events) {
      if (['memory', 'notes', 'proposal', 'reset'].includes(event.event)) files.changed();
      board.event(event);
    }
  }
  const start = async () => {
    await starter.start();
    events.retryNow();
  };

  /** Shows errors. Offers to start the daemon if it is not running. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const offer = isDown(error) && vscode.workspace.isTrusted ? ['Start the Daemon'] : [];
      const chosen = await complain(`bethink: ${words(error)}`, ...offer);
      if (chosen) await attempt(start);
    }
  }
  const command = (name: string, work: (argument?: unknown) => Promise<void>) =>
    vscode.commands.registerCommand(`bethink.${name}`, (argument?: unknown) => attempt(() => work(argument)));

  /** A command of a candidate's row in the view. */
  const decision = (name: string, decide: Decide) =>
    command(name, async (row) => {
      const node = row as Node | undefined;
      if (node?.kind === 'candidate') await decide(client, node.candidate);
    });

  const draw = () => {
    status.draw();
    tree.draw();
    const waiting = board.proposals.length + board.candidates.length;
    view.badge = waiting === 0 ? undefined : { value: waiting, tooltip: `${waiting} to review` };
    void vscode.commands.executeCommand('setContext', 'bethink.state', board.state);
  };

  context.subscriptions.push(
    board, status, view, offerTools(find),
    { dispose: () => events.close() },
    board.onDidChange(draw),
    vscode.workspace.registerFileSystemProvider(SCHEME, files, { isCaseSensitive: true }),
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (document.uri.scheme === SCHEME && document.languageId === 'markdown') void vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => board.all()),
    vscode.window.onDidChangeActiveTextEditor(() => board.follow()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => events.retryNow()),
    command('remember', () => remember(client)),
    command('rememberForAll', () => remember(client, 'person')),
    command('recall', () => recall(client)),
    command('search', () => search(client)),
    command('compact', () => compact(client, board)),
    command('approve', (id) => approve(client, typeof id === 'string' ? id : undefined)),
    command('candidates', (id) => review(client, typeof id === 'string' ? id : undefined)),
    decision('keepCandidate', keep),
    decision('editCandidate', edit),
    decision('dropCandidate', drop),
    command('notes', () => notes(client)),
    command('updateNotes', () => updateNotes(client)),
    command('dashboard', () => dashboard(client)),
    command('start', start),
    command('refresh', async () => {
      events.retryNow();
      board.all();
    }),
  );
  void follow();
}

export function deactivate(): void {}
