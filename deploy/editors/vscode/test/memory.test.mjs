// A memory, or notes, as a document: opened, saved, and saved too late.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Machine, until } from './kit.mjs';

const machine = new Machine();
before(() => machine.up());
after(() => machine.gone());

const at = (name) => machine.of(`/v1/memories/private/${name}`);
const bytes = (text) => Buffer.from(text, 'utf8');

async function opened(editor, name) {
  const row = await until(name, () => editor.rows().find(({ item }) => item.label === name));
  const uri = row.item.command.arguments[0];
  const files = editor.providers.get('bethink');
  return { uri, files, text: Buffer.from(await files.readFile(uri)).toString('utf8') };
}

test('a save writes what was edited, twice in a row', async () => {
  await machine.ask('PUT', at('tides'), 'High at noon.\n');
  const editor = machine.open();
  const { uri, files, text } = await opened(editor, 'tides');
  assert.match(text, /High at noon\./);
  await files.writeFile(uri, bytes(`${text}Low at six.\n`));
  await files.writeFile(uri, bytes(`${text}Low at seven.\n`));
  assert.match(await machine.ask('GET', at('tides')), /Low at seven\./);
  assert.deepEqual(editor.seen.messages, []);
  editor.close();
});

test('a save that comes too late overwrites nothing and shows both sides', async () => {
  await machine.ask('PUT', at('berths'), 'Berth one.\n');
  const answers = { 'changed by someone else': 'Compare' };
  const editor = machine.open({ answers });
  const { uri, files, text } = await opened(editor, 'berths');
  await machine.ask('PUT', at('berths'), 'Berth two, says the harbour master.\n');
  await assert.rejects(files.writeFile(uri, bytes(`${text}mine\n`)), /changed by someone else; nothing was overwritten/);
  assert.match(await machine.ask('GET', at('berths')), /harbour master/);
  const [theirs] = await until('the comparison', () => editor.seen.diffs[0]);
  assert.match(theirs, /harbour master/);
  answers['changed by someone else'] = 'Overwrite';
  await assert.rejects(files.writeFile(uri, bytes('mine at last\n')));
  await until('the overwriting', async () => (await machine.ask('GET', at('berths'))).includes('mine at last'));
  assert.match(Buffer.from(await files.readFile(uri)).toString(), /mine at last/);
  editor.close();
});

test('notes are saved like memories, and a save that comes too late overwrites nothing', async () => {
  const session = await machine.session();
  await machine.say(session, 'Where is the pier?', 'At the end of the road.');
  const path = `/v1/sessions/${session}/notes`;
  const answers = { 'changed by someone else': 'Compare' };
  const editor = machine.open({ answers });
  const row = await until('the row', () => editor.rows().find(({ node }) => node.kind === 'notes'));
  const uri = row.item.command.arguments[0];
  const files = editor.providers.get('bethink');
  const read = async () => Buffer.from(await files.readFile(uri)).toString('utf8');
  assert.match(await read(), /^# /m, 'the template, as long as there are no notes');
  await files.writeFile(uri, bytes('# Task\n\nmine\n'));
  await files.writeFile(uri, bytes('# Task\n\nmine, twice in a row\n'));
  assert.equal(await machine.ask('GET', path), '# Task\n\nmine, twice in a row\n');
  await machine.ask('PUT', path, '# Task\n\ntheirs\n');
  await assert.rejects(files.writeFile(uri, bytes('# Task\n\ntoo late\n')), /changed by someone else; nothing was overwritten/);
  assert.equal(await machine.ask('GET', path), '# Task\n\ntheirs\n');
  const [theirs] = await until('the comparison', () => editor.seen.diffs[0]);
  assert.equal(theirs, '# Task\n\ntheirs\n');
  answers['changed by someone else'] = 'Overwrite';
  await assert.rejects(files.writeFile(uri, bytes('# Task\n\nmine at last\n')));
  await until('the overwriting', async () => (await machine.ask('GET', path)).includes('mine at last'));
  const changed = [];
  files.onDidChangeFile((events) => changed.push(...events.map((event) => String(event.uri))));
  await machine.ask('PUT', path, '# Task\n\nchanged elsewhere\n');
  await until('the change', () => changed.includes(String(uri)));
  assert.match(await read(), /changed elsewhere/);
  editor.close();
});

test('a document is no Markdown, in which a link can run a command', async () => {
  await machine.ask('PUT', at('trap'), '[look](command:workbench.action.quit)\n');
  const editor = machine.open();
  const { uri } = await opened(editor, 'trap');
  await editor.vscode.commands.executeCommand('vscode.open', uri);
  assert.deepEqual(editor.seen.languages, [[String(uri), 'bethink']]);
  editor.close();
});

test('an open document is told of a change elsewhere', async () => {
  await machine.ask('PUT', at('lights'), 'red\n');
  const editor = machine.open();
  const { uri, files } = await opened(editor, 'lights');
  const before = await files.stat(uri);
  const changed = [];
  files.onDidChangeFile((events) => changed.push(...events.map((event) => String(event.uri))));
  await machine.ask('PUT', at('lights'), 'green\n');
  await until('the change', () => changed.includes(String(uri)));
  assert.ok((await files.stat(uri)).mtime > before.mtime);
  editor.close();
});

test('a memory that is gone is not found, and odd addresses are refused', async () => {
  const editor = machine.open();
  const files = editor.providers.get('bethink');
  const uri = (path) => editor.vscode.Uri.from({ scheme: 'bethink', path, query: machine.project });
  for (const path of ['/private/none.md', '/private/none', '/none.md', '/', '/notes/00000000-0000-0000-0000-000000000000/notes.md']) {
    await assert.rejects(files.readFile(uri(path)), /not found/, path);
  }
  for (const path of ['/private/../token.md', '/private/../../token.md', '/elsewhere/x.md', '/notes/nonsense/notes.md', '/history/nonsense/message 1.md']) {
    await assert.rejects(files.readFile(uri(path)), path);
  }
  await assert.rejects(files.writeFile(uri('/private/never-read.md'), bytes('x')), /not found/);
  editor.close();
});
