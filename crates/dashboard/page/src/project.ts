// Which project a view is about: chosen from those that have sessions, or any directory typed in.

import { get } from "./api.ts";
import { h } from "./dom.ts";
import type { Context } from "./view.ts";

const KEPT_AS = "bethink-project";

export interface Chooser {
  readonly node: HTMLElement;
  readonly value: () => string;
}

/** The project of the address, else the last one that was looked at, else the first. */
export async function chooser(context: Context, chosen: (dir: string) => void): Promise<Chooser> {
  const { projects } = await get<{ projects: { project_dir: string }[] }>("/v1/projects", context.signal);
  const kept = context.route.query.get("project") ?? localStorage.getItem(KEPT_AS) ?? projects[0]?.project_dir ?? "";
  const input = h("input", { list: "projects", "aria-label": "Project directory", placeholder: "Project directory", value: kept, class: "project", spellcheck: "false", autocomplete: "off" });
  const choose = () => {
    const dir = input.value.trim();
    if (dir === "") return;
    localStorage.setItem(KEPT_AS, dir);
    chosen(dir);
  };
  input.addEventListener("change", choose);
  // The list shows only what fits the text that stands there: it goes away for the choice.
  input.addEventListener("focus", () => input.select());
  const list = h("datalist", { id: "projects" }, projects.map(({ project_dir }) => h("option", { value: project_dir })));
  return { node: h("span", { class: "project-box" }, h("span", { class: "faint", "aria-hidden": "true" }, "in"), input, list), value: () => input.value.trim() };
}
