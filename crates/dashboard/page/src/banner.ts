// A banner above every view while the daemon is degraded, with the reason.

import { type Health, client } from "./api.ts";
import { fill, h } from "./dom.ts";

/** Milliseconds between two requests for the daemon's health while the page is visible. */
const EVERY_MS = 15_000;

export class HealthBanner {
  readonly node = h("div", { class: "banner", role: "alert", hidden: true });
  #shown = "";

  /** Follows the daemon's health until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    const timer = setInterval(() => {
      if (!document.hidden) void this.look(signal);
    }, EVERY_MS);
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    void this.look(signal);
  }

  async look(signal: AbortSignal): Promise<void> {
    try {
      this.#show(problemOf(await client.get("/health", { signal })));
    } catch {
      // The header already shows that the daemon does not answer.
    }
  }

  #show(problem: string): void {
    // Screen readers announce every change.
    if (problem === this.#shown) return;
    this.#shown = problem;
    this.node.hidden = problem === "";
    fill(this.node, problem !== "" && [h("strong", null, "The daemon is degraded"), `: ${problem}. `, h("a", { href: "#/doctor" }, "Details")]);
  }
}

/** Returns what is wrong with the daemon; empty if it is healthy. */
export function problemOf({ status, detail }: Health): string {
  if (status === "ok") return "";
  return (detail ?? "it gave no reason").replace(/\.$/, "");
}
