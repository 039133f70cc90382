// How numbers are written.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `38,564` */
export function whole(n: number): string {
  return WHOLE.format(n);
}

/** `38.6k` or `1.2M`; exact below 1,000. */
export function brief(n: number): string {
  if (n < 1000) return whole(n);
  if (n < 99_950) return `${(n / 1000).toFixed(1)}k`;
  if (n < 999_500) return `${Math.round(n / 1000)}k`;
  return `${(n / 1_000_000).toFixed(n < 9_995_000 ? 2 : 1)}M`;
}

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 999_500) return `${(n / 1000).toFixed(n < 9_950 ? 1 : 0)} kB`;
  return `${(n / 1_000_000).toFixed(1)} MB`;
}

export function dollars(n: number): string {
  return n === 0 ? "$0" : n < 0.01 ? `$${n.toFixed(4)}` : `$${n.toFixed(2)}`;
}

/** `0.934` as `93%`. */
export function share(n: number): string {
  return `${Math.round(n * 100)}%`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${whole(n)} ${n === 1 ? one : many}`;
}
