// Requests to the daemon that served this page, and to nobody else.

/** Kept for this tab alone; without it the cookie opens nothing. */
const KEPT_AS = "bethink-page";
const PAGE_HEADER = "X-Bethink-Page";

/** A refusal, in the daemon's words. */
export class Problem extends Error {
  readonly status: number;
  readonly type: string;
  readonly hint: string | null;

  constructor(status: number, type: string, detail: string, hint: string | null) {
    super(detail);
    this.status = status;
    this.type = type;
    this.hint = hint;
  }
}

let strangers: () => void = () => {};

/** Called when the daemon does not know this page any more. */
export function onStranger(then: () => void): void {
  strangers = then;
}

export function isKnown(): boolean {
  return sessionStorage.getItem(KEPT_AS) !== null;
}

export function forgetPage(): void {
  sessionStorage.removeItem(KEPT_AS);
}

/** Changes a launch token for this page's own value. */
export async function login(launch: string): Promise<void> {
  const answer = await fetch("/v1/dashboard/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ launch }),
    cache: "no-store",
  });
  if (!answer.ok) throw await problemOf(answer);
  const { page } = (await answer.json()) as { page: string };
  sessionStorage.setItem(KEPT_AS, page);
}

/** One request, with what proves that it comes from this page. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set(PAGE_HEADER, sessionStorage.getItem(KEPT_AS) ?? "");
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The daemon does not answer.", "`bethink status` shows whether it is running; `bethink up` starts it.");
  }
  if (answer.status === 401) strangers();
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, signal ? { signal } : {});
  return (await answer.json()) as T;
}

export async function text(path: string, signal?: AbortSignal): Promise<{ text: string; headers: Headers }> {
  const answer = await request(path, signal ? { signal } : {});
  return { text: await answer.text(), headers: answer.headers };
}

/** A change; the key lets the daemon answer a repeated request with the first answer. */
export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() };
  const answer = await request(path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await answer.json()) as T;
}

/** `a=1&b=2` of what is given. */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") out.set(name, String(value));
  }
  const text = out.toString();
  return text === "" ? "" : `?${text}`;
}

async function problemOf(answer: Response): Promise<Problem> {
  const words = await answer.text().catch(() => "");
  try {
    const told = JSON.parse(words) as { type?: string; title?: string; detail?: string; hint?: string };
    return new Problem(answer.status, told.type ?? "", told.detail ?? told.title ?? words, told.hint ?? null);
  } catch {
    return new Problem(answer.status, "", words.slice(0, 500) || `The daemon answered ${answer.status}.`, null);
  }
}
