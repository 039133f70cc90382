// A dialog with one message and all of its content.

import type { HistoryMessage } from "./api.ts";
import { modal } from "./dialog.ts";
import { fill, h } from "./dom.ts";
import { messageView } from "./message-view.ts";
import { failure } from "./view.ts";

/** Shows message `seq`. The arrow keys show those before and after it, up to `last`. */
export function showMessage(seq: number, last: number, read: (seq: number) => Promise<HistoryMessage | undefined>, closed: () => void): void {
  const place = h("div");
  const previous = h("button", { onclick: () => step(-1) }, "← Previous");
  const next = h("button", { onclick: () => step(1) }, "Next →");
  let at = seq;
  const draw = async () => {
    previous.disabled = at <= 1;
    next.disabled = at >= last;
    const heading = dialog.querySelector("h2");
    if (heading) heading.textContent = `Message ${at}`;
    try {
      const [wanted, stored] = [at, await read(at)];
      if (wanted === at) fill(place, stored ? messageView(stored) : h("p", { class: "faint" }, "The message could not be found."));
    } catch (error) {
      fill(place, failure(error));
    }
  };
  const step = (by: number) => {
    if (at + by < 1 || at + by > last) return;
    at += by;
    void draw();
  };
  const close = h("button", { onclick: () => dialog.close() }, "Close");
  const dialog = modal(`Message ${seq}`, [place, h("div", { class: "buttons" }, previous, next, close)], closed);
  dialog.classList.add("wide");
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" || event.key === "k") step(-1);
    if (event.key === "ArrowRight" || event.key === "j") step(1);
  });
  close.focus();
  void draw();
}
