import * as vscode from 'vscode';

import type { Daemon } from '../daemon';
import { uriOf } from '../memory-files';
import { needFolder } from '../projects';
import * as routes from '../routes';
import type { Recalled } from '../shapes';
import { tell } from '../tell';
import { label } from '../text';
import { selected } from './remember';

/** Words of the question that are shown as the reason. */
const TERMS = 6;

const OPEN = 'Open the memory';
const INSERT = 'Insert its text at the cursor';

interface Choice extends vscode.QuickPickItem {
  memory: Recalled;
}

export async function recall(daemon: Daemon): Promise<void> {
  const dir = needFolder();
  const query = await vscode.window.showInputBox({
    title: 'Ask what the project remembers',
    value: selected(),
    prompt: 'A question, or what you are about to do.',
  });
  if (query === undefined || query.trim() === '') return;
  const memories = await routes.recall(daemon, dir, query);
  if (memories.length === 0) {
    void tell('Nothing that is remembered fits that.');
    return;
  }
  const chosen = await vscode.window.showQuickPick(memories.map(choice), {
    title: `What fits “${label(query, 60)}”`,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen) await use(dir, chosen.memory);
}

function choice(memory: Recalled): Choice {
  return {
    memory,
    label: label(memory.name, 80),
    description: [memory.type && label(memory.type, 20), label(memory.age, 40)].filter(Boolean).join(' · '),
    detail: [label(memory.description ?? memory.content), why(memory)].filter(Boolean).join('  —  '),
  };
}

/** What it was chosen by, as the daemon tells it. */
function why({ why: { by, terms } }: Recalled): string {
  const words = terms.slice(0, TERMS).map(({ term, fields }) => `${label(term, 40)} (${fields.join(', ')})`);
  return by === 'model' ? ['chosen by the model', ...words].join('; ') : words.join('; ');
}

async function use(dir: string, memory: Recalled): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const chosen = editor ? await vscode.window.showQuickPick([OPEN, INSERT]) : OPEN;
  if (chosen === OPEN) {
    await vscode.commands.executeCommand('vscode.open', uriOf(dir, memory.scope, memory.name));
  }
  if (chosen === INSERT && editor) {
    await editor.edit((edit) => edit.replace(editor.selection, memory.content));
  }
}
