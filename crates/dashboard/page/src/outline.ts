// Reads the outline of a session: what each message is, without its text.

import { type OutlineMessage, client } from "./api.ts";

/** Reads the messages after `after`, page by page. */
export async function readOutline(id: string, after: number, signal: AbortSignal, came: (page: readonly OutlineMessage[]) => void): Promise<void> {
  for (let last = after; ; ) {
    const { messages, more } = await client.get("/v1/sessions/{id}/outline", { path: { id }, query: { after_seq: last }, signal });
    came(messages);
    last = messages.at(-1)?.seq ?? last;
    if (!more || messages.length === 0) return;
  }
}
