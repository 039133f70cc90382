import * as vscode from 'vscode';

import type { Daemon } from '../daemon';
import { Refused } from '../failure';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import type { Proposal } from '../shapes';
import { tell, warn } from '../tell';
import { label, line } from '../text';

const APPROVE = 'Approve';
const REJECT = 'Reject';
const REPLACE = 'Approve All the Same';

interface Choice extends vscode.QuickPickItem {
  proposal: Proposal;
}

/** A person sees what would change before it is shared with everybody; `id` names one of them. */
export async function approve(daemon: Daemon, id?: string): Promise<void> {
  needTrust();
  const waiting = await routes.proposals(daemon, needFolder());
  if (waiting.length === 0) {
    void tell('Nothing waits for approval.');
    return;
  }
  const proposal = waiting.find((one) => one.id === id) ?? (await pick(waiting));
  if (!proposal) return;
  await show(proposal);
  const told = `${line(proposal.by, 20)} proposes to share “${line(proposal.name, 80)}” with the team.`;
  const verdict = await tell(told, APPROVE, REJECT);
  if (verdict === APPROVE) await letIn(daemon, proposal);
  if (verdict === REJECT) {
    await routes.decide(daemon, proposal.id, 'reject');
    void tell(`Rejected: ${line(proposal.name, 80)} will not be proposed again.`);
  }
}

async function pick(waiting: Proposal[]): Promise<Proposal | undefined> {
  const choices = waiting.map((proposal): Choice => ({
    proposal,
    label: label(proposal.name, 80),
    description: `by ${label(proposal.by, 20)} · ${proposal.replaces === undefined ? 'new' : 'changes a topic'}`,
    detail: label(proposal.text),
  }));
  const chosen = await vscode.window.showQuickPick(choices, { title: 'What agents want to share with the team' });
  return chosen?.proposal;
}

async function show(proposal: Proposal): Promise<void> {
  const language = 'markdown';
  const [before, after] = await Promise.all([
    vscode.workspace.openTextDocument({ language, content: proposal.replaces ?? '' }),
    vscode.workspace.openTextDocument({ language, content: proposal.text }),
  ]);
  const title = `${line(proposal.name, 80)}: now ↔ proposed`;
  await vscode.commands.executeCommand('vscode.diff', before.uri, after.uri, title, { preview: true });
}

async function letIn(daemon: Daemon, proposal: Proposal): Promise<void> {
  let warnings: string[] | undefined;
  try {
    ({ warnings } = await routes.decide(daemon, proposal.id, 'approve'));
  } catch (error) {
    if (!(error instanceof Refused && error.problem.status === 409)) throw error;
    if ((await warn(error.message, REPLACE)) !== REPLACE) return;
    ({ warnings } = await routes.decide(daemon, proposal.id, 'approve', true));
  }
  const told = [`Approved: ${line(proposal.name, 80)} was added to the team's memory.`, ...(warnings ?? []).map((one) => line(one))];
  void tell(told.join(' '));
}
