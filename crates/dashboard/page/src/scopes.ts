// Whose memory a topic belongs to, in words.

import type { MemoryScope } from "./api.ts";

export const SCOPE_WORDS: Readonly<Record<string, string>> = { private: "This project", person: "All your projects", team: "Team" };
export const SCOPES: readonly MemoryScope[] = ["private", "person", "team"];
export const TYPES = ["user", "feedback", "project", "reference"] as const;
