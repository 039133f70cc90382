import * as vscode from 'vscode';

import type { Client } from '../client';
import * as routes from '../routes';

/** Opens the dashboard with a launch token that works once, so that the browser never sees the daemon's token. */
export async function dashboard(client: Client): Promise<void> {
  const url = await routes.launch(client);
  // A `Uri` would encode `#launch=…` as `#launch%3D…`. A string is passed on unchanged.
  await vscode.env.openExternal(url as unknown as vscode.Uri);
}
