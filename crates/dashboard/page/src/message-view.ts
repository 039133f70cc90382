// One message with all of its content, as it was appended.

import { h } from "./dom.ts";
import { blocksOf, isObject, resultText } from "./message.ts";
import { whole } from "./number.ts";
import { time } from "./time.ts";
import type { HistoryMessage } from "./api.ts";

/** Number of characters shown at first. A tool may have printed megabytes. */
const FIRST = 12_000;

export function messageView(stored: HistoryMessage): HTMLElement {
  const { model, usage } = stored.message ?? {};
  const facts = [`message ${stored.seq}`, stored.role, typeof model === "string" ? model : "", used(usage)];
  return h(
    "article",
    { class: "message", "aria-label": `Message ${stored.seq}` },
    h("p", { class: "faint" }, facts.filter((fact) => fact !== "").join(" · "), " · ", time(stored.created_at, true)),
    blocksOf(stored).map(blockView),
  );
}

function blockView(block: Record<string, unknown>): HTMLElement {
  switch (block["type"]) {
    case "text":
      return long(String(block["text"] ?? ""), "text");
    case "thinking":
      return h("details", null, h("summary", null, "Thinking"), long(String(block["thinking"] ?? ""), "text"));
    case "tool_use":
      return h("div", null, h("h4", null, "Call ", h("code", null, String(block["name"] ?? ""))), long(pretty(block["input"]), "code"));
    case "tool_result":
      return h("div", { class: block["is_error"] === true ? "failed" : null }, h("h4", null, block["is_error"] === true ? "Result (error)" : "Result"), long(resultText(block), "code"));
    default:
      return h("details", null, h("summary", null, `Block of type ${String(block["type"])}`), long(pretty(block), "code"));
  }
}

export function pretty(value: unknown): string {
  if (!isObject(value)) return JSON.stringify(value, null, 2) ?? "";
  // Long strings are easier to read as lines than as one JSON string.
  const entries = Object.entries(value);
  if (entries.every(([, part]) => typeof part !== "object")) {
    return entries.map(([name, part]) => (String(part).includes("\n") ? `${name}:\n${String(part)}` : `${name}: ${String(part)}`)).join("\n");
  }
  return JSON.stringify(value, null, 2);
}

export function long(text: string, kind: "text" | "code"): HTMLElement {
  const box = h("pre", { class: kind === "text" ? "wrap said-text" : "wrap", tabindex: 0, dir: "auto" }, text.slice(0, FIRST));
  if (text.length <= FIRST) return box;
  const rest = text.length - FIRST;
  const more = h("button", { onclick: () => all() }, `Show ${whole(rest)} more characters`);
  const place = h("div", null, box, more);
  const all = () => {
    more.remove();
    box.append(h("span", null, text.slice(FIRST)));
  };
  return place;
}

function used(usage: unknown): string {
  if (!isObject(usage)) return "";
  const of = (name: string) => (typeof usage[name] === "number" ? usage[name] : 0);
  const read = of("input_tokens") + of("cache_read_input_tokens") + of("cache_creation_input_tokens");
  return read > 0 ? `${whole(read)} tokens in, ${whole(of("output_tokens"))} out` : "";
}
