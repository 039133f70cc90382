// A long list. Only rows near the screen are elements, and Tab reaches one of them.

import { h, mark } from "./dom.ts";
import { movement } from "./movement.ts";
import { whenReleased } from "./press.ts";

export interface ListOptions {
  readonly label: string;
  /** Height of a row in pixels. It may depend on the width of the page. */
  readonly rowHeight: () => number;
  /** Creates a row, which can have the focus. */
  readonly row: (index: number) => HTMLElement;
  /** Called with the first and last row that are on the screen or near it. */
  readonly near?: (first: number, last: number) => void;
}

/** Number of rows above and below the screen, so that scrolling shows no gaps. */
const BEYOND = 12;
/** Milliseconds in which a frame creates rows; the others follow in the next frames. */
export const FRAME_MS = 6;

/** The rows from `first` to `last`: those on the screen first, then those below and above it. */
export function nearestFirst(first: number, top: number, last: number): number[] {
  const rows: number[] = [];
  for (let index = top; index <= last; index++) rows.push(index);
  for (let index = top - 1; index >= first; index--) rows.push(index);
  return rows;
}

export class List {
  readonly node: HTMLElement;
  readonly #options: ListOptions;
  readonly #rows = new Map<number, HTMLElement>();
  #count = 0;
  readonly #stale = new Set<number>();
  #active = 0;
  #frame = 0;

  constructor(options: ListOptions, signal: AbortSignal) {
    this.#options = options;
    this.node = h("div", { class: "list", role: "list", "aria-label": options.label });
    this.node.addEventListener("keydown", (event) => this.#key(event));
    this.node.addEventListener("focusin", (event) => this.#focused(event.target));
    const soon = () => this.#soon();
    addEventListener("scroll", soon, { passive: true, signal });
    addEventListener("resize", () => this.refresh(), { signal });
  }

  get count(): number {
    return this.#count;
  }

  set count(count: number) {
    this.#count = count;
    this.#active = Math.max(0, Math.min(this.#active, count - 1));
    this.#soon();
  }

  /** Creates all changed rows again. */
  refresh(isChanged: (index: number) => boolean = () => true): void {
    for (const index of this.#rows.keys()) if (isChanged(index)) this.#stale.add(index);
    whenReleased(this.#renew);
  }

  /** Creates one row again, if it is near the screen. */
  renew(index: number): void {
    this.#stale.add(index);
    whenReleased(this.#renew);
  }

  /** Keeps the focus. */
  readonly #renew = (): void => {
    for (const index of this.#stale) {
      const old = this.#rows.get(index);
      if (!old || index >= this.#count) continue;
      const focused = old.contains(document.activeElement);
      const row = this.#make(index);
      old.replaceWith(row);
      this.#rows.set(index, row);
      if (focused) this.#focus();
    }
    this.#stale.clear();
    this.#draw();
  };

  /** Scrolls to a row. */
  show(index: number, focus = true): void {
    this.#active = Math.max(0, Math.min(index, this.#count - 1));
    const height = this.#options.rowHeight();
    // The height does not yet include rows added since the last frame, and scrolling stops at the end of the page.
    this.node.style.height = `${this.#count * height}px`;
    const top = this.node.getBoundingClientRect().top + scrollY + this.#active * height;
    if (top < scrollY + 100 || top + height > scrollY + innerHeight - 40) {
      scrollTo({ top: Math.max(0, top - innerHeight / 2) });
    }
    this.#draw();
    this.#roving();
    if (focus) this.#focus();
  }

  #focus(): void {
    const row = this.#rows.get(this.#active)?.firstElementChild;
    if (row instanceof HTMLElement) row.focus({ preventScroll: true });
  }

  #soon(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    if (!this.node.isConnected) return;
    const height = this.#options.rowHeight();
    this.node.style.height = `${this.#count * height}px`;
    const top = this.node.getBoundingClientRect().top;
    const at = (position: number) => Math.max(0, Math.min(this.#count - 1, Math.floor((position - top) / height)));
    const [upper, lower] = [at(0), at(innerHeight)];
    const [first, last] = [Math.max(0, upper - BEYOND), Math.min(this.#count - 1, lower + BEYOND)];
    for (const [index, row] of this.#rows) {
      if (index >= first && index <= last) continue;
      // Keep the row with the focus, which scrolling would otherwise lose.
      if (index < this.#count && row.contains(document.activeElement)) continue;
      row.remove();
      this.#rows.delete(index);
    }
    const until = performance.now() + FRAME_MS;
    for (const index of nearestFirst(first, upper, last)) {
      if (this.#rows.has(index)) continue;
      if ((index < upper || index > lower) && performance.now() > until) {
        this.#soon();
        break;
      }
      const row = this.#make(index);
      this.#rows.set(index, row);
      this.node.insertBefore(row, this.#after(index));
    }
    this.#roving();
    if (last >= first) this.#options.near?.(first, last);
  }

  /** The row that follows in the document, which has the order that screen readers use. */
  #after(index: number): HTMLElement | null {
    let next: number | null = null;
    for (const other of this.#rows.keys()) {
      if (other > index && (next === null || other < next)) next = other;
    }
    return next === null ? null : (this.#rows.get(next) ?? null);
  }

  /** Creates a list item around the link or button of a row. */
  #make(index: number): HTMLElement {
    const row = this.#options.row(index);
    row.tabIndex = index === this.#active ? 0 : -1;
    const item = h("div", { class: "item", role: "listitem", "aria-posinset": index + 1, "aria-setsize": this.#count }, row);
    item.dataset["index"] = String(index);
    const height = this.#options.rowHeight();
    item.style.height = `${height}px`;
    item.style.top = `${index * height}px`;
    return item;
  }

  #roving(): void {
    for (const [index, item] of this.#rows) {
      const row = item.firstElementChild;
      if (row instanceof HTMLElement) row.tabIndex = index === this.#active ? 0 : -1;
      mark(item, "aria-setsize", String(this.#count));
    }
  }

  #focused(target: EventTarget | null): void {
    const row = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
    if (!row) return;
    this.#active = Number(row.dataset["index"]);
    this.#roving();
  }

  #key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(innerHeight / this.#options.rowHeight()) - 2);
    const step = movement(event, page, this.#count);
    if (step === undefined) return;
    event.preventDefault();
    this.show(this.#active + step);
  }
}

/** A long sequence that is read page by page, when it is near the screen. */
export class Pages<T> {
  readonly #items: (T | undefined)[] = [];
  readonly #asked = new Set<number>();
  readonly #size: number;
  readonly #read: (page: number, size: number) => Promise<readonly T[]>;
  readonly #came: (first: number, count: number) => void;

  constructor(size: number, read: (page: number, size: number) => Promise<readonly T[]>, came: (first: number, count: number) => void) {
    this.#size = size;
    this.#read = read;
    this.#came = came;
  }

  at(index: number): T | undefined {
    return this.#items[index];
  }

  want(first: number, last: number): void {
    for (let page = Math.floor(first / this.#size); page <= Math.floor(last / this.#size); page++) {
      if (!this.#asked.has(page)) void this.#fetch(page);
    }
  }

  /** Marks the page with this index as outdated, so that it is read again when it is needed. */
  stale(from: number): void {
    this.#asked.delete(Math.floor(from / this.#size));
  }

  async #fetch(page: number): Promise<void> {
    this.#asked.add(page);
    try {
      const items = await this.#read(page, this.#size);
      items.forEach((item, n) => {
        this.#items[page * this.#size + n] = item;
      });
      this.#came(page * this.#size, items.length);
    } catch {
      this.#asked.delete(page);
    }
  }
}
