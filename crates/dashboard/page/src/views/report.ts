// How the next prompt is built: stages, repairs, the provider's cache, and the source of the token counts.

import { type Child, fill, h } from "../dom.ts";
import { brief, count, share, whole } from "../number.ts";
import { openSession } from "../session-head.ts";
import { time } from "../time.ts";
import type { CacheReport, ContextReport, StageReport, TokenEstimate } from "../api.ts";
import type { Context } from "../view.ts";

const STAGES: Readonly<Record<string, string>> = {
  tool_result_budget: "Long tool results shortened",
  snip: "Superseded tool results removed",
  microcompact: "Old tool results cleared",
  collapse: "Old messages collapsed",
  compaction: "Compaction",
};

export async function report(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "report");
  if (!opened) return;
  opened.onReport((report) => fill(opened.body, show(report)));
}

function show(report: ContextReport): Child {
  const { thresholds: t, cache, estimate } = report;
  return [
    h("section", null, h("h2", null, "Changes to the prompt"), report.stages.length === 0 ? h("p", { class: "faint" }, report.repairs.length === 0 ? "None. The history is sent unchanged." : "None, except for repairs.") : report.stages.map(stage)),
    report.repairs.length > 0 && h("section", null, h("h2", null, "Repairs"), h("ul", null, report.repairs.map((repair) => h("li", null, repair)))),
    h(
      "section",
      null,
      h("h2", null, "Context window"),
      facts([
        ["Size", whole(t.window)],
        ["Usable for the prompt", whole(t.effective)],
        ["Warns at", whole(t.warning)],
        ["Compacts at", whole(t.auto)],
        ["Refuses prompts at", whole(t.blocking)],
        ["Messages in the prompt", whole(report.messages)],
      ]),
    ),
    cache && promptCache(report, cache),
    estimate && estimates(report, estimate),
  ];
}

function promptCache(report: ContextReport, { breaks, last }: CacheReport): HTMLElement {
  const miss = last ? [`${last.cause}: ${brief(last.read_before)} → ${brief(last.read_now)} tokens${last.expected ? ", expected" : ""}, `, time(last.at, true)] : "none";
  return h(
    "section",
    null,
    h("h2", null, "Prompt cache"),
    facts([
      ["Share of the prompt expected to be in the cache", share(report.predicted_cache_hit)],
      ["Unexpected cache misses", whole(breaks)],
      ["What changed the beginning of the prompt", report.changed_by ?? "none"],
      ["Last cache miss", miss],
    ]),
  );
}

function estimates(report: ContextReport, { reported, scale, turns, error }: TokenEstimate): HTMLElement {
  return h(
    "section",
    null,
    h("h2", null, "Token counts"),
    facts([
      ["Source", report.tokens_from === "estimate" ? "estimates only" : "the provider's counts, plus estimates for newer messages"],
      ["Reported by the provider", whole(reported)],
      ["Correction factor", scale.toFixed(3)],
      ["Correction factor learned from", count(turns, "turn")],
      ["Mean error per turn", error == null ? "unknown" : share(error)],
    ]),
  );
}

function stage(stage: StageReport): HTMLElement {
  const freed = Math.max(0, stage.tokens_before - stage.tokens_after);
  return h(
    "details",
    { class: "stage" },
    h("summary", null, h("span", null, STAGES[stage.stage] ?? stage.stage), h("span", { class: "faint" }, ` ${brief(freed)} tokens freed, ${stage.why}`)),
    h("p", { class: "faint" }, `${whole(stage.tokens_before)} → ${whole(stage.tokens_after)} tokens; ${whole(stage.touched.length)} changed`),
    h("ul", { class: "names" }, stage.touched.map((what) => h("li", null, h("code", null, what)))),
  );
}

function facts(rows: readonly [string, Child][]): HTMLElement {
  return h("table", { class: "facts" }, h("tbody", null, rows.map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value)))));
}
