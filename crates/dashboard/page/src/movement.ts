// Keys that move from row to row of a long list.

/** Returns by how many rows a key moves, or nothing if it does not move. `page` is the number of rows on the screen. */
export function movement(event: KeyboardEvent, page: number, count: number): number | undefined {
  if (isModified(event) || count === 0) return undefined;
  const rows: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
  return rows[event.key];
}

export function isModified(event: KeyboardEvent): boolean {
  return event.altKey || event.ctrlKey || event.metaKey;
}
