// What the model calls of a session used, and what compactions saved.

import type { Compaction, OutlineMessage } from "./api.ts";

export interface Spent {
  readonly calls: number;
  readonly prompt: number;
  readonly cached: number;
  readonly output: number;
}

export function spentOf(messages: readonly OutlineMessage[]): Spent {
  let [calls, prompt, cached, output] = [0, 0, 0, 0];
  for (const { usage } of messages) {
    if (!usage) continue;
    calls++;
    prompt += usage.prompt;
    cached += usage.cached;
    output += usage.output;
  }
  return { calls, prompt, cached, output };
}

/**
 * Tokens that prompts did not contain because of compactions: for each model call, what the newest compaction before it
 * freed.
 */
export function saved(messages: readonly OutlineMessage[], compactions: readonly Compaction[]): number {
  const inForce = compactions.filter((done) => !done.undone_at).sort((a, b) => a.created_at.localeCompare(b.created_at));
  let total = 0;
  for (const { usage, created_at } of messages) {
    if (!usage) continue;
    const done = inForce.findLast((done) => done.created_at <= created_at);
    if (done) total += Math.max(0, done.tokens_before - done.tokens_after);
  }
  return total;
}
