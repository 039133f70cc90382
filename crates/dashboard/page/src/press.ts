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
for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => setTimeout(release), { capture: true });
// The button was released outside of the window.
addEventListener("pointermove", (event) => pressed && event.buttons === 0 && release(), { capture: true, passive: true });

/** Whether a row of a list is pressed. */
export function isPressed(): boolean {
  return pressed;
}

/** Makes a change now, or when no button is pressed any more. The same function waits only once. */
export function whenReleased(change: () => void): void {
  if (pressed) waiting.add(change);
  else change();
}
