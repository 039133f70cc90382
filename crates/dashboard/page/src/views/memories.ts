// The topics in a project's memory.

import { type MemoriesPage, type Memory, client } from "../api.ts";
import { addMemory } from "../add-memory.ts";
import { h, select, show } from "../dom.ts";
import { onKey } from "../keys.ts";
import { Flow } from "../flow.ts";
import { bytes, count } from "../number.ts";
import { chooser } from "../project.ts";
import { recallsOf } from "../recalls.ts";
import { link, replace } from "../route.ts";
import { RECALL_WORDS, SCOPE_CHOICES, TYPES } from "../scopes.ts";
import { time } from "../time.ts";
import { type Context, badge, empty, failure, heading, later } from "../view.ts";

const PAGE = 500;
/** Number of the newest sessions that "not recalled" looks at. */
const SESSIONS = 50;
const DAY_MS = 86_400_000;
const AGES: readonly [string, string][] = [["7", "Last 7 days"], ["30", "Last 30 days"], ["-90", "Older than 90 days"]];
const SOURCES: readonly [string, string][] = [["person", "Added by a person"], ["session", "Learned from a session"], ["other", "Other"]];
const NARROW = matchMedia("(max-width: 759px)");

export async function memories(main: HTMLElement, context: Context): Promise<void> {
  context.title("Memories");
  const view = new Memories(context);
  main.append(view.node);
  await view.open();
}

class Memories {
  readonly node = h("div");
  readonly #context: Context;
  readonly #list: Flow;
  readonly #place = h("div");
  readonly #sum = h("p", { class: "faint sum", role: "status" });
  readonly #filter: HTMLInputElement;
  #project = "";
  #all: Memory[] = [];
  #shown: Memory[] = [];
  #asked = 0;
  readonly #scope = choice("Remembered for", SCOPE_CHOICES, "Everywhere");
  readonly #type = choice("Type", TYPES.map((type) => [type, type]), "Any type");
  readonly #age = choice("Age", AGES, "Any age");
  readonly #from = choice("Source", SOURCES, "Any source");
  readonly #use = choice("Use", [["never", "Not recalled"], ["recalled", "Recalled"], ["pinned", "Pinned"], ["suppressed", "Suppressed"]], "Any use");
  /** Scope and name of what was recalled; `null` until the filter asks. */
  #recalled: ReadonlySet<string> | null = null;

  constructor(context: Context) {
    this.#context = context;
    this.#filter = h("input", { type: "search", placeholder: "Filter by name, type or description", "aria-label": "Filter memories", value: context.route.query.get("q") });
    this.#list = new Flow({ label: "Memories", links: true, estimate: () => (NARROW.matches ? 84 : 56), row: (index) => this.#row(index) }, context.signal);
  }

  async open(): Promise<void> {
    const chosen = await chooser(this.#context, (dir) => void this.#read(dir));
    this.#filter.addEventListener("input", () => this.#sift());
    const selects = [this.#scope, this.#type, this.#age, this.#from, this.#use];
    for (const one of selects) {
      one.value = this.#context.route.query.get(keyOf(one)) ?? "";
      one.addEventListener("change", () => void this.#chosen());
    }
    const add = () => addMemory(this.#project, this.#context.signal);
    const button = h("button", { class: "primary", title: "a", "aria-keyshortcuts": "a", onclick: add }, "Add a memory");
    this.node.append(heading("Memories", h("div", { class: "filters" }, this.#filter, chosen.node, button)), h("div", { class: "selects" }, selects), this.#sum, this.#place);
    onKey(this.#context.signal, (key) => (key === "a" ? add : undefined));
    this.#project = chosen.value();
    if (this.#context.route.query.get("add") !== null) add();
    const again = later(300, this.#context.signal, () => void this.#read(this.#project));
    this.#context.events.listen(this.#context.signal, (event) => {
      if (event.event === "memory") again();
    });
    if (chosen.value() === "") this.#place.append(empty("No project yet.", "Enter a project directory above."));
    else await this.#chosen();
  }

  /** Reads what was recalled before its filter is used, and then the memories. */
  async #chosen(): Promise<void> {
    if (this.#counts && this.#recalled === null) {
      const { signal } = this.#context;
      try {
        const { sessions } = await client.get("/v1/sessions", { query: { project_dir: this.#project, limit: SESSIONS }, signal });
        this.#recalled = new Set((await recallsOf(sessions, signal)).map(({ scope, name }) => `${scope}/${name}`));
      } catch (error) {
        if (!signal.aborted) this.#place.replaceChildren(failure(error, () => void this.#chosen()));
        return;
      }
    }
    await this.#read(this.#project);
  }

  #address(): void {
    const chosen = Object.fromEntries([this.#scope, this.#type, this.#age, this.#from, this.#use].map((one) => [keyOf(one), one.value]));
    replace(["memories"], { project: this.#project, q: this.#filter.value, ...chosen });
  }

  /** Whether the filter needs to know what was recalled. */
  get #counts(): boolean {
    return ["never", "recalled"].includes(this.#use.value);
  }

  #fits(memory: Memory): boolean {
    const days = Number(this.#age.value);
    const age = days && (Date.now() - Date.parse(memory.modified)) / DAY_MS;
    const { source } = memory;
    const from = source?.strategy === "person" ? "person" : (source?.session ?? "") !== "" ? "session" : "other";
    const use = this.#use.value;
    if (this.#counts && this.#recalled?.has(`${memory.scope}/${memory.name}`) !== (use === "recalled")) return false;
    if (use !== "" && !this.#counts && RECALL_WORDS[memory.recall ?? ""] !== use) return false;
    if (days !== 0 && (days > 0 ? age > days : age < -days)) return false;
    return (this.#scope.value || memory.scope) === memory.scope && (this.#type.value || memory.type) === memory.type && (this.#from.value || from) === from;
  }

  /** Reads all pages, and shows each as it arrives. */
  async #read(project: string): Promise<void> {
    const asked = ++this.#asked;
    if (project !== this.#project) this.#recalled = null;
    this.#project = project;
    if (this.#counts && this.#recalled === null) return this.#chosen();
    this.#address();
    try {
      const all: Memory[] = [];
      let cursor: string | null | undefined;
      do {
        const page: MemoriesPage = await client.get("/v1/memories", { query: { project_dir: project, limit: PAGE, cursor }, signal: this.#context.signal });
        if (asked !== this.#asked) return;
        all.push(...page.memories);
        cursor = page.next_cursor;
        this.#all = all;
        this.#sift();
      } while (cursor);
    } catch (error) {
      if (!this.#context.signal.aborted) this.#place.replaceChildren(failure(error, () => void this.#read(project)));
    }
  }

  #sift(): void {
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const text = ({ scope, name, title, type, description }: Memory) => `${scope} ${name} ${title ?? ""} ${type ?? ""} ${description ?? ""}`.toLowerCase();
    const old = this.#shown;
    this.#shown = this.#all.filter((memory) => this.#fits(memory) && words.every((word) => text(memory).includes(word)));
    this.#address();
    const some = this.#shown.length < this.#all.length;
    const looked = !this.#counts ? "" : `, counting recalls in the project's newest ${SESSIONS} sessions`;
    this.#sum.textContent = this.#all.length === 0 ? "" : some ? `${this.#shown.length} of ${count(this.#all.length, "memory", "memories")}${looked}` : `${count(this.#all.length, "memory", "memories")}${looked}`;
    if (this.#shown.length > 0) show(this.#place, this.#list.node);
    else if (this.#all.length > 0) this.#place.replaceChildren(empty("No matching memories.", "This filter does not search the text of memories; the Recall view does."));
    else this.#place.replaceChildren(empty("No memories yet.", "Add one above. bethink also learns from sessions."));
    this.#list.reset(this.#shown.length, Math.min(this.#shown.length, this.#list.count));
    this.#list.renew(this.#list.shown.filter((index) => this.#shown[index] !== old[index]));
  }

  #row(index: number): HTMLElement {
    const memory = this.#shown[index];
    if (!memory) return h("a", { class: "row memory-row" });
    return h(
      "a",
      { class: "row memory-row", href: link(["memory", memory.scope, memory.name], { project: this.#project }) },
      h("span", { class: "name" }, h("span", { class: "title", dir: "auto" }, memory.title ?? memory.name), h("span", { class: "faint line", dir: "auto" }, memory.description ?? "")),
      h("span", { class: "marks" }, memory.scope === "team" && badge("team", "team"), memory.unmerged && badge(`on branch ${memory.unmerged}, not merged`), memory.recall && badge(RECALL_WORDS[memory.recall] ?? memory.recall), memory.type && badge(memory.type)),
      h("span", { class: "number faint bytes" }, bytes(memory.bytes)),
      time(memory.modified),
    );
  }
}

function choice(label: string, values: readonly (readonly [string, string])[], any: string): HTMLSelectElement {
  return select(label, [["", any], ...values]);
}

/** Name of a filter in the address. */
function keyOf(filter: HTMLSelectElement): string {
  return (filter.getAttribute("aria-label") ?? "").toLowerCase().replaceAll(" ", "-");
}
