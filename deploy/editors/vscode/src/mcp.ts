/** Offers bethink's tools (recall, remember, search, todos) to VS Code's own agent. */

import * as vscode from 'vscode';

import type { DaemonAddress } from './client';
import { program } from './starter';

export function offerTools(find: () => Promise<DaemonAddress>): vscode.Disposable {
  return vscode.lm.registerMcpServerDefinitionProvider('bethink', {
    onDidChangeMcpServerDefinitions: vscode.workspace.onDidGrantWorkspaceTrust,
    async provideMcpServerDefinitions() {
      // An agent's tools start the daemon, which an untrusted folder must not do.
      if (!vscode.workspace.isTrusted) return [];
      const { home } = await find();
      const server = new vscode.McpStdioServerDefinition('bethink', program(), ['mcp'], { BETHINK_HOME: home });
      const folder = vscode.workspace.workspaceFolders?.[0];
      if (folder?.uri.scheme === 'file') server.cwd = folder.uri;
      return [server];
    },
  });
}
