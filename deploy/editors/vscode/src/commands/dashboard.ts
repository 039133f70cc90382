import * as vscode from 'vscode';

import type { Daemon } from '../daemon';
import * as routes from '../routes';

/** With a launch token that works once, so that the browser never sees the daemon's own. */
export async function dashboard(daemon: Daemon): Promise<void> {
  const url = await routes.launch(daemon);
  // As text: the editor's Uri would write `#launch%3D…`, while a string is handed on as it is.
  await vscode.env.openExternal(url as unknown as vscode.Uri);
}
