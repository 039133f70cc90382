// Whether answers contain words that they can only have from a recalled memory.

import { type HistoryMessage, type MemoryScope, client } from "./api.ts";
import { blocksOf } from "./message.ts";
import type { Recalled } from "./recalls.ts";

/** Messages before and after the recall that are read. */
const BEFORE = 100;
const AFTER = 40;
const SHOWN = 3;

/** Words of the memory in the answers after its recall; `null` if there is no answer yet. */
export type Used = readonly string[] | null;

export async function usedIn(recalled: Recalled, others: readonly string[], signal: AbortSignal): Promise<Used> {
  const { session, seq } = recalled;
  const path = { id: session.id };
  const read = (query: { after_seq: number; limit: number }) => client.get("/v1/sessions/{id}/messages", { path, query, signal });
  const [text, before, after] = await Promise.all([
    textOf(recalled, signal),
    read({ after_seq: Math.max(0, seq - BEFORE), limit: Math.min(seq, BEFORE) }),
    read({ after_seq: seq, limit: AFTER }),
  ]);
  const seen = before.messages.filter((message) => message.seq <= seq).map((message) => JSON.stringify(message.message)).join("\n");
  return wordsUsed(text, [seen, ...others].join("\n"), after.messages);
}

export async function textOf({ session, scope, name }: Recalled, signal: AbortSignal): Promise<string> {
  const query = { project_dir: session.project_dir };
  return (await client.text("/v1/memories/{scope}/{name}", { path: { scope: scope as MemoryScope, name }, query, signal })).text;
}

/** Reads the messages in order: a word that a person or a tool says first does not count any more. */
export function wordsUsed(memory: string, seen: string, after: readonly HistoryMessage[]): Used {
  const left = new Set(peculiar(memory).filter((word) => !seen.includes(word)));
  const used: string[] = [];
  let answered = false;
  for (const message of after) {
    const said = message.role === "assistant" ? blocksOf(message).map((block) => String(block["text"] ?? "")).join("\n") : null;
    answered ||= said !== null && said !== "";
    const all = said ?? JSON.stringify(message.message);
    for (const word of left) {
      if (!all.includes(word)) continue;
      left.delete(word);
      if (said !== null) used.push(word);
    }
    // Calls tell what the agent guessed or looked up, so what they contain is known from then on.
    if (said !== null) for (const word of left) if (JSON.stringify(message.message).includes(word)) left.delete(word);
  }
  return answered ? used.slice(0, SHOWN) : null;
}

/** Names and numbers, such as `FOG_K`, `setDistance` and `0x9fb4c8`: ordinary words could come from anywhere. */
function peculiar(text: string): string[] {
  const words = text.match(/[A-Za-z0-9][\w-]{3,}[A-Za-z0-9]/g) ?? [];
  return [...new Set(words)].filter((word) => /[a-z][A-Z]|_|[A-Za-z]\d|\d[A-Za-z]/.test(word));
}
