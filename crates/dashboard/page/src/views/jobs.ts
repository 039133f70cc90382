// Background jobs: imports, notes, dreams, indexes.

import { type Job, client } from "../api.ts";
import { type Child, h } from "../dom.ts";
import { bytes, whole } from "../number.ts";
import { dataTable } from "../table.ts";
import { time } from "../time.ts";
import { type Context, badge, empty, into, later } from "../view.ts";

const NEWEST = 200;
/** Interval at which running jobs are read again. Nothing else is polled. */
const AGAIN_MS = 2_000;

const KINDS: Readonly<Record<string, string>> = {
  import: "Import",
  notes: "Notes",
  index: "Search index",
  dream: "Dream",
  extract: "Extraction",
  collapse: "Collapse",
  fork_check: "Fork cleanup",
};

export async function jobs(main: HTMLElement, context: Context): Promise<void> {
  const place = h("div");
  main.append(place);
  let timer: ReturnType<typeof setTimeout> | undefined;
  context.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  const read = () => client.get("/v1/jobs", { query: { limit: NEWEST }, signal: context.signal });
  const draw = () =>
    into(place, context, read, ({ jobs }) => {
      clearTimeout(timer);
      if (jobs.some((job) => job.state === "queued" || job.state === "running")) timer = setTimeout(() => void draw(), AGAIN_MS);
      return show(jobs);
    });
  await draw();
  const again = later(300, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.event === "job" || event.event === "notes") again();
  });
}

function show(jobs: readonly Job[]): Child {
  if (jobs.length === 0) return empty("No jobs yet.", "Background jobs, such as imports, notes and extractions, are listed here.");
  const rows = jobs.map((job) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, KINDS[job.kind] ?? job.kind),
      h("td", null, badge(job.state, job.state === "failed" ? "bad" : job.state === "done" ? "good" : "busy")),
      h("td", { class: "number" }, progress(job)),
      h("td", { class: "break" }, job.error ? h("span", { class: "bad-text" }, job.error) : result(job)),
      h("td", null, time(job.updated_at)),
    ),
  );
  return dataTable("Jobs", ["Job", "State", "Progress", "Result", "Updated"], h("tbody", null, rows));
}

function progress(job: Job): string {
  const { done, total, unit } = job.progress;
  if (total === 0) return "";
  const said = (n: number) => (unit === "bytes" ? bytes(n) : whole(n));
  const unitWord = unit === "bytes" ? "" : ` ${total === 1 ? unit.replace(/s$/, "") : unit}`;
  return done >= total ? `${said(total)}${unitWord}` : `${said(done)} of ${said(total)}${unitWord}`;
}

/** The result in one line: its file name and its numbers. */
function result(job: Job): string {
  const first: unknown = Array.isArray(job.result) ? job.result[0] : job.result;
  if (typeof first !== "object" || first === null) return "";
  const told = Object.entries(first).map(([name, value]) => {
    if (typeof value === "number") return `${name.replaceAll("_", " ")} ${whole(value)}`;
    if (Array.isArray(value) && value.length > 0) return `${name.replaceAll("_", " ")} ${value.length}`;
    return name === "file" && typeof value === "string" ? (value.split("/").at(-1) ?? "") : "";
  });
  return told.filter((part) => part !== "").join(" · ");
}
