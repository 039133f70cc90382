// How the next prompt comes to be: stages, repairs, the provider's cache, and where the figures are from.

import { type Child, fill, h } from "../dom.ts";
import { brief, share, whole } from "../number.ts";
import { openSession } from "../session-head.ts";
import { time } from "../time.ts";
import type { Report, Stage } from "../types.ts";
import type { Context } from "../view.ts";

const STAGES: Readonly<Record<string, string>> = {
  tool_result_budget: "Long tool results are shortened",
  snip: "Superseded tool results are dropped",
  microcompact: "Old tool results are cleared",
  collapse: "Spans are collapsed",
  compaction: "Compaction",
};

export async function report(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "report");
  if (!opened) return;
  opened.onReport((report) => fill(opened.body, show(report)));
}

function show(report: Report): Child {
  const { thresholds: t, cache, estimate } = report;
  const fall = cache.last;
  return [
    h("section", null, h("h2", null, "Changes to the prompt"), report.stages.length === 0 ? h("p", { class: "faint" }, "Nothing: the history is sent unchanged.") : report.stages.map(stage)),
    report.repairs.length > 0 && h("section", null, h("h2", null, "Repairs"), h("ul", null, report.repairs.map((repair) => h("li", null, repair)))),
    h(
      "section",
      null,
      h("h2", null, "Window"),
      facts([
        ["The model's window", whole(t.window)],
        ["Usable, after room for the answer", whole(t.effective)],
        ["Warns at", whole(t.warning)],
        ["Compacts at", whole(t.auto)],
        ["Blocks at", whole(t.blocking)],
        ["Messages in the prompt", whole(report.messages)],
      ]),
    ),
    h(
      "section",
      null,
      h("h2", null, "Prompt cache"),
      facts([
        ["Expected cache hit, next prompt", share(report.predicted_cache_hit)],
        ["Cache breaks", whole(cache.breaks)],
        ["Why this prompt diverged from the last one", report.changed_by ?? "it did not diverge"],
        ["Last cache miss", fall ? [`${fall.cause}: ${brief(fall.read_before)} → ${brief(fall.read_now)} tokens${fall.expected ? ", expected" : ""}, `, time(fall.at, true)] : "none"],
      ]),
    ),
    h(
      "section",
      null,
      h("h2", null, "Source of the figures"),
      facts([
        ["Source", report.tokens_from === "estimate" ? "estimated" : "the provider's figures, and estimates since"],
        ["Reported by the provider", whole(estimate.reported)],
        ["Estimates are multiplied by", estimate.scale.toFixed(3)],
        ["Learnt from", `${whole(estimate.turns)} turns`],
        ["Mean error of a turn", estimate.error === undefined ? "not known" : share(estimate.error)],
      ]),
    ),
  ];
}

function stage(stage: Stage): HTMLElement {
  const freed = Math.max(0, stage.tokens_before - stage.tokens_after);
  return h(
    "details",
    { class: "stage" },
    h("summary", null, h("span", null, STAGES[stage.stage] ?? stage.stage), h("span", { class: "faint" }, ` ${brief(freed)} tokens freed, ${stage.why}`)),
    h("p", { class: "faint" }, `${whole(stage.tokens_before)} → ${whole(stage.tokens_after)} tokens; ${whole(stage.touched.length)} touched`),
    h("ul", { class: "names" }, stage.touched.map((what) => h("li", null, h("code", null, what)))),
  );
}

function facts(rows: readonly [string, Child][]): HTMLElement {
  return h("table", { class: "facts" }, h("tbody", null, rows.map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, value)))));
}
