// The outline of a session: what each message is, without its text.

import { type HistoryMessage, type OutlineMessage, client } from "./api.ts";
import { blocksOf } from "./message.ts";
import { withoutInserted } from "./row-view.ts";

/** Reads the messages after `after`, page by page. */
export async function readOutline(id: string, after: number, signal: AbortSignal, came: (page: readonly OutlineMessage[]) => void): Promise<void> {
  for (let last = after; ; ) {
    const { messages, more } = await client.get("/v1/sessions/{id}/outline", { path: { id }, query: { after_seq: last }, signal });
    came(messages);
    last = messages.at(-1)?.seq ?? last;
    if (!more || messages.length === 0) return;
  }
}

/** Outlines a message as the daemon does, for sessions whose outline it does not offer. */
export function outlineOf(stored: HistoryMessage): OutlineMessage {
  const blocks = blocksOf(stored);
  const of = (type: string) => blocks.filter((block) => block["type"] === type);
  const texts = of("text").map((block) => String(block["text"] ?? ""));
  const calls = of("tool_use").map(({ id, name }) => ({ id: String(id), tool: String(name) }));
  const results = of("tool_result").map(({ tool_use_id, is_error }) => ({ id: String(tool_use_id), failed: is_error === true }));
  // A message without text and results is only an image, which a person sent.
  const isTyped = texts.some((text) => withoutInserted(text) !== "") || texts.length + results.length === 0;
  const kind = stored.role === "assistant" ? "assistant" : isTyped ? "typed" : results.length > 0 ? "results" : "inserted";
  return { seq: stored.seq, created_at: stored.created_at, kind, says: texts.some((text) => text.trim() !== ""), calls, results };
}
