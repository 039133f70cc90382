import * as vscode from 'vscode';

import type { Client, MemoryScope, MemoryWritten } from '../client';
import { uriOf } from '../documents';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell } from '../tell';
import { line } from '../text';

const OPEN = 'Open';

/** `person` is the memory of all the person's projects. Otherwise, the daemon chooses the scope. */
export async function remember(client: Client, scope?: MemoryScope & 'person'): Promise<void> {
  needTrust();
  const dir = needFolder();
  const text = await vscode.window.showInputBox({
    title: `Remember for later sessions of ${scope ? 'all your projects' : 'this project'}`,
    value: selected(),
    prompt: `One fact or rule, such as "${scope ? 'Answer in German' : 'Never push on Fridays'}"`,
    validateInput: (value) => (value.trim() === '' ? 'enter what to remember' : undefined),
  });
  if (text === undefined || text.trim() === '') return;
  const written = await routes.remember(client, dir, text, scope);
  const chosen = await tell(remembered(written), OPEN);
  if (chosen === OPEN) {
    await vscode.commands.executeCommand('vscode.open', uriOf(dir, written.scope, written.name));
  }
}

/** Returns what was written, for a notification. */
export function remembered({ name, scope, warnings }: MemoryWritten): string {
  const whose = scope === 'person' ? ' It applies to all your projects.' : '';
  return [`Remembered as ${line(name, 80)}.${whose}`, ...warnings.map((one) => line(one))].join(' ');
}

export function selected(): string {
  const editor = vscode.window.activeTextEditor;
  return editor ? editor.document.getText(editor.selection) : '';
}
