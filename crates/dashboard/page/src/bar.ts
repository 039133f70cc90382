// The context window as a bar, with its parts and thresholds.

import { fill, h, mark } from "./dom.ts";
import { LEVEL_WORDS } from "./names.ts";
import { brief, whole } from "./number.ts";
import type { ContextReport, PartTokens, Thresholds } from "./api.ts";

export const PARTS: readonly (keyof PartTokens)[] = ["system", "tools", "instructions", "memory", "summary", "tail", "attachments"];

export const PART_NAMES: Readonly<Record<keyof PartTokens, string>> = {
  system: "System",
  tools: "Tools",
  instructions: "Instructions",
  memory: "Memory",
  summary: "Summary",
  tail: "Conversation",
  attachments: "Attachments",
};

const TICKS: readonly (keyof Thresholds & ("warning" | "auto" | "blocking"))[] = ["warning", "auto", "blocking"];

const TICK_NAMES = { warning: "warning", auto: "compacts", blocking: "full" } as const;

/** The figures that a bar shows. Without `parts`, the bar is one piece. */
export interface Filled {
  readonly tokens: number;
  readonly level: string;
  readonly thresholds: Thresholds;
  readonly parts?: PartTokens;
}

export class WindowBar {
  readonly node: HTMLElement;
  readonly #pieces = new Map<string, HTMLElement>();
  readonly #track: HTMLElement;
  readonly #rest = piece("rest");
  readonly #ticks: HTMLElement;
  readonly #labelled: boolean;

  /** `labelled` shows the names of the thresholds below the bar. */
  constructor(labelled = false) {
    this.#labelled = labelled;
    this.#track = h("div", { class: "track" });
    this.#ticks = h("div", { class: "ticks", "aria-hidden": "true" });
    for (const part of PARTS) {
      const element = piece(part);
      this.#pieces.set(part, element);
      this.#track.append(element);
    }
    this.#track.append(this.#rest);
    this.node = h("div", { class: labelled ? "bar labelled" : "bar", role: "meter", "aria-valuemin": 0, "aria-valuenow": 0, "aria-label": "Context window" }, this.#track, this.#ticks);
  }

  show(filled: Filled): void {
    const { tokens, thresholds } = filled;
    const window = Math.max(thresholds.window, tokens, 1);
    const parts: Partial<PartTokens> = filled.parts ?? { tail: tokens };
    const rest = restOf(tokens, parts);
    // The parts are estimated one by one, so they are scaled to the total.
    const sum = sumOf(parts);
    const scale = sum > 0 ? (tokens - rest) / sum / window : 0;
    const width = (piece: HTMLElement | undefined, share: number) => piece && (piece.style.width = `${(100 * share).toFixed(3)}%`);
    for (const part of PARTS) width(this.#pieces.get(part), scale * (parts[part] ?? 0));
    width(this.#rest, rest / window);
    fill(this.#ticks, TICKS.map((tick) => this.#tick(tick, thresholds[tick], window)));
    mark(this.node, "data-level", filled.level);
    mark(this.node, "aria-valuemax", String(thresholds.window));
    mark(this.node, "aria-valuenow", String(tokens));
    const label = `${whole(tokens)} of ${whole(thresholds.window)} tokens, ${LEVEL_WORDS[filled.level] ?? filled.level}; compacts at ${whole(thresholds.auto)}`;
    mark(this.node, "aria-valuetext", label);
  }

  #tick(name: keyof typeof TICK_NAMES, at: number, window: number): HTMLElement {
    const label = this.#labelled && h("span", { class: "label" }, h("span", null, TICK_NAMES[name]), ` ${brief(at)}`);
    const tick = h("span", { class: `tick ${name}` }, label);
    tick.style.left = `${((100 * at) / window).toFixed(3)}%`;
    return tick;
  }
}

/** An element in the color of a part. */
export function piece(part: string, kind = "piece"): HTMLElement {
  const element = h("span", { class: kind, "aria-hidden": "true" });
  element.style.setProperty("--part", `var(--part-${part})`);
  return element;
}

function sumOf(parts: Partial<PartTokens>): number {
  return PARTS.reduce((all, part) => all + (parts[part] ?? 0), 0);
}

/** Tokens that the provider counted and no part accounts for. A small difference is an error of the estimates. */
function restOf(tokens: number, parts: Partial<PartTokens>): number {
  const rest = tokens - sumOf(parts);
  return rest > tokens / 4 ? rest : 0;
}

/** Shows `38.6k of 200k`, and the tokens left until a compaction. */
export function figures(filled: { tokens: number; remaining: number; thresholds: { window: number } }): HTMLElement {
  return h(
    "span",
    { class: "figures" },
    h("strong", null, brief(filled.tokens)),
    ` of ${brief(filled.thresholds.window)}`,
    h("span", { class: "left" }, `${brief(filled.remaining)} left`),
  );
}

/** The parts as a table, with exact figures and the key to the colors. */
export function legend(report: ContextReport): HTMLElement {
  const row = (part: string, name: string, tokens: number) =>
    tokens > 0 &&
    h(
      "tr",
      null,
      h("th", { scope: "row" }, piece(part, "swatch"), name),
      h("td", { class: "number" }, whole(tokens)),
      h("td", { class: "number faint" }, `${((100 * tokens) / Math.max(1, report.thresholds.window)).toFixed(1)}%`),
    );
  const rows = [PARTS.map((part) => row(part, PART_NAMES[part], report.parts[part])), row("rest", "Not recorded: the agent's prompt and tools", restOf(report.tokens, report.parts))];
  return h("table", { class: "legend" }, h("caption", { class: "unseen" }, "Tokens in the context window, by part"), h("tbody", null, rows));
}
