// A daemon that is down, comes back elsewhere, or does not accept the token; a folder that is not trusted.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';

import { Machine, until } from './kit.mjs';

const machine = new Machine();
after(() => machine.gone());

const down = (editor) => until('down', () => editor.seen.status.text === '$(circle-slash) bethink');
const up = (editor) => until('up', () => editor.contexts.get('bethink.state') === 'up');
const started = () => existsSync(`${machine.home}/daemon.json`);

test('who says no is asked once, and nothing is started', async () => {
  const editor = machine.open();
  await down(editor);
  await until('the question', () => editor.seen.messages.length > 0);
  const before = editor.seen.draws;
  await until('more tries', async () => {
    await editor.run('refresh');
    return editor.seen.draws > before + 3;
  });
  assert.deepEqual(editor.seen.messages.map((one) => one.offered), [['Start', 'Always']]);
  assert.equal(started(), false);
  editor.close();
});

test('an untrusted folder starts nothing and writes nothing', async () => {
  const answers = { 'is not running': 'Start', 'Remember for': 'x' };
  const editor = machine.open({ trusted: false, answers, settings: { startDaemon: 'always' } });
  await down(editor);
  for (const command of ['start', 'remember', 'rememberForAll', 'compact', 'approve', 'candidates', 'updateNotes']) {
    await editor.run(command);
    assert.match(editor.seen.messages.at(-1).text, /not trusted/, command);
  }
  assert.equal(started(), false);
  editor.close();
});

test('a daemon that ends the event stream is not called down, and nobody is asked to start it', async (context) => {
  let streams = 0;
  const server = createServer((request, response) => {
    if (!request.url.startsWith('/v1/events')) return response.setHeader('content-type', 'application/json').end('{"sessions":[],"memories":[],"proposals":[],"candidates":[]}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    streams += 1;
    return streams === 1 ? response.end('retry: 1\n\n') : response.write(':\n\n');
  });
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  mkdirSync(machine.home, { recursive: true });
  await new Promise((listening) => server.listen(`${machine.home}/daemon.sock`, listening));
  const editor = machine.open();
  const states = [];
  const set = editor.contexts.set.bind(editor.contexts);
  editor.contexts.set = (key, value) => (states.push(value), set(key, value));
  await until('the second stream', () => streams === 2);
  await up(editor);
  assert.equal(states.includes('down'), false, states.join());
  assert.deepEqual(editor.seen.messages, []);
  editor.close();
});

test('a program that is not there is named', async () => {
  const editor = machine.open({ settings: { program: '/nowhere/bethink' } });
  await editor.run('start');
  const told = editor.seen.messages.find((one) => one.kind === 'error');
  assert.match(told.text, /nowhere.*bethink\.program/);
  editor.close();
});

test('it is started when the person says so, and Always is kept', async () => {
  const editor = machine.open({ answers: { 'is not running': 'Always' } });
  await up(editor);
  assert.equal(editor.config.startDaemon, 'always');
  editor.close();
});

test('it comes back on another port with another token', async () => {
  const editor = machine.open({ settings: { startDaemon: 'never' } });
  await up(editor);
  const token = readFileSync(`${machine.home}/token`, 'utf8');
  machine.down();
  await down(editor);
  rmSync(`${machine.home}/token`);
  machine.up();
  assert.notEqual(readFileSync(`${machine.home}/token`, 'utf8'), token);
  await up(editor);
  const session = await machine.session();
  await machine.say(session, 'still there?', 'yes');
  await until('events again', () => editor.seen.status.text.startsWith('$(layers)'));
  editor.close();
});

test('a daemon with another token gets nothing, and the right token mends it', async () => {
  const file = `${machine.home}/token`;
  const right = readFileSync(file, 'utf8');
  // The socket needs no token, so the daemon is found by its URL.
  process.env.BETHINK_URL = JSON.parse(readFileSync(`${machine.home}/daemon.json`, 'utf8')).url;
  writeFileSync(file, `${'0'.repeat(64)}\n`);
  const editor = machine.open({ answers: { 'Remember for': 'x' } });
  await down(editor);
  await editor.run('remember');
  assert.match(editor.seen.messages.at(-1).text, /is not the daemon of .*BETHINK_TOKEN/);
  assert.doesNotMatch(JSON.stringify(editor.seen.messages), /0{64}/);
  writeFileSync(file, right);
  await up(editor);
  delete process.env.BETHINK_URL;
  editor.close();
});
