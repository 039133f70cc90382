/** The view: proposals and candidates to review, todos and notes of the newest session, and memories. */

import * as vscode from 'vscode';

import type { Board } from './board';
import type { Candidate, Memory, Proposal, Session, Todo } from './client';
import { notesUri, uriOf } from './documents';
import { line } from './text';

export type Node =
  | { kind: 'group'; title: string; children: Node[] }
  | { kind: 'todo'; todo: Todo }
  | { kind: 'notes'; session: Session }
  | { kind: 'memory'; memory: Memory; dir: string }
  | { kind: 'proposal'; proposal: Proposal }
  | { kind: 'candidate'; candidate: Candidate };

const TODO_ICONS = { pending: 'circle-large-outline', in_progress: 'arrow-right', completed: 'check' } as const;

export class Tree implements vscode.TreeDataProvider<Node> {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;

  constructor(private readonly board: Board) {}

  draw(): void {
    this.changes.fire();
  }

  getChildren(node?: Node): Node[] {
    if (node) return node.kind === 'group' ? node.children : [];
    const { dir, state } = this.board;
    // the welcome text of the view says what to do
    if (dir === undefined || state === 'down') return [];
    return this.top(dir).filter((one) => one.kind !== 'group' || one.children.length > 0 || one.title === 'Memories');
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case 'group':
        return groupItem(node.title, node.children.length);
      case 'todo':
        return todoItem(node.todo);
      case 'notes':
        return notesItem(node.session);
      case 'memory':
        return memoryItem(node.memory, node.dir);
      case 'proposal':
        return proposalItem(node.proposal);
      case 'candidate':
        return candidateItem(node.candidate);
    }
  }

  private top(dir: string): Node[] {
    const { session, todos, memories, proposals, candidates } = this.board;
    const of = (scope: string) =>
      memories.filter((one) => one.scope === scope).map((memory): Node => ({ kind: 'memory', memory, dir }));
    return [
      group('Proposals to review', proposals.map((proposal) => ({ kind: 'proposal', proposal }))),
      group('Candidates to review', candidates.map((candidate) => ({ kind: 'candidate', candidate }))),
      group('Todos', todos.map((todo) => ({ kind: 'todo', todo }))),
      ...(session ? [{ kind: 'notes', session } as const] : []),
      group('Memories', of('private')),
      group('Memories for all your projects', of('person')),
      group('Team memories', of('team')),
    ];
  }
}

function group(title: string, children: Node[]): Node {
  return { kind: 'group', title, children };
}

function groupItem(title: string, size: number): vscode.TreeItem {
  const item = new vscode.TreeItem(title, vscode.TreeItemCollapsibleState.Expanded);
  item.id = title;
  item.description = size === 0 ? 'none yet' : String(size);
  return item;
}

function todoItem(todo: Todo): vscode.TreeItem {
  const item = new vscode.TreeItem(line(todo.content));
  item.iconPath = new vscode.ThemeIcon(TODO_ICONS[todo.status] ?? TODO_ICONS.pending);
  item.description = todo.priority === 'high' ? 'high' : '';
  item.tooltip = `${line(todo.content, 1_000)}\n${todo.status.replace('_', ' ')}`;
  return item;
}

function notesItem(session: Session): vscode.TreeItem {
  const item = new vscode.TreeItem('Session notes');
  const title = session.title ?? 'Untitled session';
  item.description = line(title, 80);
  item.iconPath = new vscode.ThemeIcon('notebook');
  item.tooltip = `Notes of ${line(title, 200)}`;
  item.contextValue = 'notes';
  item.command = { command: 'vscode.open', title: 'Open', arguments: [notesUri(session.id)] };
  return item;
}

function memoryItem(memory: Memory, dir: string): vscode.TreeItem {
  const item = new vscode.TreeItem(line(memory.name, 80));
  item.description = line(memory.description ?? '', 120);
  item.iconPath = new vscode.ThemeIcon('note');
  item.tooltip = [line(memory.description ?? memory.name, 1_000), memory.type && line(memory.type), memory.modified]
    .filter(Boolean)
    .join('\n');
  item.contextValue = 'memory';
  item.command = { command: 'vscode.open', title: 'Open', arguments: [uriOf(dir, memory.scope, memory.name)] };
  return item;
}

function proposalItem(proposal: Proposal): vscode.TreeItem {
  const item = new vscode.TreeItem(line(proposal.name, 80));
  item.description = `by ${line(proposal.by, 20)}`;
  item.iconPath = new vscode.ThemeIcon('git-pull-request');
  item.command = { command: 'bethink.approve', title: 'Review', arguments: [proposal.id] };
  return item;
}

function candidateItem(candidate: Candidate): vscode.TreeItem {
  const item = new vscode.TreeItem(line(candidate.sentence, 120));
  item.description = line(candidate.said_at.slice(0, 10), 10);
  item.iconPath = new vscode.ThemeIcon('question');
  item.tooltip = [candidate.context == null ? '' : `after: ${line(candidate.context, 1_000)}`, line(candidate.sentence, 1_000)]
    .filter(Boolean)
    .join('\n');
  item.contextValue = 'candidate';
  item.command = { command: 'bethink.candidates', title: 'Review', arguments: [candidate.id] };
  return item;
}
