// Relative times, with the exact time on hover.

import { h } from "./dom.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Interval at which relative times are updated. */
const AGAIN_MS = 30_000;

export function ago(then: string, now: number): string {
  const at = Date.parse(then);
  if (Number.isNaN(at)) return "at an unknown time";
  const seconds = Math.round((now - at) / 1000);
  if (seconds < -MINUTE) return `in ${span(-seconds)}`;
  return seconds < 45 ? "just now" : `${span(seconds)} ago`;
}

function span(seconds: number): string {
  if (seconds < 90) return "1 min";
  if (seconds < HOUR) return `${Math.round(seconds / MINUTE)} min`;
  if (seconds < DAY) return `${Math.round(seconds / HOUR)} h`;
  const days = Math.round(seconds / DAY);
  if (days < 60) return days === 1 ? "1 day" : `${days} days`;
  if (days < 730) return `${Math.round(days / 30.44)} months`;
  return `${Math.round(days / 365.25)} years`;
}

/** `2026-11-22 10:55:58`, in the browser's time zone. */
export function exact(then: string): string {
  const date = new Date(then);
  if (Number.isNaN(date.getTime())) return then;
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The time of day, for rows below a day's name. */
export function clock(then: string): HTMLTimeElement {
  const words = exact(then).slice(11, 16);
  return h("time", { datetime: then, title: exact(then), class: "clock" }, words === "" ? "–" : words);
}

/** A relative time that is kept up to date. `alone` makes it reachable with Tab, for use outside of rows. */
export function time(then: string, alone = false): HTMLTimeElement {
  const props = { datetime: then, "data-exact": exact(then), class: "time", tabindex: alone ? 0 : null };
  const element = h("time", props, ago(then, Date.now()));
  element.setAttribute("aria-label", `${ago(then, Date.now())}, ${exact(then)}`);
  return element;
}

export function keepTimesTrue(): void {
  setInterval(() => {
    for (const element of document.querySelectorAll<HTMLTimeElement>("time.time")) {
      const text = ago(element.dateTime, Date.now());
      if (element.textContent !== text) element.textContent = text;
    }
  }, AGAIN_MS);
}
