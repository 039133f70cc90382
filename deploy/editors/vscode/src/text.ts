/**
 * Makes text from models, tools and files safe to show: without invisible characters, changes of direction, icons
 * and links.
 */

/** Control characters, and characters that are invisible or change the direction of text. */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Maximum length of a line in a list, in characters. */
const LINE = 200;
/** Maximum length of a notification, in characters. */
const SENTENCE = 600;

/** Returns untrusted text as one line. */
export function line(text: string, most = LINE): string {
  const flat = text.replace(/\s*[\r\n]+\s*/g, ' ').trim();
  const letters = [...flat];
  const cut = letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : flat;
  return cut.replace(UNSEEN, shown);
}

/** Returns untrusted text for labels, where the editor shows `$(name)` as an icon. */
export function label(text: string, most = LINE): string {
  return line(text, most).replace(/\$\(/g, '\\$(');
}

/** Returns untrusted text for notifications, where the editor makes `[text](command:…)` a link that runs a command. */
export function notice(text: string): string {
  return line(text, SENTENCE).replace(/\]\(/g, '] (');
}

/** Returns a message's content as Markdown: its texts and thinking, and its tool calls and results in code blocks. */
export function plain(content: unknown): string {
  if (typeof content === 'string') return visible(content);
  if (!Array.isArray(content)) return '';
  return content.map((block: Record<string, unknown>) => {
    switch (block['type']) {
      case 'text': return visible(String(block['text'] ?? ''));
      case 'thinking': return visible(`(thinking) ${String(block['thinking'] ?? '')}`);
      case 'tool_use': return fenced(`${String(block['name'])} ${JSON.stringify(block['input'])}`);
      case 'tool_result': return fenced(plain(block['content']));
      default: return `(${String(block['type'])})`;
    }
  }).join('\n\n');
}

/** Returns text on several lines without characters that are invisible or change the direction of text. */
function visible(text: string): string {
  return text.split(/\r?\n/).map((one) => one.replace(UNSEEN, shown)).join('\n');
}

/** Returns a code block, whose fence is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${visible(text)}\n${fence}`;
}

/** Returns a short number of tokens: `840`, `12.4k`, `180k`. */
export function tokens(count: number): string {
  if (count < 1_000) return String(count);
  const thousands = count / 1_000;
  return thousands < 100 ? `${thousands.toFixed(1).replace(/\.0$/, '')}k` : `${Math.round(thousands)}k`;
}

function shown(unseen: string): string {
  const code = unseen.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? '\u2421' : `\\u{${code.toString(16)}}`;
}
