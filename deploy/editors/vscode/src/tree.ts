/** The view: todos of the newest session, memories of the project, and proposals and candidates to review. */

import * as vscode from 'vscode';

import type { Board } from './board';
import { uriOf } from './memory-files';
import type { Candidate, Memory, Proposal, Todo } from './client';
import { line } from './text';

export type Node =
  | { kind: 'group'; title: string; children: Node[] }
  | { kind: 'todo'; todo: Todo }
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
    return this.groups(dir).filter((group) => group.children.length > 0 || group.title === 'Memories');
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case 'group':
        return groupItem(node.title, node.children.length);
      case 'todo':
        return todoItem(node.todo);
      case 'memory':
        return memoryItem(node.memory, node.dir);
      case 'proposal':
        return proposalItem(node.proposal);
      case 'candidate':
        return candidateItem(node.candidate);
    }
  }

  private groups(dir: string): Group[] {
    const { todos, memories, proposals, candidates } = this.board;
    const of = (scope: string) =>
      memories.filter((one) => one.scope === scope).map((memory): Node => ({ kind: 'memory', memory, dir }));
    return [
      group('Proposals to review', proposals.map((proposal) => ({ kind: 'proposal', proposal }))),
      group('Candidates to review', candidates.map((candidate) => ({ kind: 'candidate', candidate }))),
      group('Todos', todos.map((todo) => ({ kind: 'todo', todo }))),
      group('Memories', of('private')),
      group('Team memories', of('team')),
    ];
  }
}

type Group = Extract<Node, { kind: 'group' }>;

function group(title: string, children: Node[]): Group {
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
  item.command = { command: 'bethink.candidates', title: 'Review', arguments: [candidate.id] };
  return item;
}
