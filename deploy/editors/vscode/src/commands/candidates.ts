import * as vscode from 'vscode';

import type { Candidate, Client } from '../client';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell } from '../tell';
import { label, line } from '../text';

const KEEP = 'Keep';
const EDIT = 'Edit and Keep…';
const DROP = 'Drop';

interface Choice extends vscode.QuickPickItem {
  candidate: Candidate;
}

/** Shows a statement that bethink is not sure of, and keeps or drops it. `id` names the candidate. */
export async function review(client: Client, id?: string): Promise<void> {
  needTrust();
  const waiting = await routes.candidates(client, needFolder());
  if (waiting.length === 0) {
    void tell('There are no candidates to review.');
    return;
  }
  const candidate = waiting.find((one) => one.id === id) ?? (await pick(waiting));
  if (!candidate) return;
  const verdict = await tell(`Remember “${line(candidate.sentence, 400)}”?`, KEEP, EDIT, DROP);
  if (verdict === KEEP) await keep(client, candidate);
  if (verdict === EDIT) await edit(client, candidate);
  if (verdict === DROP) {
    await routes.dropCandidate(client, candidate.id);
    void tell('Dropped: it will not be offered again, in any wording.');
  }
}

async function pick(waiting: Candidate[]): Promise<Candidate | undefined> {
  const choices = waiting.map((candidate): Choice => ({
    candidate,
    label: label(candidate.sentence),
    description: `${label(candidate.type, 20)} · ${label(candidate.said_at.slice(0, 10), 10)}`,
    detail: candidate.context == null ? '' : `after: ${label(candidate.context)}`,
  }));
  const chosen = await vscode.window.showQuickPick(choices, { title: 'Candidates for memory', matchOnDetail: true });
  return chosen?.candidate;
}

async function edit(client: Client, candidate: Candidate): Promise<void> {
  const text = await vscode.window.showInputBox({
    title: 'Edit the memory',
    value: line(candidate.sentence, 2_000),
    prompt: 'The memory quotes the original words as well',
    validateInput: (value) => (value.trim() === '' ? 'enter what to remember' : undefined),
  });
  if (text === undefined || text.trim() === '') return;
  await keep(client, candidate, text);
}

async function keep(client: Client, candidate: Candidate, text?: string): Promise<void> {
  const written = await routes.keepCandidate(client, candidate.id, text);
  void tell([`Remembered as ${line(written.name, 80)}.`, ...written.warnings.map((one) => line(one))].join(' '));
}
