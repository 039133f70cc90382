import * as vscode from 'vscode';

import type { Board } from '../board';
import type { Daemon } from '../daemon';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell, working } from '../tell';
import { line, tokens } from '../text';

export async function compact(daemon: Daemon, board: Board): Promise<void> {
  needTrust();
  const session = await routes.newestSession(daemon, needFolder());
  if (!session) throw new Error('there is no session in this folder yet');
  const title = line(session.title ?? session.id, 60);
  const instructions = await vscode.window.showInputBox({
    title: `Compact “${title}”`,
    prompt: 'What the summary should look at above all; empty for the usual. It can be undone.',
  });
  if (instructions === undefined) return;
  const done = await working(`Compacting “${title}”`, (stop) =>
    routes.compact(daemon, session.id, instructions.trim(), stop).catch((error: unknown) => {
      if (stop.aborted) return undefined;
      throw error;
    }),
  );
  if (!done) return;
  board.all();
  const told = [
    `${tokens(done.tokens_before)} → ${tokens(done.tokens_after)} tokens,`,
    `${Math.round(100 * done.fidelity)}% of what will be needed is kept.`,
    done.warning ? line(done.warning) : '',
  ];
  void tell(told.join(' ').trim());
}
