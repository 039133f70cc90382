// What needs no daemon.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { find, homeOf } from '../src/places.ts';
import { EventParser } from '../src/sse.ts';
import { label, line, notice, tokens } from '../src/text.ts';

test('events are the same wherever the stream is cut', () => {
  const text = 'retry: 1000\n\n:\n\nid: 1-2-3\nevent: context\ndata: {"a":\ndata: "é…"}\r\n\r\nevent: x\n\ndata: bare\n\n';
  const expect = [{ event: 'context', data: '{"a":\n"é…"}' }, { event: 'message', data: 'bare' }];
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parser = new EventParser();
    assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], expect, `cut at ${cut}`);
  }
});

test('an event without an end is given up', () => {
  const parser = new EventParser();
  assert.throws(() => {
    for (let at = 0; at < 3; at += 1) parser.push('x'.repeat(500_000));
  }, /no end/);
});

test('text is one harmless line', () => {
  const check = (text, expect) => assert.equal(line(text), expect);
  check('plain, é, 中文, ✓', 'plain, é, 中文, ✓');
  check(' a\r\n  b\n', 'a b');
  check('\u001b[2Jx\u009b', '␛[2Jx\\u{9b}');
  check('user\u202etxt.exe', 'user\\u{202e}txt.exe');
  check('tag\u{e0041}', 'tag\\u{e0041}');
  assert.equal([...line('ab'.repeat(500))].length, 200);
  assert.equal(line('👍👍👍👍', 3), '👍👍…', 'never half a character');
  assert.equal(label('$(trash) $(x'), '\\$(trash) \\$(x');
});

test('a notification holds no link', () => {
  assert.equal(notice('saved [x](command:workbench.action.quit) [y](https://z)'), 'saved [x] (command:workbench.action.quit) [y] (https://z)');
});

test('nothing but one module shows notifications', () => {
  const folder = new URL('../src/', import.meta.url);
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.ts') && name !== 'tell.ts');
  assert.ok(files.length > 10);
  for (const file of files) {
    assert.doesNotMatch(readFileSync(new URL(file, folder), 'utf8'), /show\w+Message|withProgress/, file);
  }
});

test('sizes are said shortly', () => {
  assert.deepEqual([0, 840, 1_000, 12_430, 99_960, 180_400].map(tokens), ['0', '840', '1k', '12.4k', '100k', '180k']);
});

test('the nearest variable decides where the daemon is', async () => {
  assert.equal(homeOf({ HOME: '/h' }), '/h/.local/share/bethink');
  assert.equal(homeOf({ HOME: '/h', XDG_DATA_HOME: 'relative' }), '/h/.local/share/bethink');
  assert.equal(homeOf({ HOME: '/h', XDG_DATA_HOME: '/d', BETHINK_HOME: '' }), '/d/bethink');
  assert.equal(homeOf({ HOME: '/h', XDG_DATA_HOME: '/d', BETHINK_HOME: '/b' }), '/b');
});

test('what the home and the environment say leads to the daemon', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'bethink-places-'));
  const env = { BETHINK_HOME: dir };
  assert.equal((await find(env, '')).url, undefined, 'no token: whatever answers at the default is not ours');
  writeFileSync(join(dir, 'token'), ' secret\n');
  assert.deepEqual([(await find(env, '')).url.href, (await find(env, '')).token], ['http://127.0.0.1:4747/', 'secret']);
  writeFileSync(join(dir, 'daemon.json'), '{"url":"http://127.0.0.1:9');
  assert.equal((await find(env, '')).url.port, '4747', 'a file that is being written');
  writeFileSync(join(dir, 'daemon.json'), '{"url":"http://127.0.0.1:9","pid":1}');
  assert.equal((await find({}, dir)).url.port, '9');
  const foreign = await find({ ...env, BETHINK_URL: 'http://127.0.0.1:8', BETHINK_TOKEN: 't' }, '');
  assert.deepEqual([foreign.url.port, foreign.token, foreign.foreign], ['8', 't', true]);
  await assert.rejects(find({ BETHINK_URL: 'file:///etc' }, dir), /not an http/);
  await assert.rejects(find({ BETHINK_URL: 'nonsense' }, dir), /not a URL/);
  rmSync(dir, { recursive: true });
});
