import * as vscode from 'vscode';

import type { Client } from '../client';
import { uriOf } from '../memory-files';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell } from '../tell';
import { line } from '../text';

const OPEN = 'Open';

export async function remember(client: Client): Promise<void> {
  needTrust();
  const dir = needFolder();
  const text = await vscode.window.showInputBox({
    title: 'Remember for later sessions of this project',
    value: selected(),
    prompt: 'One fact or rule, such as "Never push on Fridays"',
    validateInput: (value) => (value.trim() === '' ? 'enter what to remember' : undefined),
  });
  if (text === undefined || text.trim() === '') return;
  const written = await routes.remember(client, dir, text);
  const told = [`Remembered as ${line(written.name, 80)}.`, ...written.warnings.map((one) => line(one))].join(' ');
  const chosen = await tell(told, OPEN);
  if (chosen === OPEN) {
    await vscode.commands.executeCommand('vscode.open', uriOf(dir, written.scope, written.name));
  }
}

export function selected(): string {
  const editor = vscode.window.activeTextEditor;
  return editor ? editor.document.getText(editor.selection) : '';
}
