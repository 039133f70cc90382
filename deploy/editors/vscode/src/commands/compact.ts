import * as vscode from 'vscode';

import type { Board } from '../board';
import type { Client } from '../client';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell, working } from '../tell';
import { line, tokens } from '../text';

export async function compact(client: Client, board: Board): Promise<void> {
  needTrust();
  const session = await routes.needSession(client, needFolder());
  const title = line(session.title ?? session.id, 60);
  const instructions = await vscode.window.showInputBox({
    title: `Compact “${title}”`,
    prompt: 'What the summary should focus on (optional). You can undo the compaction.',
  });
  if (instructions === undefined) return;
  const done = await working(`Compacting “${title}”`, (stop) =>
    routes.compact(client, session.id, instructions.trim(), stop).catch((error: unknown) => {
      if (stop.aborted) return undefined;
      throw error;
    }),
  );
  if (!done) return;
  board.all();
  const told = [
    `${tokens(done.tokens_before)} → ${tokens(done.tokens_after)} tokens,`,
    `${Math.round(100 * done.fidelity)}% of the names in use are kept.`,
    done.warning ? line(done.warning) : '',
  ];
  void tell(told.join(' ').trim());
}
