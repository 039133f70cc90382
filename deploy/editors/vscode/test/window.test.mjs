// What is shown without a command: the status bar and the view, which follow the daemon's events.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, before, test } from 'node:test';

import { Machine, until } from './kit.mjs';

const machine = new Machine();
before(() => machine.up());
after(() => machine.gone());

const HOSTILE = '\u001b]52;c;aGk=\u0007<img src=x onerror=alert(1)> $(trash) \u202etxt.exe\u200b';

test('the status bar follows the newest session', async () => {
  const editor = machine.open();
  const { status } = editor.seen;
  await until('an empty folder', () => status.text === '$(circle-outline) bethink');
  const session = await machine.session();
  await machine.say(session, 'What is the tide?', 'High at noon.');
  await until('a comfortable window', () => /^\$\(layers\) \d+% comfortable$/.test(status.text));
  assert.equal(status.backgroundColor, undefined);
  assert.match(status.tooltip, /the tide job\n.* of 60k tokens: comfortable\n.* tokens left until a compaction/);
  await machine.say(session, Array.from({ length: 22_000 }, (_, at) => `word${at % 977}`).join(' '));
  await until('a level that asks for attention', () => status.backgroundColor !== undefined);
  const other = await machine.session(60_000, 'a newer one');
  await machine.say(other, 'hello', 'hello');
  await until('the newer session', () => status.tooltip.includes('a newer one'));
  editor.close();
});

test('a session that was begun above the folder counts', async () => {
  const folder = `${machine.project}/deep/er`;
  mkdirSync(folder, { recursive: true });
  const editor = machine.open({ folder });
  await until('the session', () => editor.seen.status.text.startsWith('$(layers)'));
  editor.close();
});

test('memories and todos stand in the view, as text', async () => {
  const editor = machine.open();
  const session = await machine.session();
  await until('a connection', () => editor.contexts.get('bethink.state') === 'up');
  await machine.ask('PUT', `/v1/sessions/${session}/todos`, {
    todos: [
      { id: '1', content: `water the ${HOSTILE}`, status: 'in_progress', priority: 'high' },
      { id: '2', content: 'rest', status: 'completed' },
    ],
  });
  const memory = `---\ndescription: ${JSON.stringify(HOSTILE)}\ntype: project\n---\n\nbody\n`;
  await machine.ask('PUT', machine.of('/v1/memories/private/odd-one'), memory);
  const rows = await until('both', () => {
    const rows = editor.rows();
    return rows.length >= 5 && rows.some(({ item }) => item.label === 'odd-one') && rows;
  });
  assert.deepEqual(rows.filter(({ depth }) => depth === 0).map(({ item }) => item.label), ['Todos', 'Session notes', 'Memories']);
  const shown = rows.map(({ item }) => `${item.label} ${item.description} ${item.tooltip}`).join('\n');
  assert.doesNotMatch(shown.replaceAll('\n', ''), /[\u0000-\u001f\u200b\u202e]/);
  assert.match(shown, /␛\]52;c;aGk=␇<img src=x onerror=alert\(1\)>/);
  const todo = rows.find(({ node }) => node.kind === 'todo').item;
  assert.deepEqual([todo.iconPath.id, todo.description], ['arrow-right', 'high']);
  assert.equal(typeof todo.tooltip, 'string', 'no Markdown that could carry links');
  editor.close();
});
