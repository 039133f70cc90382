// A long list whose rows can have different heights. Only rows near the screen are elements, and Tab reaches one of them.
// A row's height is estimated until it is shown; what is on the screen stays where it is when rows above it turn out to be
// higher or lower.

import { h, mark } from "./dom.ts";
import { Heights } from "./heights.ts";
import { FRAME_MS, nearestFirst } from "./list.ts";
import { isModified, movement } from "./movement.ts";
import { isRowPressed, whenReleased } from "./press.ts";

export interface FlowOptions {
  readonly label: string;
  /** Rows are links, which have the focus themselves. */
  readonly links?: boolean;
  readonly estimate: (index: number) => number;
  readonly row: (index: number) => HTMLElement;
  /** Called with the first and last row that are on the screen or near it. */
  readonly near?: (first: number, last: number) => void;
  /** Called with the row at the upper end of the screen. */
  readonly moved?: (first: number) => void;
}

/** Pixels above and below the screen that have elements too, so that scrolling shows no gaps. */
const BEYOND = 600;

export class Flow {
  readonly node: HTMLElement;
  readonly #options: FlowOptions;
  readonly #heights = new Heights();
  readonly #items = new Map<number, HTMLElement>();
  readonly #sizes: ResizeObserver;
  /** Rows to create again. */
  readonly #stale = new Set<number>();
  #active = 0;
  #frame = 0;
  /** The row that was asked for, which stays where it is until the person moves on; -1 if there is none. */
  #wanted = -1;

  constructor(options: FlowOptions, signal: AbortSignal) {
    this.#options = options;
    this.node = h("div", { class: options.links ? "list" : "flow", role: "list", "aria-label": options.label });
    this.node.addEventListener("keydown", (event) => this.#key(event));
    this.node.addEventListener("focusin", (event) => this.#focused(event.target));
    // A row grows when it is opened, or when its text wraps differently.
    this.#sizes = new ResizeObserver((entries) => this.#resized(entries));
    const soon = () => this.#soon();
    addEventListener("scroll", soon, { passive: true, signal });
    addEventListener("resize", soon, { signal });
    for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(type, () => (this.#wanted = -1), { capture: true, passive: true, signal });
    signal.addEventListener("abort", () => this.#sizes.disconnect());
  }

  get count(): number {
    return this.#heights.count;
  }

  /** The row that Tab reaches. */
  get active(): number {
    return this.#active;
  }

  /** The rows that are elements. */
  get shown(): number[] {
    return [...this.#items.keys()];
  }

  /** Replaces all rows. Known heights are kept for as many rows as `same` says are unchanged. */
  reset(count: number, same = 0): void {
    this.#heights.fill(count, this.#options.estimate, same);
    for (const [index, item] of this.#items) if (index >= same) this.#remove(index, item);
    this.#active = Math.max(0, Math.min(this.#active, count - 1));
    this.#draw();
  }

  /** Creates rows again soon, if they are near the screen. */
  renew(rows: readonly number[]): void {
    for (const index of rows) if (this.#items.has(index)) this.#stale.add(index);
    whenReleased(this.#soon);
  }

  refresh(): void {
    this.renew(this.shown);
  }

  /** Scrolls to a row. Rows on the way may change their height, so the position is corrected once. */
  show(index: number, focus = true): void {
    this.#wanted = this.#active = Math.max(0, Math.min(index, this.count - 1));
    for (let again = 0; again < 2; again++) {
      this.node.style.height = `${this.#heights.total}px`;
      const top = this.node.getBoundingClientRect().top + scrollY + this.#heights.top(this.#active);
      const outside = top < scrollY + this.#head() || top + Math.min(200, this.#heights.of(this.#active)) > scrollY + innerHeight;
      if (outside || again > 0) scrollTo({ top: Math.max(0, top - this.#head() - 24) });
      if (!outside && again === 0) break;
      this.#draw();
    }
    this.#draw();
    if (!this.#items.has(this.#active) && this.count > 0) {
      // The frame had no time for it.
      this.#add(this.#active);
      this.#measure([this.#active]);
      this.#roving();
    }
    if (focus) this.#focus(this.#items.get(this.#active));
  }

  /** The element of a row that has the focus. */
  #target(item: HTMLElement): HTMLElement {
    return (this.#options.links ? item.firstElementChild : item) as HTMLElement;
  }

  #focus(item?: HTMLElement): void {
    if (item) this.#target(item).focus({ preventScroll: true });
  }

  /** Height of what covers the upper end of the screen: a bar of the view, or else only that of the page. */
  #head(): number {
    const bar = this.node.previousElementSibling;
    return bar instanceof HTMLElement ? (parseFloat(getComputedStyle(bar).top) || 0) + bar.offsetHeight : 75;
  }

  readonly #soon = (): void => {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  };

  #draw(): void {
    if (!this.node.isConnected) return;
    this.node.style.height = `${this.#heights.total}px`;
    if (this.count === 0) return;
    const above = -this.node.getBoundingClientRect().top;
    const [first, last] = [this.#heights.at(above - BEYOND), this.#heights.at(above + innerHeight + BEYOND)];
    for (const [index, item] of this.#items) {
      // Keep the row with the focus, which scrolling would otherwise lose.
      if ((index < first || index > last) && !item.contains(document.activeElement)) this.#remove(index, item);
    }
    this.#create(this.#missing(first, this.#heights.at(above), last));
    this.#roving();
    this.#options.near?.(first, last);
    this.#options.moved?.(this.#heights.at(above + this.#head()));
  }

  /** The rows without a current element: those on the screen first. */
  #missing(first: number, top: number, last: number): number[] {
    const missing = nearestFirst(first, top, last).filter((index) => !this.#items.has(index));
    if (this.#stale.size === 0) return missing;
    if (!isRowPressed()) return [...missing, ...this.#stale];
    whenReleased(this.#soon);
    return missing;
  }

  /** Creates as many rows as one frame has time for. Their heights are read together, which costs one layout. */
  #create(rows: readonly number[]): void {
    const end = performance.now() + FRAME_MS;
    const done: number[] = [];
    for (const index of rows) {
      if (done.length > 0 && performance.now() > end) break;
      const item = this.#items.get(index);
      if (item) this.#replace(index, item);
      else this.#add(index);
      done.push(index);
    }
    if (done.length < rows.length) this.#soon();
    if (done.length > 0) this.#measure(done);
  }

  #replace(index: number, item: HTMLElement): void {
    const focused = item.contains(document.activeElement);
    item.replaceChildren(this.#options.row(index));
    this.#stale.delete(index);
    if (focused) this.#focus(item);
  }

  #add(index: number): void {
    const item = h("div", { class: "item", role: "listitem", "aria-posinset": index + 1, "aria-setsize": this.count }, this.#options.row(index));
    item.dataset["index"] = String(index);
    item.style.top = `${this.#heights.top(index)}px`;
    // Screen readers use the order of the document.
    let next: number | null = null;
    for (const other of this.#items.keys()) if (other > index && (next === null || other < next)) next = other;
    this.node.insertBefore(item, next === null ? null : (this.#items.get(next) ?? null));
    this.#items.set(index, item);
    this.#sizes.observe(item);
  }

  #remove(index: number, item: HTMLElement): void {
    this.#sizes.unobserve(item);
    item.remove();
    this.#items.delete(index);
    this.#stale.delete(index);
  }

  /** Measures only rows whose height is not the known one: each new row is reported once. */
  #resized(entries: readonly ResizeObserverEntry[]): void {
    const other = entries.filter(({ target, borderBoxSize }) => Math.abs((borderBoxSize[0]?.blockSize ?? 0) - this.#heights.of(Number((target as HTMLElement).dataset["index"]))) >= 1);
    if (other.length > 0) this.#measure(other.map(({ target }) => Number((target as HTMLElement).dataset["index"])));
  }

  /** Reads the heights of rows. Scrolls by as much as the row that was asked for moves, or else the first on the screen. */
  #measure(rows: readonly number[]): void {
    const above = -this.node.getBoundingClientRect().top + this.#head();
    const anchor = this.#items.has(this.#wanted) ? this.#wanted : this.#heights.at(above);
    const before = this.#heights.top(anchor);
    let changed = false;
    for (const index of rows) {
      const height = this.#items.get(index)?.offsetHeight ?? 0;
      if (height === 0 || Math.abs(height - this.#heights.of(index)) < 1) continue;
      this.#heights.set(index, height);
      changed = true;
    }
    if (!changed) return;
    for (const [index, item] of this.#items) item.style.top = `${this.#heights.top(index)}px`;
    this.node.style.height = `${this.#heights.total}px`;
    const moved = this.#heights.top(anchor) - before;
    // The end of the last row is what is wanted of it: that is where a conversation ends.
    if (this.#wanted === this.count - 1) scrollTo({ top: document.documentElement.scrollHeight });
    else if (moved !== 0 && above > 0) scrollBy({ top: moved, behavior: "instant" });
    this.#soon();
  }

  #roving(): void {
    for (const [index, item] of this.#items) {
      this.#target(item).tabIndex = index === this.#active ? 0 : -1;
      mark(item, "aria-setsize", String(this.count));
    }
  }

  #focused(target: EventTarget | null): void {
    const item = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
    if (!item) return;
    this.#active = Number(item.dataset["index"]);
    this.#roving();
  }

  #key(event: KeyboardEvent): void {
    if (event.key === "Enter" && !isModified(event) && event.target === this.#items.get(this.#active)) {
      event.preventDefault();
      this.#items.get(this.#active)?.querySelector<HTMLElement>("[data-main]")?.click();
      return;
    }
    const above = -this.node.getBoundingClientRect().top + this.#head();
    const page = Math.max(1, this.#heights.at(above + innerHeight) - this.#heights.at(above) - 1);
    const step = movement(event, page, this.count);
    if (step === undefined) return;
    event.preventDefault();
    this.show(this.#active + step);
  }
}
