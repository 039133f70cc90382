// What was typed and is not saved yet. It survives a change of view, a reload and a new login of this tab, and ends with the tab.

export interface Draft {
  readonly text: string;
  /** The text and tag that the edit started from. */
  readonly base: string;
  readonly etag: string;
}

const PREFIX = "bethink-draft:";
/** Used where the browser refuses to store, for example because its quota is used up. */
const memory = new Map<string, Draft>();

export function keepDraft(key: string, draft: Draft): void {
  memory.set(key, draft);
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify(draft));
  } catch {
    // An older draft must not come back in place of this one.
    sessionStorage.removeItem(PREFIX + key);
  }
}

export function draftOf(key: string): Draft | null {
  const kept = memory.get(key);
  if (kept) return kept;
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

export function dropDraft(key: string): void {
  memory.delete(key);
  sessionStorage.removeItem(PREFIX + key);
}

export function draftKeys(): string[] {
  const stored = Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX));
  return [...new Set([...memory.keys(), ...stored.map((key) => key.slice(PREFIX.length))])];
}
