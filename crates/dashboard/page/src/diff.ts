// Finds the difference between two strings, line by line.

export type Change = "same" | "added" | "removed";

export interface Line {
  readonly change: Change;
  readonly text: string;
  /** Line number from 1: in the old text for a removed line, otherwise in the new text. */
  readonly number: number;
}

/** Maximum number of steps. If more are needed, the whole middle counts as removed and added, which is correct but longer. */
const MOST_STEPS = 600;

export function diff(before: string, after: string): Line[] {
  const [a, b] = [lines(before), lines(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const told: Line[] = [];
  for (let i = 0; i < head; i++) told.push(line("same", a[i], i));
  told.push(...middle(a, b, head, a.length - tail, b.length - tail));
  for (let i = a.length - tail; i < a.length; i++) told.push(line("same", a[i], i));
  return told;
}

/** Returns the changed lines with some lines around them. `null` marks a gap. */
export function hunks(told: readonly Line[], around = 3): (Line | null)[] {
  const near = new Uint8Array(told.length);
  told.forEach((line, at) => {
    if (line.change === "same") return;
    near.fill(1, Math.max(0, at - around), Math.min(told.length, at + around + 1));
  });
  const shown: (Line | null)[] = [];
  told.forEach((line, at) => {
    if (near[at]) shown.push(line);
    else if (shown.at(-1) !== null || shown.length === 0) shown.push(null);
  });
  return shown;
}

function lines(text: string): string[] {
  if (text === "") return [];
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  return all;
}

function line(change: Change, text: string | undefined, index: number): Line {
  return { change, text: text ?? "", number: index + 1 };
}

/** Myers' greedy algorithm, for the part that differs. */
function middle(a: string[], b: string[], from: number, aEnd: number, bEnd: number): Line[] {
  const [n, m] = [aEnd - from, bEnd - from];
  const most = Math.min(n + m, MOST_STEPS);
  const furthest = new Map<number, number>([[1, 0]]);
  const trail: Map<number, number>[] = [];
  for (let d = 0; d <= most; d++) {
    trail.push(new Map(furthest));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1));
      let x = down ? (furthest.get(k + 1) ?? 0) : (furthest.get(k - 1) ?? 0) + 1;
      while (x < n && x - k < m && a[from + x] === b[from + x - k]) x++;
      furthest.set(k, x);
      if (x >= n && x - k >= m) return walkBack(a, b, from, n, m, trail);
    }
  }
  const out: Line[] = [];
  for (let i = from; i < aEnd; i++) out.push(line("removed", a[i], i));
  for (let i = from; i < bEnd; i++) out.push(line("added", b[i], i));
  return out;
}

function walkBack(a: string[], b: string[], from: number, n: number, m: number, trail: Map<number, number>[]): Line[] {
  const out: Line[] = [];
  let [x, y] = [n, m];
  for (let d = trail.length - 1; d >= 0; d--) {
    const at = trail[d] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -d || (k !== d && (at.get(k - 1) ?? -1) < (at.get(k + 1) ?? -1));
    const back = down ? k + 1 : k - 1;
    const [px, py] = d === 0 ? [0, 0] : [at.get(back) ?? 0, (at.get(back) ?? 0) - back];
    while (x > px && y > py) {
      x--;
      y--;
      out.push(line("same", a[from + x], from + x));
    }
    if (d === 0) break;
    if (down) y--;
    else x--;
    out.push(down ? line("added", b[from + y], from + y) : line("removed", a[from + x], from + x));
  }
  return out.reverse();
}
