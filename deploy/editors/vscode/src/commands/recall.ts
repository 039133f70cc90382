import * as vscode from 'vscode';

import type { Client, RecalledMemory } from '../client';
import { uriOf } from '../documents';
import { needFolder } from '../projects';
import * as routes from '../routes';
import { tell } from '../tell';
import { label } from '../text';
import { selected } from './remember';

/** Maximum number of matched words to show. */
const TERMS = 6;

const OPEN = 'Open the memory';
const INSERT = 'Insert its text at the cursor';

/** Whose memory it is, unless it is that of this project. */
const WHOSE: Readonly<Record<string, string>> = { person: 'all your projects', team: 'team' };

interface Choice extends vscode.QuickPickItem {
  memory: RecalledMemory;
}

export async function recall(client: Client): Promise<void> {
  const dir = needFolder();
  const query = await vscode.window.showInputBox({
    title: 'Recall memories of this project',
    value: selected(),
    prompt: 'A question or a task',
  });
  if (query === undefined || query.trim() === '') return;
  const memories = await routes.recall(client, dir, query);
  if (memories.length === 0) {
    void tell('No matching memories.');
    return;
  }
  const chosen = await vscode.window.showQuickPick(memories.map(choice), {
    title: `Memories that match “${label(query, 60)}”`,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen) await use(dir, chosen.memory);
}

function choice(memory: RecalledMemory): Choice {
  return {
    memory,
    label: label(memory.name, 80),
    description: [memory.certainty === 'perhaps' && 'perhaps', WHOSE[memory.scope], memory.type && label(memory.type, 20), label(memory.age, 40)]
      .filter(Boolean)
      .join(' · '),
    detail: [label(memory.description ?? memory.content), why(memory)].filter(Boolean).join('  —  '),
  };
}

/** Why the daemon chose this memory. */
function why({ why: { by, terms } }: RecalledMemory): string {
  const words = terms.slice(0, TERMS).map(({ term, fields }) => `${label(term, 40)} (${fields.join(', ')})`);
  return by === 'model' ? ['chosen by the model', ...words].join('; ') : words.join('; ');
}

async function use(dir: string, memory: RecalledMemory): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const chosen = editor ? await vscode.window.showQuickPick([OPEN, INSERT]) : OPEN;
  if (chosen === OPEN) {
    await vscode.commands.executeCommand('vscode.open', uriOf(dir, memory.scope, memory.name));
  }
  if (chosen === INSERT && editor) {
    await editor.edit((edit) => edit.replace(editor.selection, memory.content));
  }
}
