// Makes invisible characters visible. A bidi override makes text look different from what it contains, and tag
// characters can hide words.

/** Excludes tabs and line endings, which are layout, and joiners and variation selectors, which scripts and emoji need. */
const HIDDEN =
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]*)[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

export function visible(text: string): string {
  return text.replace(HIDDEN, shown);
}

export function hidesSomething(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\u27e6U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e7`;
}
