// Search in a session's history: hits with their place, beside what is shown.

import { get, query } from "./api.ts";
import { type Child, fill, h } from "./dom.ts";
import type { Hit } from "./types.ts";
import { type Context, failure, later } from "./view.ts";

export function hitList(session: string, context: Context, go: (seq: number) => void): HTMLElement {
  const input = h("input", { type: "search", placeholder: "Search this session", "aria-label": "Search this session" });
  const place = h("div", { class: "hits", role: "status" });
  let asked = 0;
  const search = async () => {
    const [q, mine] = [input.value.trim(), ++asked];
    if (q === "") return fill(place);
    try {
      const { hits } = await get<{ hits: Hit[] }>(`/v1/sessions/${session}/search${query({ q, limit: 12 })}`, context.signal);
      if (mine === asked) fill(place, hits.length === 0 ? h("p", { class: "faint" }, "No messages found.") : hits.map((hit) => hitRow(hit, go)));
    } catch (error) {
      if (!context.signal.aborted) fill(place, failure(error));
    }
  };
  input.addEventListener("input", later(250, context.signal, () => void search()));
  return h("div", { class: "search", role: "search" }, input, place);
}

export function hitRow(hit: Hit, go: (seq: number) => void): HTMLElement {
  const what = hit.answers ? `${hit.answers.tool}: ${hit.answers.input}` : hit.role;
  return h(
    "button",
    { type: "button", class: "hit", onclick: () => go(hit.seq) },
    h("span", { class: "number faint" }, hit.seq),
    h("span", { class: "sort" }, what),
    h("span", { class: "line", dir: "auto" }, highlighted(hit)),
  );
}

/** The words of the query stand out; places are counted in characters. */
export function highlighted(hit: Hit): Child[] {
  const characters = [...hit.snippet];
  const parts: Child[] = [];
  let at = 0;
  for (const [from, to] of hit.highlights) {
    if (from < at || to > characters.length) continue;
    parts.push(characters.slice(at, from).join(""), h("mark", null, characters.slice(from, to).join("")));
    at = to;
  }
  return [...parts, characters.slice(at).join("")];
}
