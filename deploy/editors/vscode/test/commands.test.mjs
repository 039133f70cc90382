// The commands that a person runs.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { Machine, until } from './kit.mjs';

const machine = new Machine();
before(() => machine.up());
after(() => machine.gone());

test('every command of the manifest is there, and no other', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const editor = machine.open();
  const promised = manifest.contributes.commands.map((one) => one.command).sort();
  assert.deepEqual([...editor.commands.keys()].sort(), promised);
  assert.equal(manifest.dependencies, undefined);
  editor.close();
});

test('remember, then recall with the reason, and insert', async () => {
  const answers = {
    'Remember for later': 'Never deploy the tide table on Fridays',
    'Recall memories': 'may I deploy the tide table today?',
    'Memories that match': 0,
    pick: 'Insert its text at the cursor',
  };
  const editor = machine.open({ answers });
  await editor.run('remember');
  assert.match(editor.seen.messages[0].text, /^Remembered as never-deploy/);
  const edits = [];
  editor.vscode.window.activeTextEditor = {
    document: { uri: editor.vscode.Uri.file('/x'), getText: () => 'selected words' },
    selection: 'the selection',
    edit: async (make) => make({ replace: (where, text) => edits.push([where, text]) }),
  };
  await editor.run('recall');
  assert.equal(editor.seen.inputs.at(-1).value, 'selected words');
  const [choice] = editor.seen.picks[0].items;
  assert.match(choice.label, /^never-deploy/);
  assert.match(choice.description, /feedback · /, 'its type and age');
  assert.match(choice.detail, /deploy\w* \(.*(body|name|description).*\)/, 'the words it was chosen by');
  assert.deepEqual(edits.map(([where]) => where), ['the selection']);
  assert.match(edits[0][1], /Never deploy the tide table on Fridays/);
  answers['Recall memories'] = 'zebra quantum chromodynamics';
  await editor.run('recall');
  assert.match(editor.seen.messages.at(-1).text, /No matching memories/);
  editor.close();
});

test('a search shows what was said, with the messages around it', async () => {
  const session = await machine.session();
  await machine.say(session, 'Where is the lighthouse script?', 'In tools/lighthouse.sh.', 'Run it with ```--fast```', 'Done.');
  const answers = { 'Search the history': 'lighthouse script', 'History that matches': 0 };
  const editor = machine.open({ answers });
  await until('the hit', async () => {
    await editor.run('search');
    return editor.seen.documents.length > 0;
  });
  const [item] = editor.seen.picks[0].items;
  assert.match(item.label, /lighthouse/);
  assert.match(item.description, /user|assistant/);
  const document = editor.seen.documents[0];
  assert.match(document, /^# the tide job/);
  assert.match(document, /## 1 · user ← found\n\nWhere is the lighthouse script\?/);
  assert.match(document, /In tools\/lighthouse\.sh\./, 'and the answer');
  answers['Search the history'] = 'zebra quantum chromodynamics';
  await editor.run('search');
  assert.match(editor.seen.messages.at(-1).text, /No hits/);
  editor.close();
});

test('the agent of the editor gets the tools, but not in an untrusted folder', async () => {
  const servers = async (options) => {
    const editor = machine.open(options);
    const [{ id, provider }] = editor.seen.tools;
    assert.equal(id, 'bethink');
    const found = await provider.provideMcpServerDefinitions();
    editor.close();
    return found;
  };
  const [server] = await servers({});
  assert.deepEqual([server.command, server.args], [machine.program, ['mcp']]);
  assert.equal(server.env.BETHINK_HOME, machine.home);
  assert.equal(server.cwd.fsPath, machine.project);
  assert.deepEqual(await servers({ trusted: false }), []);
});

test('nothing is remembered where the person says nothing', async () => {
  const editor = machine.open({ answers: { 'Remember for later': '   ' } });
  const memories = async () => (await machine.ask('GET', machine.of('/v1/memories'))).memories.length;
  const before = await memories();
  await editor.run('remember');
  assert.equal(await memories(), before);
  assert.deepEqual(editor.seen.messages, []);
  editor.close();
});

test('compact says what became of the window, and a refusal says why', async () => {
  const session = await machine.session(60_000, 'small');
  const editor = machine.open({ answers: { 'Compact “': 'keep the tides' } });
  await editor.run('compact');
  assert.equal(editor.seen.messages.at(-1).kind, 'error', 'nothing to compact');
  const round = (at) => `${at}: ${'the tide comes in at the pier, file src/tide.rs '.repeat(30)}`;
  await machine.say(session, ...Array.from({ length: 80 }, (_, at) => round(at)));
  await editor.run('compact');
  const told = /^[\d.]+k → [\d.]+k? tokens, \d+% of the names in use are kept\./;
  assert.match(editor.seen.messages.at(-1).text, told);
  assert.equal((await machine.ask('GET', `/v1/sessions/${session}/compactions`)).compactions.length, 1);
  editor.close();
});

test('a proposal is shown as a difference, then approved or rejected', async () => {
  const team = `${machine.root}/team`;
  mkdirSync(team);
  machine.cli('team', 'init', '--dir', team);
  const propose = (name, text) => machine.ask('POST', '/v1/proposals', { project_dir: machine.project, name, text });
  const waiting = async () => (await machine.ask('GET', machine.of('/v1/proposals'))).proposals.length;
  await propose('berths', 'Berth one is for the ferry.\n');
  const answers = { 'Proposals for the team': 0, 'proposes to share': 'Approve' };
  const editor = machine.open({ answers });
  await until('the row', () => editor.rows().some(({ node }) => node.kind === 'proposal'));
  assert.equal(editor.seen.tree.badge.value, 1);
  await editor.run('approve');
  assert.equal(editor.seen.diffs[0][0], '');
  assert.match(editor.seen.diffs[0][1], /ferry/);
  assert.match(editor.seen.messages.at(-1).text, /^Approved: berths/);
  await until('it among the memories', () => editor.rows().some(({ node }) => node.memory?.scope === 'team'));
  const { proposal } = await propose('lamps', 'Lamps are green.\n');
  delete answers['proposes to share'];
  await editor.run('approve', proposal.id);
  assert.equal(await waiting(), 1, 'who only looked has decided nothing');
  answers['proposes to share'] = 'Reject';
  await editor.run('approve', proposal.id);
  assert.equal(await waiting(), 0);
  await until('no badge', () => editor.seen.tree.badge === undefined);
  await editor.run('approve');
  assert.match(editor.seen.messages.at(-1).text, /no proposals to review/);
  editor.close();
});

test('a candidate is kept, edited and kept, or dropped', async () => {
  const waiting = async () => (await machine.ask('GET', machine.of('/v1/candidates'))).candidates;
  // What other tests said does not count.
  for (const { id } of await waiting()) await machine.ask('POST', `/v1/candidates/${id}/drop`, {});
  const session = await machine.session();
  const wishes = [
    'Ideally the retry limit is configurable, because some servers are slow.',
    'Ideally the log level is configurable, because logs are noisy.',
    'Ideally the parser tests stay quick.',
  ];
  for (const wish of wishes) await machine.say(session, wish, 'Good.');
  await machine.ask('POST', `/v1/sessions/${session}/extract`, {});
  const answers = { 'Candidates for memory': 0, 'retry limit': 'Keep', 'log level': 'Edit and Keep…', 'Edit the memory': 'The log level is a setting' };
  const editor = machine.open({ answers });
  await until('the badge', () => editor.seen.tree.badge?.value === 3);
  assert.equal(editor.rows().filter(({ node }) => node.kind === 'candidate').length, 3);
  const idOf = (what) => editor.rows().find(({ node }) => node.candidate?.sentence.includes(what)).node.candidate.id;
  const [retry, level] = [idOf('retry'), idOf('log')];
  await editor.run('candidates');
  assert.equal((await waiting()).length, 3, 'a person who only looked has decided nothing');
  assert.equal(editor.seen.picks.at(-1).items.length, 3);
  await editor.run('candidates', retry);
  assert.match(editor.seen.messages.at(-1).text, /^Remembered as .*retry/);
  await editor.run('candidates', level);
  const { name } = await until('the memory', () => editor.rows().map(({ node }) => node.memory).find((one) => one?.name.includes('log-level')));
  const text = await machine.ask('GET', machine.of(`/v1/memories/private/${name}`));
  assert.match(text, /The log level is a setting[^]*> Ideally the log level is configurable/);
  answers['parser tests'] = 'Drop';
  await editor.run('candidates');
  assert.match(editor.seen.messages.at(-1).text, /not be offered again/);
  await until('no rows', () => editor.rows().every(({ node }) => node.kind !== 'candidate'));
  await editor.run('candidates');
  assert.match(editor.seen.messages.at(-1).text, /no candidates to review/);
  editor.close();
});

test('the dashboard opens by a launch address, untouched by the editor', async () => {
  const editor = machine.open();
  await editor.run('dashboard');
  const [url] = editor.seen.external;
  assert.match(String(url), /^http:\/\/127\.0\.0\.1:\d+\/#launch=[\w-]+$/);
  const token = readFileSync(`${machine.home}/token`, 'utf8').trim();
  assert.equal(String(url).includes(token), false);
  editor.close();
});
