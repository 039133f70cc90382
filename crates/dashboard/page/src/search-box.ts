// A search box for the history of one session, with its hits.

import { type SearchHit, client } from "./api.ts";
import { type Child, fill, h, select } from "./dom.ts";
import { time } from "./time.ts";
import { type Context, failure, later } from "./view.ts";

const HITS = 12;
/** Maximum number of messages that a search returns. */
const MOST = 100;

export function hitList(session: string, context: Context, go: (seq: number) => void): HTMLElement {
  const input = h("input", { type: "search", placeholder: "Search this session", "aria-label": "Search this session" });
  const role = select("Said by", [["", "anyone"], ["user", "user"], ["assistant", "assistant"]]);
  const after = h("input", { type: "date", "aria-label": "From" });
  const more = h("div", { class: "search-filters", hidden: true }, h("label", null, "by ", role), h("label", null, "from ", after));
  const place = h("div", { class: "hits", role: "status" });
  let asked = 0;
  const search = async (limit = HITS) => {
    const [q, mine] = [input.value.trim(), ++asked];
    more.hidden = q === "";
    if (q === "") return fill(place);
    try {
      const { hits } = await client.get("/v1/sessions/{id}/search", { path: { id: session }, query: { q, limit, role: (role.value || null) as "user" | "assistant" | null, after: after.value === "" ? null : new Date(`${after.value}T00:00`).toISOString() }, signal: context.signal });
      if (mine === asked) fill(place, orNone(hits.map((hit) => hitRow(hit, go))), moreHits(hits.length, limit, search));
    } catch (error) {
      if (!context.signal.aborted) fill(place, failure(error));
    }
  };
  input.addEventListener("input", later(250, context.signal, () => void search()));
  more.addEventListener("change", () => void search());
  return h("div", { class: "search", role: "search" }, input, more, place);
}

export function hitRow(hit: SearchHit, go: (seq: number) => void): HTMLElement {
  return h(
    "button",
    { class: "hit", onclick: () => go(hit.seq) },
    h("span", { class: "number faint" }, hit.seq),
    h("span", { class: "sort" }, kindOf(hit)),
    h("span", { class: "line", dir: "auto" }, highlighted(hit)),
    time(hit.created_at),
  );
}

/** A link to a message found in any session: facts about it, and below them its text. */
export function hitLink(hit: SearchHit, href: string, facts: Child): HTMLElement {
  return h("a", { class: "hit found", href }, h("span", { class: "sort" }, facts, " · ", kindOf(hit)), h("span", { class: "line", dir: "auto" }, highlighted(hit)));
}

/** Messages found in any session. `search` searches with a higher limit. */
export function hitLinks(links: readonly HTMLElement[], limit: number, search: (limit: number) => Promise<void>): HTMLElement {
  return h("div", { class: "hits" }, orNone(links), moreHits(links.length, limit, search));
}

/** Says that there may be more than what was found. */
function moreHits(found: number, limit: number, search: (limit: number) => Promise<void>): Child {
  if (found < limit) return null;
  if (limit === MOST) return h("p", { class: "faint" }, `A search shows at most ${MOST} messages. Add words to find fewer.`);
  const more = async () => {
    await search(MOST);
    document.querySelectorAll<HTMLElement>("main .hit")[limit]?.focus({ preventScroll: true });
  };
  return h("p", { class: "faint" }, `These are the first ${limit}. `, h("button", { class: "small", onclick: () => void more() }, "Show more"));
}

function orNone(found: readonly HTMLElement[]): Child {
  return found.length > 0 ? found : h("p", { class: "faint" }, "No messages found.");
}

function kindOf(hit: SearchHit): string {
  return hit.answers ? `${hit.answers.tool}: ${hit.answers.input}` : hit.role;
}

/** Marks the matched words. Their positions are counted in characters. */
export function highlighted(hit: SearchHit): Child[] {
  const characters = [...hit.snippet];
  const parts: Child[] = [];
  let at = 0;
  for (const [from = 0, to = 0] of hit.highlights ?? []) {
    if (from < at || to > characters.length) continue;
    parts.push(characters.slice(at, from).join(""), h("mark", null, characters.slice(from, to).join("")));
    at = to;
  }
  return [...parts, characters.slice(at).join("")];
}
