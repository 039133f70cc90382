// The daemon, its model, the project's memory, its jobs and what they cost.

import { h } from "../dom.ts";
import { type Context, type View, heading } from "../view.ts";
import { cost } from "./cost.ts";
import { doctor } from "./doctor.ts";
import { jobs } from "./jobs.ts";

export async function health(main: HTMLElement, context: Context): Promise<void> {
  context.title("Health");
  const checks = h("div");
  main.append(heading("Health"), checks, folded("Jobs", jobs, context), folded("Cost of bethink's own model calls", cost, context));
  await doctor(checks, context);
}

/** A part that is read only when it is opened, because it matters rarely. */
function folded(name: string, view: View, context: Context): HTMLElement {
  const place = h("div");
  const box = h("details", { class: "health-part" }, h("summary", null, h("h2", null, name)), place);
  box.addEventListener("toggle", () => {
    if (box.open && place.childElementCount === 0) void view(place, context);
  });
  return box;
}
