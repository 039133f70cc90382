import * as vscode from 'vscode';

import type { Client } from '../client';
import { notesUri } from '../documents';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell, working } from '../tell';
import { line } from '../text';

const UPDATE = 'Update Them';

export async function notes(client: Client): Promise<void> {
  const { id } = await routes.needSession(client, needFolder());
  await vscode.commands.executeCommand('vscode.open', notesUri(id));
  const { headers } = await routes.readNotes(client, id);
  if (headers.get('bethink-notes-through') !== '0') return;
  if ((await tell('These notes do not cover any message yet.', UPDATE)) === UPDATE) await updateNotes(client);
}

/** Writes the newest messages to the notes now. An open document is read again after the event. */
export async function updateNotes(client: Client): Promise<void> {
  needTrust();
  const session = await routes.needSession(client, needFolder());
  const title = `Updating the notes of “${line(session.title ?? session.id, 60)}”`;
  const done = await working(title, (stop) =>
    routes.updateNotes(client, session.id, stop).then(
      () => true,
      (error: unknown) => {
        if (stop.aborted) return false;
        throw error;
      },
    ),
  );
  if (done) void tell('The notes are up to date.');
}
