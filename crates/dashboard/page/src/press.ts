// A browser sends no click if the pressed element is replaced before the button is released. Changes that replace rows
// of a list wait until then.

let pressed = false;
const waiting = new Set<() => void>();

function release(): void {
  pressed = false;
  const changes = [...waiting];
  waiting.clear();
  for (const change of changes) change();
}

addEventListener("pointerdown", ({ target }) => (pressed = target instanceof Element && target.closest("[data-index]") !== null), { capture: true });
// The click follows these events in the same task.
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(release), { capture: true });
// Of the window: the blur of an element does not bubble.
addEventListener("blur", release);
// The button was released outside of the window.
addEventListener("pointermove", (event) => pressed && event.buttons === 0 && release(), { capture: true, passive: true });

/** Whether a row of a list is pressed. */
export function isRowPressed(): boolean {
  return pressed;
}

/** Makes a change now, or when no button is pressed any more. A function that already waits is not added again. */
export function whenReleased(change: () => void): void {
  if (pressed) waiting.add(change);
  else change();
}
