// Which rows of a conversation are shown.

import { EVERYTHING, type Filter, type Show, filesOf } from "./conversation.ts";
import type { OutlineMessage } from "./api.ts";
import { fill, h, select } from "./dom.ts";

const SHOWS: readonly [Show, string][] = [
  ["all", "Everything"],
  ["user", "Your messages"],
  ["errors", "Errors"],
  ["edits", "Edits"],
];
/** Number of files to choose from. */
const FILES = 200;

export class FilterBar {
  readonly node: HTMLElement;
  readonly #show = select("Show", SHOWS);
  readonly #file = h("select", { "aria-label": "File", class: "file-filter" });
  readonly #changed: (filter: Filter) => void;

  constructor(changed: (filter: Filter) => void) {
    this.#changed = changed;
    this.node = h("div", { class: "filter-bar", role: "group", "aria-label": "Filter" }, this.#show, this.#file);
    this.node.addEventListener("change", () => this.#tell());
    this.files([]);
  }

  /** Offers the files that the session's calls name. Keeps the choice. */
  files(messages: readonly OutlineMessage[]): void {
    const chosen = this.#file.value;
    const files = filesOf(messages).slice(0, FILES);
    if (files.length + 1 === this.#file.options.length) return;
    fill(this.#file, h("option", { value: "" }, "All files"), files.map(([path, count]) => h("option", { value: path }, `${short(path)} (${count})`)));
    this.#file.value = chosen;
  }

  clear(): void {
    this.#show.value = "all";
    this.#file.value = "";
    this.#tell();
  }

  #tell(): void {
    const filter = { show: this.#show.value as Show, file: this.#file.value };
    this.#changed(filter.show === "all" && filter.file === "" ? EVERYTHING : filter);
  }
}

function short(path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.slice(-2).join("/");
}
