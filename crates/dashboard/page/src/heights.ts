// Heights of the rows of a long list, and their sums. Changing one height, and finding the row at a position, take
// logarithmic time: a list of 100,000 rows is measured while it scrolls.

export class Heights {
  /** A Fenwick tree: entry `i` has the sum of the `i & -i` heights that end at row `i - 1`. */
  #tree = new Float64Array(1);
  #own = new Float64Array(0);

  /** Replaces all heights, except the first `same`. */
  fill(count: number, height: (row: number) => number, same = 0): void {
    const [old, own, tree] = [this.#own, new Float64Array(count), new Float64Array(count + 1)];
    for (let at = 1; at <= count; at++) {
      const one = (own[at - 1] = (at <= same ? old[at - 1] : undefined) ?? height(at - 1));
      const sum = (tree[at] = (tree[at] ?? 0) + one);
      const above = at + (at & -at);
      if (above <= count) tree[above] = (tree[above] ?? 0) + sum;
    }
    [this.#own, this.#tree] = [own, tree];
  }

  get count(): number {
    return this.#own.length;
  }

  get total(): number {
    return this.top(this.count);
  }

  of(row: number): number {
    return this.#own[row] ?? 0;
  }

  /** Returns the sum of the heights of all rows before this one. */
  top(row: number): number {
    let sum = 0;
    for (let at = Math.min(row, this.count); at > 0; at -= at & -at) sum += this.#tree[at] ?? 0;
    return sum;
  }

  set(row: number, height: number): void {
    const more = height - this.of(row);
    if (more === 0 || row < 0 || row >= this.count) return;
    this.#own[row] = height;
    for (let at = row + 1; at <= this.count; at += at & -at) this.#tree[at] = (this.#tree[at] ?? 0) + more;
  }

  /** Returns the row that covers a position; the last row for positions after the end. */
  at(position: number): number {
    let [row, left] = [0, Math.max(0, position)];
    for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.count))); step >= 1; step /= 2) {
      const next = row + step;
      const height = this.#tree[next];
      if (next <= this.count && height !== undefined && height <= left) {
        row = next;
        left -= height;
      }
    }
    return Math.max(0, Math.min(row, this.count - 1));
  }
}
