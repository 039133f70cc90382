// The topics in a project's memory.

import { type MemoriesPage, type Memory, client } from "../api.ts";
import { h, show } from "../dom.ts";
import { List } from "../list.ts";
import { bytes, count } from "../number.ts";
import { chooser } from "../project.ts";
import { link, replace } from "../route.ts";
import { time } from "../time.ts";
import { type Context, badge, empty, failure, heading, later } from "../view.ts";

const PAGE = 500;
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
  readonly #list: List;
  readonly #place = h("div");
  readonly #sum = h("p", { class: "faint sum", role: "status" });
  readonly #filter: HTMLInputElement;
  #project = "";
  #all: Memory[] = [];
  #shown: Memory[] = [];
  #asked = 0;

  constructor(context: Context) {
    this.#context = context;
    this.#filter = h("input", { type: "search", placeholder: "Filter by name, type or description", "aria-label": "Filter memories", value: context.route.query.get("q") });
    this.#list = new List({ label: "Memories", rowHeight: () => (NARROW.matches ? 84 : 56), row: (index) => this.#row(index) }, context.signal);
  }

  async open(): Promise<void> {
    const chosen = await chooser(this.#context, (dir) => void this.#read(dir));
    this.#filter.addEventListener("input", () => this.#sift());
    this.node.append(heading("Memories", h("div", { class: "filters" }, this.#filter, chosen.node)), this.#sum, this.#place);
    const again = later(300, this.#context.signal, () => void this.#read(this.#project));
    this.#context.events.listen(this.#context.signal, (event) => {
      if (event.event === "memory") again();
    });
    if (chosen.value() === "") this.#place.append(empty("No project yet.", "Enter a project directory above."));
    else await this.#read(chosen.value());
  }

  /** Reads all pages, and shows each as it arrives. */
  async #read(project: string): Promise<void> {
    const asked = ++this.#asked;
    this.#project = project;
    replace(["memories"], { project, q: this.#filter.value });
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
    this.#shown = this.#all.filter((memory) => {
      const text = `${memory.scope} ${memory.name} ${memory.title ?? ""} ${memory.type ?? ""} ${memory.description ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    replace(["memories"], { project: this.#project, q: this.#filter.value });
    this.#sum.textContent = this.#all.length === 0 ? "" : words.length > 0 ? `${this.#shown.length} of ${count(this.#all.length, "memory", "memories")}` : count(this.#all.length, "memory", "memories");
    this.#list.count = this.#shown.length;
    if (this.#shown.length > 0) show(this.#place, this.#list.node);
    else if (this.#all.length > 0) this.#place.replaceChildren(empty("No matching memories.", "Recall also searches their content."));
    else this.#place.replaceChildren(empty("No memories yet.", "To add one, run `bethink remember TEXT`. bethink also learns from sessions."));
    this.#list.refresh();
  }

  #row(index: number): HTMLElement {
    const memory = this.#shown[index];
    if (!memory) return h("a", { class: "row memory-row" });
    return h(
      "a",
      { class: "row memory-row", href: link(["memory", memory.scope, memory.name], { project: this.#project }) },
      h("span", { class: "name" }, h("span", { class: "title", dir: "auto" }, memory.title ?? memory.name), h("span", { class: "faint line", dir: "auto" }, memory.description ?? "")),
      h("span", { class: "marks" }, memory.scope === "team" && badge("team", "team"), memory.unmerged && badge(`on ${memory.unmerged}, not merged`), memory.type && badge(memory.type)),
      h("span", { class: "number faint bytes" }, bytes(memory.bytes)),
      time(memory.modified),
    );
  }
}
