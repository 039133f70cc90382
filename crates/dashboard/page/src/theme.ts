// The theme: light, dark, or the same as the system.

const KEPT_AS = "bethink-theme";
const ORDER = ["system", "light", "dark"] as const;

export type Theme = (typeof ORDER)[number];

export function theme(): Theme {
  const kept = localStorage.getItem(KEPT_AS);
  return ORDER.find((one) => one === kept) ?? "system";
}

export function nextTheme(): Theme {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length] ?? "system";
  localStorage.setItem(KEPT_AS, next);
  applyTheme();
  return next;
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
}
