// The model calls that bethink made for its own work, and their cost.

import { type Usage, type UsageSums, client } from "../api.ts";
import { type Child, h, select } from "../dom.ts";
import { brief, count, dollars, share, whole } from "../number.ts";
import { link } from "../route.ts";
import { dataTable } from "../table.ts";
import { time } from "../time.ts";
import { type Context, empty, into } from "../view.ts";

const DAYS: readonly [string, string][] = [["1", "Today"], ["7", "7 days"], ["30", "30 days"], ["", "All time"]];

export async function cost(main: HTMLElement, context: Context): Promise<void> {
  const span = select("Period", DAYS, "30");
  const apart = h("input", { type: "checkbox", id: "apart" });
  const place = h("div");
  const draw = () => {
    const since = span.value === "" ? null : new Date(Date.now() - (Number(span.value) - 1) * 86_400_000).toISOString().slice(0, 10);
    const query = { since, by: apart.checked ? ("session" as const) : null };
    void into(place, context, () => client.get("/v1/usage", { query, signal: context.signal }), (usage) => show(usage, apart.checked));
  };
  span.addEventListener("change", draw);
  apart.addEventListener("change", draw);
  main.append(h("div", { class: "filters" }, span, h("label", { for: "apart" }, apart, " By session")), place);
  draw();
}

function show(usage: Usage, apart: boolean): Child {
  return [today(usage), usage.rows.length === 0 ? empty("No model calls in this period.", "bethink also works without a model. To use one, set it under ", h("code", null, "[model]"), " in the settings.") : table(usage, apart)];
}

function today(usage: Usage): HTMLElement {
  const { today } = usage;
  const limit = (used: number, most: number | null | undefined, said: (n: number) => string) => (most == null ? said(used) : `${said(used)} of ${said(most)} (${share(used / Math.max(most, 1e-9))})`);
  return h(
    "dl",
    { class: "tiles" },
    tile("Calls today", whole(today.calls)),
    tile("Tokens today", limit(today.tokens, today.daily_tokens, brief)),
    tile("Cost today", limit(today.cost_usd, today.daily_cost_usd, dollars)),
    tile("Cost in this period", usage.totals.cost_usd == null ? "unknown" : dollars(usage.totals.cost_usd)),
  );
}

function tile(name: string, value: string): Child {
  return h("div", null, h("dt", null, name), h("dd", null, value));
}

function table(usage: Usage, apart: boolean): Child {
  const head = ["Purpose", "Model", ...(apart ? ["Session"] : []), "Calls", "Failed", "Input", "Cached", "Output", "Cost", "Last call"];
  const rows = usage.rows.map((row) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, row.purpose),
      h("td", null, row.model),
      apart && h("td", null, row.session_id ? h("a", { href: link(["session", row.session_id]) }, row.session_id.slice(0, 8)) : ""),
      sums(row),
      h("td", null, time(row.last_at)),
    ),
  );
  const total = h("tr", { class: "total" }, h("th", { scope: "row", colspan: apart ? 3 : 2 }, "Total"), sums(usage.totals), h("td"));
  return [
    dataTable("Model calls", head, h("tbody", null, rows), h("tfoot", null, total)),
    usage.more && h("p", { class: "faint" }, "Some rows are not shown, but the totals include them."),
    usage.totals.unpriced > 0 && h("p", { class: "faint" }, `The cost does not include ${count(usage.totals.unpriced, "call")} to models without a known price.`),
  ];
}

function sums(row: UsageSums): Child {
  const cell = (text: string, title = "") => h("td", { class: "number", title: title === "" ? null : title }, text);
  return [
    cell(whole(row.calls)),
    cell(row.failed === 0 ? "" : whole(row.failed)),
    cell(brief(row.input_tokens + row.cache_write_tokens), whole(row.input_tokens + row.cache_write_tokens)),
    cell(brief(row.cache_read_tokens), whole(row.cache_read_tokens)),
    cell(brief(row.output_tokens), whole(row.output_tokens)),
    cell(row.cost_usd == null ? "—" : dollars(row.cost_usd)),
  ];
}
