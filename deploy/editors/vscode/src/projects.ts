/** Which directory a command or a view is about. */

import { realpathSync } from 'node:fs';

import * as vscode from 'vscode';

/** The folder of the active editor, else the first one; only folders on disk have a memory. */
export function folder(): string | undefined {
  const open = vscode.window.activeTextEditor?.document.uri;
  const around = open && vscode.workspace.getWorkspaceFolder(open);
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(onDisk);
  const chosen = around && onDisk(around) ? around : folders[0];
  return chosen && real(chosen.uri.fsPath);
}

/** The same, or a sentence that says what to do. */
export function needFolder(): string {
  const found = folder();
  if (found === undefined) throw new Error('open a folder first: memory belongs to a project');
  return found;
}

export function needTrust(): void {
  if (!vscode.workspace.isTrusted) {
    throw new Error('this workspace is not trusted, so nothing is changed from here');
  }
}

function onDisk(one: vscode.WorkspaceFolder): boolean {
  return one.uri.scheme === 'file';
}

/** Sessions are kept by the directory itself, not by a link to it. */
function real(dir: string): string {
  try {
    return realpathSync(dir);
  } catch {
    return dir;
  }
}
