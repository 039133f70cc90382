// What fills the context window, what would free how much, and what the session has cost. Only what is unusual is shown
// of repairs, cache misses and token counts.

import { ApiError, type CacheReport, type Compaction, type ContextReport, type OutlineMessage, type PromptChange, type StageReport, type TokenEstimate, client } from "../api.ts";
import { type Child, fill, h } from "../dom.ts";
import { brief, count, dollars, share, whole } from "../number.ts";
import { readOutline } from "../outline.ts";
import { link } from "../route.ts";
import { saved, spentOf } from "../session-cost.ts";
import { openSession } from "../session-head.ts";
import { facts } from "../table.ts";
import { time } from "../time.ts";
import { type Context, into, later } from "../view.ts";

/** A larger error of the token estimates is unusual. */
const LARGE_ERROR = 0.1;

const STAGES: Readonly<Record<string, string>> = {
  tool_result_budget: "Long tool results shortened",
  snip: "Superseded tool results removed",
  microcompact: "Old tool results cleared",
  collapse: "Old messages collapsed",
  compaction: "Compaction",
};

const CHANGES: Readonly<Record<PromptChange, string>> = {
  system: "the system prompt changed",
  tools: "the tools changed",
  model: "the model changed",
  compaction: "the session was compacted, or a compaction was undone",
  collapse: "old messages were collapsed",
  microcompact: "old tool results were cleared",
  snip: "superseded tool results were left out",
  history: "parts of an earlier message arrived late",
  idle: "the session was idle for longer than the cache lasts",
  unknown: "the cause is unknown",
};

export async function report(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "report");
  if (!opened) return;
  const [live, free, cost] = [h("div"), h("div"), h("div")];
  opened.body.append(live, h("section", null, h("h2", null, "What a compaction would free"), free), h("section", null, h("h2", null, "Tokens used by the session"), cost));
  opened.onReport((report) => fill(live, show(report)));
  const id = opened.id;
  const draw = () => {
    void into(free, context, () => couldFree(id, context.signal), (found) => freeing(id, found));
    void into(cost, context, () => costOf(id, context.signal), costView);
  };
  draw();
  const again = later(1_500, context.signal, draw);
  context.events.listen(context.signal, (event) => {
    if (event.session_id === id && ["message", "compaction"].includes(event.event)) again();
  });
}

function show(report: ContextReport): Child {
  const { thresholds: t, cache, estimate } = report;
  return [
    h("section", null, h("h2", null, "Context window"), facts([
      ["Compacts at", `${whole(t.auto)} tokens, ${whole(report.remaining)} left`],
      ["Messages in the prompt", whole(report.messages)],
    ])),
    report.stages.length > 0 && h("section", null, h("h2", null, "Already freed"), report.stages.map(stage)),
    report.repairs.length > 0 && h("section", null, h("h2", null, "Repairs"), h("ul", null, report.repairs.map((repair) => h("li", null, repair)))),
    cache && promptCache(report, cache),
    estimate && estimates(estimate),
  ];
}

/** Tries a compaction without a model, which costs nothing. Returns the reason if nothing can be compacted. */
async function couldFree(id: string, signal: AbortSignal): Promise<Compaction | string> {
  try {
    return await client.post("/v1/sessions/{id}/compact", { path: { id }, body: { dry_run: true, level: "embedded" }, signal });
  } catch (error) {
    if (error instanceof ApiError && error.type === "not_compactable") return error.message;
    throw error;
  }
}

function freeing(id: string, found: Compaction | string): Child {
  if (typeof found === "string") return h("p", { class: "faint" }, `Nothing at the moment: ${found}.`);
  const freed = Math.max(0, found.tokens_before - found.tokens_after);
  const names = found.fidelity_detail;
  return h("p", null, `A compaction now would free ${brief(freed)} tokens (${brief(found.tokens_before)} → ${brief(found.tokens_after)}), and the prompt would still contain ${whole(names.kept)} of ${count(names.names, "name")} in use (files, functions, errors, IDs). `, h("a", { href: link(["session", id, "compactions"]) }, "Try other ways to summarize"));
}

interface Cost {
  readonly messages: readonly OutlineMessage[];
  readonly compactions: readonly Compaction[];
  /** Dollars of bethink's own model calls for this session. */
  readonly own: number;
}

async function costOf(id: string, signal: AbortSignal): Promise<Cost> {
  const messages: OutlineMessage[] = [];
  const [, { compactions }, usage] = await Promise.all([
    readOutline(id, 0, signal, (page) => {
      for (const message of page) messages.push(message);
    }),
    client.get("/v1/sessions/{id}/compactions", { path: { id }, signal }),
    client.get("/v1/usage", { query: { session: id }, signal }),
  ]);
  return { messages, compactions, own: usage.totals.cost_usd ?? 0 };
}

function costView({ messages, compactions, own }: Cost): Child {
  const spent = spentOf(messages);
  if (spent.calls === 0) return h("p", { class: "faint" }, "The recorded messages do not say how many tokens their model calls used.");
  const less = saved(messages, compactions);
  return facts([
    ["Model calls", whole(spent.calls)],
    ["Read by the model", `${brief(spent.prompt)} tokens, ${share(spent.cached / Math.max(1, spent.prompt))} of them from the cache`],
    ["Written by the model", `${brief(spent.output)} tokens`],
    ...(less > 0 ? [["Left out because of compactions", `${brief(less)} tokens`] as const] : []),
    ...(own > 0 ? [["bethink's own model calls", dollars(own)] as const] : []),
  ]);
}

/** What went wrong with the provider's cache; nothing if all is well. */
function promptCache(report: ContextReport, { breaks, last }: CacheReport): Child {
  const rows: [string, Child][] = [];
  if (breaks > 0) rows.push(["Unexpected cache misses", whole(breaks)]);
  if (report.changed_by) rows.push(["Why the prompt differs from the previous one", CHANGES[report.changed_by]]);
  if (last && !last.expected) rows.push(["Last cache miss", [`${CHANGES[last.cause]}; ${brief(last.read_before)} → ${brief(last.read_now)} tokens from the cache, `, time(last.at, true)]]);
  return rows.length > 0 && h("section", null, h("h2", null, "Prompt cache"), facts(rows));
}

function estimates({ scale, turns, error }: TokenEstimate): Child {
  if (error == null || error < LARGE_ERROR) return null;
  return h("section", null, h("h2", null, "Token counts"), h("p", null, `The counts are estimates. Over ${count(turns, "turn")}, they were off by ${share(error)} on average. The correction factor is ${scale.toFixed(2)}.`));
}

function stage(stage: StageReport): HTMLElement {
  const freed = Math.max(0, stage.tokens_before - stage.tokens_after);
  return h(
    "details",
    { class: "stage" },
    h("summary", null, h("span", null, STAGES[stage.stage] ?? stage.stage), h("span", { class: "faint" }, ` ${brief(freed)} tokens freed, ${stage.why}`)),
    h("p", { class: "faint" }, `${whole(stage.tokens_before)} → ${whole(stage.tokens_after)} tokens; items changed: ${whole(stage.touched.length)}`),
    h("ul", { class: "names" }, stage.touched.map((what) => h("li", null, h("code", null, what)))),
  );
}
