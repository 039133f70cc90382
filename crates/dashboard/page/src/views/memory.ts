// One memory: its content, its source, and its earlier versions.

import { type MemoriesPage, type Memory, type MemoryScope, type MemorySource, type MemoryVersion, client } from "../api.ts";
import { ask, modal, say } from "../dialog.ts";
import { diffView } from "../diff-view.ts";
import { type Child, fill, h } from "../dom.ts";
import { split } from "../markdown.ts";
import { listTitle } from "../names.ts";
import { bytes, count } from "../number.ts";
import { Editor } from "../editor.ts";
import { draftOf } from "../drafts.ts";
import { draftKey, memoryTools, writeMemory } from "../memory-actions.ts";
import { prose } from "../prose.ts";
import { recalledIn } from "../recalls.ts";
import { RECALL_WORDS, SCOPE_WORDS } from "../scopes.ts";
import { link } from "../route.ts";
import { time } from "../time.ts";
import { type Context, badge, heading, into, later, wordsOf } from "../view.ts";

const VERSIONS = 50;

export async function memory(main: HTMLElement, context: Context): Promise<void> {
  const [, scope = "", name = ""] = context.route.path;
  const project = context.route.query.get("project") ?? "";
  context.title(name);
  // The daemon refuses a scope that it does not know.
  const one = new OneMemory(context, scope as MemoryScope, name, project);
  main.append(one.node);
  await one.draw();
  if (context.route.query.get("edit") !== null || draftOf(one.key)) one.edit();
  const again = later(200, context.signal, () => void one.draw());
  context.events.listen(context.signal, (event) => {
    if (event.event === "memory") again();
  });
}

class OneMemory {
  readonly node = h("div");
  readonly #context: Context;
  readonly #project: string;
  readonly #scope: MemoryScope;
  readonly #name: string;
  readonly #body = h("div", { class: "memory-text" });
  /** Apart from the text, so that a read that finishes later cannot replace the editor. */
  readonly #form = h("div");
  readonly #source = h("p", { class: "faint" });
  readonly #history = h("div");
  readonly #links = h("section");
  readonly #recalled = h("section");
  readonly #tools: HTMLElement;
  #text = "";
  #etag = "";
  #editor: Editor | null = null;

  constructor(context: Context, scope: MemoryScope, name: string, project: string) {
    this.#context = context;
    this.#scope = scope;
    this.#project = project;
    this.#name = name;
    const back = h("a", { href: link(["memories"], { project }) }, "Memories");
    const place = { project, scope, name };
    this.#tools = memoryTools({ place, etag: () => this.#etag, text: () => this.#text, edit: () => this.edit(), changed: () => void this.draw(), signal: context.signal });
    const aside = h("div", null, this.#history, this.#links, this.#recalled);
    this.node.append(h("p", { class: "crumbs" }, back, ` / ${SCOPE_WORDS[scope] ?? scope}`), heading(name, scope === "team" && badge("team", "team"), this.#tools), this.#source, h("div", { class: "sides" }, h("div", null, this.#body, this.#form), aside));
  }

  #options<Q>(query?: Q) {
    return {
      path: { scope: this.#scope, name: this.#name },
      query: { project_dir: this.#project, ...query },
      signal: this.#context.signal,
    };
  }

  get key(): string {
    return draftKey({ project: this.#project, scope: this.#scope, name: this.#name });
  }

  /** Shows the editor in place of the text. Events of the daemon do not touch it. */
  edit(): void {
    // Unsaved text can be read even if the memory is gone.
    if (this.#editor || (this.#etag === "" && !draftOf(this.key))) return this.#editor?.focus();
    this.#editor = new Editor({
      what: "memory",
      key: this.key,
      base: this.#text,
      etag: this.#etag,
      signal: this.#context.signal,
      save: async (text, etag) => {
        await writeMemory({ project: this.#project, scope: this.#scope, name: this.#name }, text, etag);
        const described = descriptionOf(text);
        const same = described !== undefined && described === descriptionOf(this.#text);
        say(same ? `Saved. The description, which lists and recall use, is still “${described}”.` : "Saved. The earlier version is in the history.");
      },
      closed: () => {
        this.#editor = null;
        this.#form.replaceChildren();
        this.node.classList.remove("editing");
        void this.draw();
        this.#tools.querySelector<HTMLElement>("button")?.focus();
      },
    });
    this.node.classList.add("editing");
    fill(this.#form, this.#editor.node);
    this.#editor.focus();
  }

  async draw(): Promise<void> {
    const read = () => client.text("/v1/memories/{scope}/{name}", this.#options());
    await into(this.#body, this.#context, read, (file) => {
      [this.#text, this.#etag] = [file.text, file.etag];
      for (const button of this.#tools.querySelectorAll("button")) button.disabled = false;
      return this.#show(file.text);
    });
    await Promise.all([this.#versions(), this.#provenance(), this.#backlinks(), this.#recalled.childElementCount === 0 && this.#recalls()]);
  }

  /** Lists the memories that link to this one: their text contains its name within double brackets or as a file. */
  async #backlinks(): Promise<void> {
    const query = { project_dir: this.#project, q: this.#name, limit: 50 };
    await into(this.#links, this.#context, () => client.get("/v1/memories/search", { query, signal: this.#context.signal }), ({ hits }) => {
      const from = hits.filter((hit) => (hit.name !== this.#name || hit.scope !== this.#scope) && hit.snippet.includes(this.#name));
      if (from.length === 0) return null;
      return [h("h2", null, "Mentioned in"), h("ul", { class: "plain" }, from.map((hit) => h("li", null, h("a", { href: link(["memory", hit.scope, hit.name], { project: this.#project }) }, hit.name))))];
    });
  }

  async #recalls(): Promise<void> {
    const read = () => recalledIn(this.#project, this.#scope, this.#name, this.#context.signal);
    await into(this.#recalled, this.#context, read, ({ found, searched }) => [
      h("h2", null, "Recalled"),
      found.length === 0
        ? h("p", { class: "faint" }, `Not recalled in the project's newest ${count(searched, "session")}.`)
        : h("ul", { class: "plain" }, found.map((one) => h("li", null, h("a", { href: link(["session", one.session.id], { seq: one.seq }) }, listTitle(one.session)), " ", time(one.at, true)))),
      h("p", null, h("a", { href: link(["recall"], { project: this.#project, q: this.#name.replace(/[-_/]+/g, " ") }) }, "Try recalling it by name")),
    ]);
  }

  /** Reads the age and the source, which only the list of memories contains. */
  async #provenance(): Promise<void> {
    let cursor: string | null | undefined;
    try {
      do {
        const query = { project_dir: this.#project, scope: this.#scope, limit: 500, cursor };
        const page: MemoriesPage = await client.get("/v1/memories", { query, signal: this.#context.signal });
        const found = page.memories.find((memory) => memory.name === this.#name);
        if (found) {
          const recall = this.#tools.querySelector("select");
          if (recall) [recall.value, recall.disabled] = [found.recall ?? "", false];
          return fill(this.#source, about(found));
        }
        cursor = page.next_cursor;
      } while (cursor);
    } catch {
      // Reading the text failed as well, and its error is shown.
    }
  }

  #show(file: string): Child {
    const { header, body } = split(file);
    return [header !== "" && h("details", { class: "front" }, h("summary", null, "Front matter"), h("pre", { class: "wrap", tabindex: 0 }, header)), h("div", { class: "paper" }, prose(body, { top: 2, within: (to) => this.#within(to) }))];
  }

  /** A link between memories stays in the page. */
  #within(to: string): string | null {
    if (/^[a-z][a-z0-9+.-]*:|^\/|^#|^\.\./i.test(to)) return null;
    const name = to.replace(/^\.\//, "").replace(/#.*$/, "").replace(/\.md$/, "");
    return name === "" ? null : link(["memory", this.#scope, name], { project: this.#project });
  }

  async #versions(): Promise<void> {
    const read = () => client.get("/v1/memories/{scope}/{name}/history", this.#options({ limit: VERSIONS }));
    await into(this.#history, this.#context, read, ({ versions }) => [
      h("h2", null, "History"),
      versions.length === 0 ? h("p", { class: "faint" }, "There are no earlier versions.") : h("ol", { class: "versions" }, versions.map((version) => this.#version(version))),
    ]);
  }

  #version(version: MemoryVersion): HTMLElement {
    const what = version.bytes == null ? "removed" : bytes(version.bytes);
    return h(
      "li",
      null,
      time(version.at, true),
      h("span", null, authorWords(version.author)),
      h("span", { class: "faint" }, what, version.note ? `, ${version.note}` : ""),
      version.session && h("a", { href: link(["session", version.session]) }, "session"),
      version.current ? badge("current", "good") : version.bytes != null && h("button", { class: "small", onclick: () => void this.#look(version) }, "Compare…"),
    );
  }

  async #look(version: MemoryVersion): Promise<void> {
    try {
      const old = await client.text("/v1/memories/{scope}/{name}/history", this.#options({ version: version.version }));
      const restore = h("button", { class: "primary", onclick: () => void this.#restore(version, dialog) }, "Restore this version…");
      const close = h("button", { onclick: () => dialog.close() }, "Close");
      const dialog = modal("Changes if this version is restored", [h("p", { class: "faint" }, "Written ", time(version.at), `, ${authorWords(version.author)}.`), diffView(this.#text, old.text), h("div", { class: "buttons" }, close, restore)]);
      dialog.classList.add("wide");
      close.focus();
    } catch (error) {
      say(wordsOf(error), true);
    }
  }

  async #restore(version: MemoryVersion, dialog: HTMLDialogElement): Promise<void> {
    const yes = await ask({ title: "Restore this version?", text: h("p", null, "The current version stays in the history."), yes: "Restore" });
    if (!yes) return;
    dialog.close();
    try {
      await client.post("/v1/memories/{scope}/{name}/restore", { ...this.#options(), body: { version: version.version } });
      say("Version restored.");
    } catch (error) {
      say(wordsOf(error), true);
    }
    await this.draw();
  }
}

function about(memory: Memory): Child {
  return [memory.type && [badge(memory.type), " "], memory.recall && [badge(RECALL_WORDS[memory.recall] ?? memory.recall), " "], "written ", time(memory.modified, true), memory.source && [". ", sourceWords(memory.source, memory.scope === "team" ? "a person" : "you")]];
}

export function sourceWords(source: MemorySource, person = "you"): Child {
  const how = originWords(source.strategy, person);
  if (source.session === "") return [how, source.time !== "" && [", ", time(source.time, true)]];
  // Sessions of the daemon have UUIDs of version 7; other IDs are a client's own.
  const known = /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(source.session);
  const isOne = source.messages.length === 1 && !source.messages[0]?.includes("-");
  return [
    `${how} in `,
    known ? h("a", { href: link(["session", source.session], { seq: source.messages[0] ?? null }) }, "a session") : `session ${source.session}`,
    source.messages.length > 0 && `, ${isOne ? "message" : "messages"} ${source.messages.slice(0, 5).join(", ")}`,
    source.time !== "" && [", ", time(source.time, true)],
  ];
}

/** Says how a memory came about, by the strategy in its front matter. */
function originWords(strategy: string, person: string): string {
  if (strategy.startsWith("import from ")) return `Imported from ${strategy.slice("import from ".length)}`;
  const words: Record<string, string> = {
    person: `Added by ${person}`,
    agent: "Added by an agent",
    embedded: "Learned without a model",
    model: "Learned by a model",
  };
  return words[strategy] ?? "Learned";
}

function authorWords(author: string): string {
  const words: Record<string, string> = {
    person: "by a person",
    agent: "by the agent",
    extraction: "learned from a session",
    dream: "by a dream",
    sync: "by a sync",
    restore: "restored",
    found: "changed outside bethink",
  };
  return words[author] ?? author;
}

function descriptionOf(text: string): string | undefined {
  return /^description: *(.+)/m.exec(text)?.[1];
}
