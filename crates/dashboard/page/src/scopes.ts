// Whose memory a topic belongs to, in words.

import type { MemoryScope } from "./api.ts";

export const SCOPE_CHOICES: readonly (readonly [MemoryScope, string])[] = [
  ["private", "This project"],
  ["person", "All your projects"],
  ["team", "Team"],
];
export const SCOPE_WORDS: Readonly<Record<string, string>> = Object.fromEntries(SCOPE_CHOICES);
/** What a memory is called because of its `recall` key. */
export const RECALL_WORDS: Readonly<Record<string, string>> = { always: "pinned", never: "suppressed" };
export const TYPES = ["user", "feedback", "project", "reference"] as const;
