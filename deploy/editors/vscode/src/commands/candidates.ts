import * as vscode from 'vscode';

import type { Candidate, Client } from '../client';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell } from '../tell';
import { label, line } from '../text';
import { remembered } from './remember';

/** Decides about a candidate. Returns whether a decision was made. */
export type Decide = (client: Client, candidate: Candidate) => Promise<boolean>;

interface Action {
  name: string;
  icon: string;
  decide: Decide;
}

const ACTIONS: readonly Action[] = [
  { name: 'Keep', icon: 'check', decide: keep },
  { name: 'Edit and Keep…', icon: 'edit', decide: edit },
  { name: 'Drop', icon: 'trash', decide: drop },
];

interface Choice extends vscode.QuickPickItem {
  candidate: Candidate;
  buttons: vscode.QuickInputButton[];
}

/** Shows the candidates that wait, or only the one with this ID, and keeps or drops them. */
export async function review(client: Client, id?: string): Promise<void> {
  needTrust();
  let waiting = await routes.candidates(client, needFolder());
  if (waiting.length === 0) {
    void tell('There are no candidates to review.');
    return;
  }
  const named = waiting.find((one) => one.id === id);
  if (named) return void (await ask(client, named));
  while (waiting.length > 0) {
    const picked = await pick(waiting);
    if (!picked) return;
    const { candidate, decide } = picked;
    if (!(await decide(client, candidate))) continue;
    waiting = waiting.filter((one) => one !== candidate);
  }
}

async function ask(client: Client, candidate: Candidate): Promise<boolean> {
  const verdict = await tell(`Remember “${line(candidate.sentence, 400)}”?`, ...ACTIONS.map((one) => one.name));
  return (await ACTIONS.find((one) => one.name === verdict)?.decide(client, candidate)) ?? false;
}

/** Returns a candidate with the action of the button that was pressed. */
function pick(waiting: Candidate[]): Promise<{ candidate: Candidate; decide: Decide } | undefined> {
  const picker = vscode.window.createQuickPick<Choice>();
  picker.title = `Candidates for memory (${waiting.length})`;
  picker.placeholder = 'Press a button to keep, edit or drop a statement; Enter shows the whole statement';
  picker.matchOnDetail = true;
  picker.items = waiting.map(choice);
  return new Promise((resolve) => {
    picker.onDidTriggerItemButton(({ item, button }) => {
      const action = ACTIONS[item.buttons.indexOf(button)];
      resolve(action && { candidate: item.candidate, decide: action.decide });
      picker.hide();
    });
    picker.onDidAccept(() => {
      const item = picker.selectedItems[0];
      resolve(item && { candidate: item.candidate, decide: ask });
      picker.hide();
    });
    picker.onDidHide(() => {
      resolve(undefined);
      picker.dispose();
    });
    picker.show();
  });
}

function choice(candidate: Candidate): Choice {
  return {
    candidate,
    label: label(candidate.sentence),
    description: `${label(candidate.type, 20)} · ${label(candidate.said_at.slice(0, 10), 10)}`,
    detail: candidate.context == null ? '' : `after: ${label(candidate.context)}`,
    buttons: ACTIONS.map(({ name, icon }) => ({ iconPath: new vscode.ThemeIcon(icon), tooltip: name })),
  };
}

export async function edit(client: Client, candidate: Candidate): Promise<boolean> {
  needTrust();
  const text = await vscode.window.showInputBox({
    title: 'Edit the memory',
    value: line(candidate.sentence, 2_000),
    prompt: 'The memory quotes the original words as well',
    validateInput: (value) => (value.trim() === '' ? 'enter what to remember' : undefined),
  });
  if (text === undefined || text.trim() === '') return false;
  return keep(client, candidate, text);
}

export async function keep(client: Client, candidate: Candidate, text?: string): Promise<boolean> {
  needTrust();
  void tell(remembered(await routes.keepCandidate(client, candidate.id, text)));
  return true;
}

export async function drop(client: Client, candidate: Candidate): Promise<boolean> {
  needTrust();
  await routes.dropCandidate(client, candidate.id);
  void tell('Dropped: it will not be offered again, in any wording.');
  return true;
}
