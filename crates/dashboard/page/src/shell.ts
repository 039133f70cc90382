// The frame around every view: navigation, the state of the connection, and help.

import { client, isReachable, onReachability } from "./api.ts";
import { HealthBanner } from "./banner.ts";
import { h, mark } from "./dom.ts";
import { Events, type State } from "./events.ts";
import { PLACES, help, listen } from "./keys.ts";
import { link, read } from "./route.ts";
import { say } from "./dialog.ts";
import { nextTheme } from "./theme.ts";
import { type View, empty, failure, later } from "./view.ts";
import { candidates } from "./views/candidates.ts";
import { compactions } from "./views/compactions.ts";
import { health } from "./views/health.ts";
import { home } from "./views/home.ts";
import { instructions } from "./views/instructions.ts";
import { memories } from "./views/memories.ts";
import { memory } from "./views/memory.ts";
import { notes } from "./views/notes.ts";
import { proposals } from "./views/proposals.ts";
import { recall } from "./views/recall.ts";
import { report } from "./views/report.ts";
import { sessions } from "./views/sessions.ts";
import { team } from "./views/team.ts";
import { timeline } from "./views/timeline.ts";
import { todos } from "./views/todos.ts";

const VIEWS: Readonly<Record<string, View>> = { "": home, sessions, memories, memory, candidates, proposals, recall, instructions, team, health, jobs: health, cost: health, doctor: health };

/** Number of parts of an address; 1 for the other views. */
const PARTS: Readonly<Record<string, number>> = { memory: 3, team: 2 };

const SESSION_VIEWS: Readonly<Record<string, View>> = { timeline, compactions, notes, todos, report };

const STATES: Readonly<Record<State, string>> = { live: "live", waiting: "reconnecting…", paused: "paused" };

export class Shell {
  readonly #root: HTMLElement;
  readonly #events: Events;
  readonly #main = h("main", { id: "main", tabindex: -1 });
  readonly #nav = h("nav", { "aria-label": "Views" });
  readonly #banner = new HealthBanner();
  readonly #state = h("span", { class: "state", role: "status" }, "connecting…");
  readonly #life = new AbortController();
  #view = new AbortController();
  #shown = "";
  #stream: State = "waiting";

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#events = new Events((state) => this.#showState(state));
  }

  open(): void {
    this.#root.replaceChildren(
      h("a", { class: "skip", href: "#main", onclick: (event) => this.#skip(event) }, "Skip to content"),
      h("header", { class: "top" }, h("a", { class: "brand", href: "#/" }, "bethink"), this.#nav, this.#tools()),
      this.#banner.node,
      this.#main,
      h("div", { id: "said", role: "status", "aria-live": "polite" }),
    );
    this.#places();
    listenOnce({ reload: () => this.#reload(), back: () => this.#back(), theme: () => this.#theme() });
    this.#banner.follow(this.#life.signal);
    onReachability(this.#life.signal, () => this.#reachabilityChanged());
    this.#markOld();
    this.#events.start();
    this.#events.listen(this.#life.signal, (event) => {
      if (event.event === "reset") this.#refresh();
      if (event.event === "proposal" || event.event === "reset") this.#count();
    });
    this.#count();
    this.show();
  }

  close(): void {
    this.#view.abort();
    this.#life.abort();
    this.#events.stop();
    listenOnce(null);
  }

  /** Shows the view that the address names, unless it is already shown. */
  show(): void {
    if (location.hash === this.#shown && this.#main.childElementCount > 0) return;
    this.#draw();
    scrollTo(0, 0);
    // Screen readers announce the new view.
    this.#main.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }

  #reachabilityChanged(): void {
    this.#markOld();
    this.#showState(this.#stream);
    if (!isReachable()) return;
    this.#events.retryNow();
    this.#refresh();
    this.#count();
  }

  /** Marks what is shown while it may be old. */
  #markOld(): void {
    this.#main.classList.toggle("old", !isReachable());
  }

  /** Shows the newest state of the view, but does not disturb somebody who is typing. */
  #refresh(): void {
    const fields = [...this.#main.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("textarea, input[type=text]")];
    if (fields.some((field) => field.value !== field.defaultValue)) return;
    this.#draw();
  }

  #draw(): void {
    this.#view.abort();
    this.#view = new AbortController();
    this.#shown = location.hash;
    const route = read(location.hash);
    const [first = ""] = route.path;
    for (const place of this.#nav.querySelectorAll("a")) {
      const at = place.dataset["place"] ?? "";
      const here = at === first || (at === "sessions" && first === "session") || (at === "memories" && first === "memory") || (at === "health" && first === "instructions");
      if (here) {
        mark(place, "aria-current", "page");
        this.#nav.scrollLeft = Math.max(0, place.offsetLeft - this.#nav.clientWidth / 2);
      } else place.removeAttribute("aria-current");
    }
    const signal = this.#view.signal;
    const title = (text: string) => {
      if (!signal.aborted) document.title = text === "" ? "bethink" : `${text} · bethink`;
    };
    const view = first === "session" ? SESSION_VIEWS[route.path[2] ?? "timeline"] : route.path.length <= (PARTS[first] ?? 1) ? VIEWS[first] : undefined;
    this.#main.replaceChildren();
    if (!view) {
      this.#main.append(empty("Page not found.", h("a", { href: "#/" }, "Back to Home")));
      return;
    }
    const reload = () => this.#draw();
    const failed = (error: unknown) => {
      if (!signal.aborted) this.#main.replaceChildren(failure(error, reload));
    };
    try {
      void Promise.resolve(view(this.#main, { route, signal, events: this.#events, title, reload })).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #places(): void {
    const places = PLACES.map((place) =>
      h("a", { href: link(place.path), "data-place": place.path[0] ?? "" }, place.name, place.name === "Proposals" && h("span", { class: "count", hidden: true })),
    );
    this.#nav.replaceChildren(...places);
  }

  #tools(): HTMLElement {
    return h(
      "div",
      { class: "tools" },
      this.#state,
      h("button", { class: "quiet", "aria-label": "Theme", title: "Theme (t)", onclick: () => this.#theme() }, "◐"),
      h("button", { class: "quiet", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)", onclick: () => help() }, "?"),
    );
  }

  #showState(state: State): void {
    this.#stream = state;
    const [name, words] = isReachable() ? [state, STATES[state]] : ["waiting", "offline"];
    mark(this.#state, "data-state", name);
    if (this.#state.textContent !== words) this.#state.textContent = words;
    if (state === "live" && isReachable()) void this.#banner.look(this.#life.signal);
  }

  /** What is shown stays while nothing newer can be read; the banner says so. */
  #reload(): void {
    if (isReachable()) this.#draw();
  }

  #theme(): void {
    const theme = nextTheme();
    say(theme === "system" ? "Theme: same as the system" : `Theme: ${theme}`);
  }

  readonly #count = later(150, this.#life.signal, () => {
    void client
      .get("/v1/proposals", { signal: this.#life.signal })
      .then(({ proposals }) => {
        const count = this.#nav.querySelector<HTMLElement>(".count");
        if (!count) return;
        count.hidden = proposals.length === 0;
        count.textContent = String(proposals.length);
        count.setAttribute("aria-label", `${proposals.length} to review`);
      })
      .catch(() => undefined);
  });

  #back(): void {
    const { path } = read(location.hash);
    if (path[0] === "session") location.hash = path.length > 3 ? link(path.slice(0, 3)) : "#/sessions";
    else if (path.length > 1) history.back();
    else if (path.length > 0) location.hash = "#/";
  }

  #skip(event: Event): void {
    event.preventDefault();
    this.#main.focus();
  }
}

type Actions = Parameters<typeof listen>[0];

let actions: Actions | null = null;
let listening = false;

/** Adds one listener for the whole life of the page, which calls the current shell. */
function listenOnce(now: Actions | null): void {
  actions = now;
  if (listening) return;
  listening = true;
  listen({ reload: () => actions?.reload(), back: () => actions?.back(), theme: () => actions?.theme() });
}
