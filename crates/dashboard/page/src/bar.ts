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
  readonly #ticks: HTMLElement;
  readonly #labelled: boolean;

  /** `labelled` shows the names of the thresholds below the bar. */
  constructor(labelled = false) {
    this.#labelled = labelled;
    this.#track = h("div", { class: "track" });
    this.#ticks = h("div", { class: "ticks", "aria-hidden": "true" });
    for (const part of PARTS) {
      const piece = h("span", { class: `piece part-${part}` });
      this.#pieces.set(part, piece);
      this.#track.append(piece);
    }
    this.node = h("div", { class: labelled ? "bar labelled" : "bar", role: "meter", "aria-valuemin": 0, "aria-valuenow": 0, "aria-label": "Context window" }, this.#track, this.#ticks);
  }

  show(filled: Filled): void {
    const { tokens, thresholds } = filled;
    const window = Math.max(thresholds.window, tokens, 1);
    const parts: Partial<PartTokens> = filled.parts ?? { tail: tokens };
    // The parts are estimated one by one, so they are scaled to the total.
    const sum = PARTS.reduce((all, part) => all + (parts[part] ?? 0), 0);
    const scale = sum > 0 ? tokens / sum / window : 0;
    for (const part of PARTS) {
      const piece = this.#pieces.get(part);
      if (piece) piece.style.width = `${(100 * scale * (parts[part] ?? 0)).toFixed(3)}%`;
    }
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
  const rows = PARTS.filter((part) => report.parts[part] > 0).map((part) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, h("span", { class: `swatch part-${part}`, "aria-hidden": "true" }), PART_NAMES[part]),
      h("td", { class: "number" }, whole(report.parts[part])),
      h("td", { class: "number faint" }, `${((100 * report.parts[part]) / Math.max(1, report.thresholds.window)).toFixed(1)}%`),
    ),
  );
  return h("table", { class: "legend" }, h("caption", { class: "unseen" }, "Tokens in the context window, by part"), h("tbody", null, rows));
}
