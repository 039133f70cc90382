import * as vscode from 'vscode';

import type { Client, SearchHit } from '../client';
import { hitUri } from '../documents';
import { needFolder } from '../projects';
import * as routes from '../routes';
import { tell } from '../tell';
import { label } from '../text';
import { selected } from './remember';

interface Choice extends vscode.QuickPickItem {
  hit: SearchHit;
}

/** Searches everything that was said in the project's sessions, and opens a hit with the messages around it. */
export async function search(client: Client): Promise<void> {
  const dir = needFolder();
  const query = await vscode.window.showInputBox({
    title: 'Search the history of this project',
    value: selected(),
    prompt: 'Words that you or the agent used',
  });
  if (query === undefined || query.trim() === '') return;
  const { hits, complete } = await routes.search(client, dir, query);
  if (hits.length === 0) {
    void tell(complete === false ? 'No hits yet: the history is still being indexed.' : 'No hits.');
    return;
  }
  const chosen = await vscode.window.showQuickPick(hits.map(choice), {
    title: `History that matches “${label(query, 60)}”`,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen) await vscode.commands.executeCommand('vscode.open', hitUri(chosen.hit));
}

function choice(hit: SearchHit): Choice {
  return {
    hit,
    label: label(hit.snippet),
    description: `${hit.role} · ${new Date(hit.created_at).toLocaleString()}`,
    detail: label(hit.title ?? 'Untitled session', 80),
  };
}
