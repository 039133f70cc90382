import * as vscode from 'vscode';

import { ApiError, type Client, type Proposal } from '../client';
import { LANGUAGE } from '../documents';
import { words } from '../failure';
import { needFolder, needTrust } from '../projects';
import * as routes from '../routes';
import { tell, warn } from '../tell';
import { label, line } from '../text';

const APPROVE = 'Approve';
const REJECT = 'Reject';
const REPLACE = 'Approve Anyway';

interface Choice extends vscode.QuickPickItem {
  proposal: Proposal;
}

/** Shows what a proposal would change before a person approves it. `id` names the proposal. */
export async function approve(client: Client, id?: string): Promise<void> {
  needTrust();
  const waiting = await routes.proposals(client, needFolder());
  if (waiting.length === 0) {
    void tell('There are no proposals to review.');
    return;
  }
  const proposal = waiting.find((one) => one.id === id) ?? (await pick(waiting));
  if (!proposal) return;
  await show(proposal);
  const told = `${line(proposal.by, 20)} proposes to share “${line(proposal.name, 80)}” with the team.`;
  const verdict = await tell(told, APPROVE, REJECT);
  if (verdict === APPROVE) await accept(client, proposal);
  if (verdict === REJECT) {
    await routes.reject(client, proposal.id);
    void tell(`Rejected: ${line(proposal.name, 80)} will not be proposed again.`);
  }
}

async function pick(waiting: Proposal[]): Promise<Proposal | undefined> {
  const choices = waiting.map((proposal): Choice => ({
    proposal,
    label: label(proposal.name, 80),
    description: `by ${label(proposal.by, 20)} · ${proposal.replaces == null ? 'new' : 'changes a topic'}`,
    detail: label(proposal.text),
  }));
  const chosen = await vscode.window.showQuickPick(choices, { title: 'Proposals for the team memory' });
  return chosen?.proposal;
}

async function show(proposal: Proposal): Promise<void> {
  const language = LANGUAGE;
  const [before, after] = await Promise.all([
    vscode.workspace.openTextDocument({ language, content: proposal.replaces ?? '' }),
    vscode.workspace.openTextDocument({ language, content: proposal.text }),
  ]);
  const title = `${line(proposal.name, 80)}: now ↔ proposed`;
  await vscode.commands.executeCommand('vscode.diff', before.uri, after.uri, title, { preview: true });
}

async function accept(client: Client, proposal: Proposal): Promise<void> {
  let warnings: string[];
  try {
    warnings = await routes.approve(client, proposal.id);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    if ((await warn(words(error), REPLACE)) !== REPLACE) return;
    warnings = await routes.approve(client, proposal.id, true);
  }
  const told = [`Approved: ${line(proposal.name, 80)} was added to the team's memory.`, ...warnings.map((one) => line(one))];
  void tell(told.join(' '));
}
