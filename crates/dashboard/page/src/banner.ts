// A banner above every view while the daemon does not answer, while it is degraded, with the reason, or while recording is paused.

import { type Health, client, isReachable, onReachability } from "./api.ts";
import { say } from "./dialog.ts";
import { fill, h } from "./dom.ts";
import { exact } from "./time.ts";
import { wordsOf } from "./view.ts";

/** Milliseconds between two requests for the daemon's health while the page is visible, and while the daemon does not answer. */
const EVERY_MS = 15_000;
const OFFLINE_MS = 2_000;

export class HealthBanner {
  readonly node = h("div", { class: "banner", role: "alert", hidden: true });
  #shown = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the daemon last answered. */
  #answered = Date.now();

  /** Follows the daemon's health until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    signal.addEventListener("abort", () => clearTimeout(this.#timer), { once: true });
    onReachability(signal, () => {
      if (isReachable()) void this.look(signal);
      else this.#showOffline();
      this.#wait(signal);
    });
    if (!isReachable()) this.#showOffline();
    void this.look(signal);
    this.#wait(signal);
  }

  async look(signal: AbortSignal): Promise<void> {
    try {
      const health = await client.get("/health", { signal });
      this.#answered = Date.now();
      this.#show(problemOf(health), pauseOf(health));
    } catch {
      // The banner already shows that the daemon does not answer.
    }
  }

  #wait(signal: AbortSignal): void {
    clearTimeout(this.#timer);
    const look = async () => {
      if (!document.hidden) await this.look(signal);
      if (!signal.aborted) this.#wait(signal);
    };
    this.#timer = setTimeout(() => void look(), isReachable() ? EVERY_MS : OFFLINE_MS);
  }

  #showOffline(): void {
    this.#shown = "offline";
    this.node.classList.add("offline");
    this.node.hidden = false;
    fill(this.node, h("p", null, h("strong", null, "The daemon does not answer"), `. What you see is from ${exact(new Date(this.#answered).toISOString()).slice(11, 16)} or earlier, and nothing can be saved. Run `, h("code", null, "bethink up"), " if the daemon is not running. This page reconnects by itself."));
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
    return h("button", { onclick: () => void resume() }, "Resume");
  }

  #show(problem: string, pause: string): void {
    // Screen readers announce every change.
    if (problem + pause === this.#shown) return;
    this.#shown = problem + pause;
    this.node.classList.remove("offline");
    this.node.hidden = this.#shown === "";
    fill(this.node, pause !== "" && h("p", null, h("strong", null, pause), ": nothing is recorded or learned. ", this.#resume()), problem !== "" && [h("strong", null, "The daemon is degraded"), `: ${problem}. `, h("a", { href: "#/health" }, "Details")]);
  }
}

/** Returns that recording is paused, and until when; empty if it is not. */
export function pauseOf({ pause }: Health): string {
  if (pause === undefined || pause === null) return "";
  return pause.until ? `Paused until ${exact(pause.until).slice(0, 16)}` : "Paused";
}

/** Returns what is wrong with the daemon; empty if it is healthy. */
export function problemOf({ status, detail }: Health): string {
  if (status === "ok") return "";
  return (detail ?? "it gave no reason").replace(/\.$/, "");
}
