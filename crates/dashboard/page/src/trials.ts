// Tries a compaction of another size or level before it is made: a dry run with its tokens, fidelity and cost.

import { type Compaction, client } from "./api.ts";
import { say } from "./dialog.ts";
import { type Child, fill, h, select } from "./dom.ts";
import { KIND_WORDS } from "./names.ts";
import { brief, dollars, share, whole } from "./number.ts";
import { dataTable } from "./table.ts";
import { type Context, failure, wordsOf } from "./view.ts";

type Level = "embedded" | "session_memory" | "full";

interface Spent {
  readonly cost_usd?: number | null;
  readonly unpriced: number;
}

interface Wanted {
  readonly level: Level | null;
  readonly tokens: number | null;
}

const LEVELS: readonly [string, string][] = [
  ["", "automatic"],
  ["embedded", "without a model"],
  ["session_memory", "from the notes"],
  ["full", "by a model"],
];
const SIZES: readonly [string, string][] = [["", "automatic"], ["1000", "1,000 tokens"], ["2000", "2,000 tokens"], ["4000", "4,000 tokens"], ["8000", "8,000 tokens"], ["16000", "16,000 tokens"]];

export function trials(session: string, context: Context, done: (made: Compaction) => void): HTMLElement {
  const level = select("Level", LEVELS);
  const size = select("Size of the summary", SIZES);
  const rows = h("tbody");
  const table = dataTable("Trials", ["Summary", "Prompt", "Fidelity", "Names lost", "Cost", ""], rows);
  table.hidden = true;
  const status = h("div", { role: "status" });
  const run = h("button", { type: "submit" }, "Try");
  const form = h("form", null, h("label", null, "Level", level), h("label", null, "Size of the summary", size), run);
  form.addEventListener("submit", () => {
    const wanted: Wanted = { level: (level.value || null) as Level | null, tokens: size.value === "" ? null : Number(size.value) };
    void attempt(wanted);
  });
  const attempt = async (wanted: Wanted) => {
    run.disabled = true;
    fill(status, h("p", { class: "faint" }, "Trying…"));
    try {
      const before = await spent(session);
      const tried = await compact(session, wanted, true, context.signal);
      const after = await spent(session);
      fill(status);
      table.hidden = false;
      rows.prepend(trialRow(tried, costWords(before, after), () => void make(wanted)));
    } catch (error) {
      if (!context.signal.aborted) fill(status, failure(error));
    }
    run.disabled = false;
  };
  const make = async (wanted: Wanted) => {
    try {
      done(await compact(session, wanted, false, context.signal));
      say("Session compacted. You can undo the compaction.");
    } catch (error) {
      say(wordsOf(error), true);
    }
  };
  return h("section", { class: "trials", "aria-label": "Try a compaction" }, h("h2", null, "Try a compaction"), h("p", { class: "faint" }, "A trial does not change the session. It shows how many tokens a compaction would free, and which names would be missing from the prompt. A trial with a model costs as much as the compaction itself."), form, status, table);
}

function compact(id: string, wanted: Wanted, dry_run: boolean, signal: AbortSignal): Promise<Compaction> {
  const body = { dry_run, ...(wanted.level ? { level: wanted.level } : {}), ...(wanted.tokens ? { summary_tokens: wanted.tokens } : {}) };
  return client.post("/v1/sessions/{id}/compact", { path: { id }, body, signal });
}

/** What bethink's own model calls for this session have cost so far. */
async function spent(session: string): Promise<Spent> {
  return (await client.get("/v1/usage", { query: { session } })).totals;
}

function costWords(before: Spent, after: Spent): string {
  if (after.unpriced > before.unpriced) return "unknown price";
  const cost = (after.cost_usd ?? 0) - (before.cost_usd ?? 0);
  return cost > 0 ? dollars(cost) : "free";
}

function trialRow(tried: Compaction, cost: string, make: () => void): HTMLElement {
  const { lost, names, kept } = tried.fidelity_detail;
  const lostWords: Child = names === kept ? "none" : h("details", null, h("summary", null, whole(names - kept)), h("ul", { class: "names" }, lost.map((name) => h("li", null, h("code", null, name)))));
  return h(
    "tr",
    null,
    h("td", null, `${whole(tried.summary_tokens)} tokens, ${KIND_WORDS[tried.level] ?? tried.level}`),
    h("td", null, `${brief(tried.tokens_before)} → ${brief(tried.tokens_after)}`),
    h("td", null, share(tried.fidelity)),
    h("td", null, lostWords),
    h("td", null, cost),
    h("td", null, h("button", { onclick: make }, "Compact with these settings")),
  );
}
