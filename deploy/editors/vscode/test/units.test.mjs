// Tests that need no daemon.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { label, line, notice, plain, tokens } from '../src/text.ts';

test('a message is Markdown in which nothing is hidden and no code block ends early', () => {
  assert.equal(plain('a\nb\u202e'), 'a\nb\\u{202e}');
  const call = { type: 'tool_use', name: 'Bash', input: { command: 'ls' } };
  assert.equal(plain([{ type: 'text', text: 'Look:' }, call]), 'Look:\n\n```\nBash {"command":"ls"}\n```');
  const result = { type: 'tool_result', content: [{ type: 'text', text: '```sh\nls\n```' }] };
  assert.equal(plain([result]), '````\n```sh\nls\n```\n````');
  assert.equal(plain([{ type: 'image' }]), '(image)');
  assert.equal(plain([{ type: 'thinking', thinking: 'why\nnot' }]), '(thinking) why\nnot');
  assert.equal(plain(undefined), '');
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
