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
  const buttons = manifest.contributes.menus['view/item/context'].map(({ command, when }) => [command, when.split('viewItem == ')[1]]);
  assert.deepEqual(buttons, [
    ['bethink.keepCandidate', 'candidate'], ['bethink.editCandidate', 'candidate'], ['bethink.dropCandidate', 'candidate'],
    ['bethink.updateNotes', 'notes'],
  ]);
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
  const uri = editor.vscode.Uri.parse(editor.seen.opened[0]);
  assert.match(uri.path, /\/message 1\.md$/);
  const files = editor.providers.get('bethink');
  assert.equal((await files.stat(uri)).permissions, editor.vscode.FilePermission.Readonly, 'the history is only read');
  await assert.rejects(files.writeFile(uri, Buffer.from('x')), /not permitted: the history cannot be changed/);
  assert.match(document, /^# the tide job/);
  assert.match(document, /## 1 · user ← found\n\nWhere is the lighthouse script\?/);
  assert.match(document, /In tools\/lighthouse\.sh\./, 'and the answer');
  answers['Search the history'] = 'zebra quantum chromodynamics';
  await editor.run('search');
  assert.match(editor.seen.messages.at(-1).text, /No hits/);
  editor.close();
});

test('a memory of all projects is written, shown, and named as such', async () => {
  const answers = { 'all your projects': 'Tables of tides are always printed in metres', 'Recall memories': 'tables of tides in metres' };
  const editor = machine.open({ answers });
  await editor.run('rememberForAll');
  assert.match(editor.seen.messages[0].text, /^Remembered as tables-of-tides.*\. It applies to all your projects\.$/);
  const { memories } = await machine.ask('GET', machine.of('/v1/memories'));
  assert.equal(memories.find((one) => one.name.startsWith('tables-of-tides')).scope, 'person');
  await until('its group', () => editor.rows().some(({ item }) => item.label === 'Memories for all your projects'));
  const row = editor.rows().find(({ node }) => node.memory?.scope === 'person');
  assert.match(Buffer.from(await editor.providers.get('bethink').readFile(row.item.command.arguments[0])).toString(), /metres/);
  await editor.run('recall');
  assert.match(editor.seen.picks[0].items.find((one) => one.label.startsWith('tables-of')).description, /^all your projects · /);
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

const WISHES = [
  'Ideally the retry limit is configurable, because some servers are slow.',
  'Ideally the log level is configurable, because logs are noisy.',
  'Ideally the parser tests stay quick.',
];

const waiting = async () => (await machine.ask('GET', machine.of('/v1/candidates'))).candidates;

/** Candidates that wait for a decision, and no others. */
async function wish(...wishes) {
  for (const { id } of await waiting()) await machine.ask('POST', `/v1/candidates/${id}/drop`, {});
  const session = await machine.session();
  for (const one of wishes) await machine.say(session, one, 'Good.');
  await machine.ask('POST', `/v1/sessions/${session}/extract`, {});
}

test('a candidate is kept, edited and kept, or dropped', async () => {
  await wish(...WISHES);
  const answers = { 'retry limit': 'Keep', 'log level': 'Edit and Keep…', 'Edit the memory': 'The log level is a setting' };
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
  Object.assign(answers, { 'Candidates for memory': 0, 'parser tests': 'Drop' });
  await editor.run('candidates');
  assert.match(editor.seen.messages.at(-1).text, /not be offered again/);
  await until('no rows', () => editor.rows().every(({ node }) => node.kind !== 'candidate'));
  await editor.run('candidates');
  assert.match(editor.seen.messages.at(-1).text, /no candidates to review/);
  editor.close();
});

test('buttons decide about one candidate after the other, in the list and in the view', async () => {
  const wishes = ['Ideally the harbour map is drawn at night.', 'Ideally the ferry plan is read from a file.', 'Ideally the buoy list stays short.'];
  await wish(...wishes);
  const answers = {
    'Candidates for memory (3)': { row: 0, button: 'Drop' },
    'Candidates for memory (2)': { row: 0, button: 'Edit and Keep…' },
    'Edit the memory': 'The ferry plan is a file',
  };
  const editor = machine.open({ answers });
  await until('the badge', () => editor.seen.tree.badge?.value === 3);
  await editor.run('candidates');
  assert.deepEqual(editor.seen.picks.map(({ items }) => items.length), [3, 2, 1], 'the list goes on until the person closes it');
  assert.deepEqual(editor.seen.messages.map(({ text }) => text.slice(0, 8)), ['Dropped:', 'Remember']);
  const row = await until('one row', () => {
    const rows = editor.rows().filter(({ node }) => node.kind === 'candidate');
    return rows.length === 1 && rows[0];
  });
  assert.equal(row.item.contextValue, 'candidate', 'the manifest gives its buttons to such rows');
  answers['Edit the memory'] = undefined;
  await editor.run('editCandidate', row.node);
  assert.equal((await waiting()).length, 1, 'who closes the input has decided nothing');
  await editor.run('keepCandidate', row.node);
  assert.match(editor.seen.messages.at(-1).text, /^Remembered as /);
  await until('no badge', () => editor.seen.tree.badge === undefined);
  await editor.run('dropCandidate', row.node);
  assert.equal(editor.seen.messages.at(-1).kind, 'error', 'it was kept already');
  editor.close();
});

test('notes are opened, and updated on request', async () => {
  const elsewhere = machine.open({ folder: machine.root });
  await elsewhere.run('notes');
  assert.match(elsewhere.seen.messages.at(-1).text, /no sessions yet; .*`bethink install`/);
  elsewhere.close();
  const session = await machine.session(60_000, 'the notes job');
  const answers = {};
  const editor = machine.open({ answers });
  await editor.run('updateNotes');
  assert.match(editor.seen.messages.at(-1).text, /no messages yet; /, 'a refusal says what to do');
  await machine.say(session, 'Please fix src/tide.rs, it prints feet.', 'Done, it prints metres.');
  answers['do not cover any message yet'] = 'Update Them';
  await editor.run('notes');
  assert.match(editor.seen.messages.at(-1).text, /^The notes are up to date\.$/);
  const { length } = editor.seen.messages;
  await editor.run('notes');
  assert.equal(editor.seen.messages.length, length, 'there are notes now');
  assert.equal(editor.seen.opened.at(-1), `bethink:/notes/${session}/notes.md`);
  assert.match(editor.seen.documents.at(-1), /tide\.rs/);
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
