// The choice of a project: one that has sessions, or any directory.

import { client } from "./api.ts";
import { h } from "./dom.ts";
import type { Context } from "./view.ts";

const KEPT_AS = "bethink-project";

export interface Chooser {
  readonly node: HTMLElement;
  readonly value: () => string;
}

/** Starts with the project in the address, or else the one chosen last, or else the first. */
export async function chooser(context: Context, chosen: (dir: string) => void): Promise<Chooser> {
  const { projects } = await client.get("/v1/projects", { signal: context.signal });
  const kept = context.route.query.get("project") ?? localStorage.getItem(KEPT_AS) ?? projects[0]?.project_dir ?? "";
  const input = h("input", { list: "projects", "aria-label": "Project directory", placeholder: "Project directory", value: kept, class: "project", spellcheck: "false", autocomplete: "off" });
  const choose = () => {
    const dir = input.value.trim();
    if (dir === "") return;
    localStorage.setItem(KEPT_AS, dir);
    chosen(dir);
  };
  input.addEventListener("change", choose);
  // The browser only suggests directories that match the text, so typing should replace it.
  input.addEventListener("focus", () => input.select());
  const list = h("datalist", { id: "projects" }, projects.map(({ project_dir }) => h("option", { value: project_dir })));
  return { node: h("span", { class: "project-box" }, h("span", { class: "faint", "aria-hidden": "true" }, "in"), input, list), value: () => input.value.trim() };
}
