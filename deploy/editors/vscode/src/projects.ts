/** The project directory of a command or a view. */

import { realpathSync } from 'node:fs';

import * as vscode from 'vscode';

/** Returns the folder of the active editor, else the first one. Only folders on disk have a memory. */
export function folder(): string | undefined {
  const open = vscode.window.activeTextEditor?.document.uri;
  const around = open && vscode.workspace.getWorkspaceFolder(open);
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(onDisk);
  const chosen = around && onDisk(around) ? around : folders[0];
  return chosen && real(chosen.uri.fsPath);
}

/** Returns the project directory like `folder`, or fails with an instruction. */
export function needFolder(): string {
  const found = folder();
  if (found === undefined) throw new Error('open a folder first: memories belong to a project');
  return found;
}

export function needTrust(): void {
  if (!vscode.workspace.isTrusted) {
    throw new Error('this workspace is not trusted, so bethink does not change anything');
  }
}

function onDisk(one: vscode.WorkspaceFolder): boolean {
  return one.uri.scheme === 'file';
}

/** Resolves links, because sessions are stored by the real path of their directory. */
function real(dir: string): string {
  try {
    return realpathSync(dir);
  } catch {
    return dir;
  }
}
