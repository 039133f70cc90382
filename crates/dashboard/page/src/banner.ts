// A banner above every view while the daemon is degraded, with the reason, or while recording is paused.

import { type Health, client } from "./api.ts";
import { say } from "./dialog.ts";
import { fill, h } from "./dom.ts";
import { wordsOf } from "./view.ts";

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
      const health = await client.get("/health", { signal });
      this.#show(problemOf(health), pauseOf(health));
    } catch {
      // The header already shows that the daemon does not answer.
    }
  }

  #resume(): HTMLElement {
    const resume = async () => {
      try {
        await client.post("/v1/recording/resume", {});
        this.#show("", "");
      } catch (error) {
        say(wordsOf(error), true);
      }
    };
    return h("button", { type: "button", onclick: () => void resume() }, "Resume");
  }

  #show(problem: string, pause: string): void {
    // Screen readers announce every change.
    if (problem + pause === this.#shown) return;
    this.#shown = problem + pause;
    this.node.hidden = this.#shown === "";
    fill(this.node, pause !== "" && h("p", null, h("strong", null, pause), ": nothing is recorded or learned. ", this.#resume()), problem !== "" && [h("strong", null, "The daemon is degraded"), `: ${problem}. `, h("a", { href: "#/health" }, "Details")]);
  }
}

/** Returns that recording is paused, and until when; empty if it is not. */
export function pauseOf({ pause }: Health): string {
  if (pause === undefined || pause === null) return "";
  return pause.until ? `Paused until ${new Date(pause.until).toLocaleString()}` : "Paused";
}

/** Returns what is wrong with the daemon; empty if it is healthy. */
export function problemOf({ status, detail }: Health): string {
  if (status === "ok") return "";
  return (detail ?? "it gave no reason").replace(/\.$/, "");
}
