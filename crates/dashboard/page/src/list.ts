// What long lists share: which rows to create first, and pages that are read when they are near the screen.

/** Milliseconds in which a frame creates rows; the others follow in the next frames. */
export const FRAME_MS = 6;

/** The rows from `first` to `last`: those on the screen first, then those below and above it. */
export function nearestFirst(first: number, top: number, last: number): number[] {
  const rows: number[] = [];
  for (let index = top; index <= last; index++) rows.push(index);
  for (let index = top - 1; index >= first; index--) rows.push(index);
  return rows;
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
