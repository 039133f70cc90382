/**
 * Text of models, tools and files, made harmless before a person reads it: nothing in it hides,
 * changes the direction of its neighbours or becomes an icon.
 */

/** Control characters, and what has no width or reorders what is read. */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Longest line that a list shows; the rest of it is in the document. */
const LINE = 200;
/** Longest notification. */
const SENTENCE = 600;

/** One line of somebody else's text. */
export function line(text: string, most = LINE): string {
  const flat = text.replace(/\s*[\r\n]+\s*/g, ' ').trim();
  const letters = [...flat];
  const cut = letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : flat;
  return cut.replace(UNSEEN, shown);
}

/** The same for places where the editor draws `$(name)` as an icon. */
export function label(text: string, most = LINE): string {
  return line(text, most).replace(/\$\(/g, '\\$(');
}

/** A sentence for a notification, where the editor would make `[words](command:…)` a link that runs it. */
export function notice(text: string): string {
  return line(text, SENTENCE).replace(/\]\(/g, '] (');
}

/** A number of tokens as people say it: `840`, `12.4k`, `180k`. */
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
