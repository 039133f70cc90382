// Requests to the daemon that served this page.

import { Client, ConnectionError } from "../../../../deploy/clients/typescript/src/index.ts";

export type * from "../../../../deploy/clients/typescript/src/index.ts";
export { ApiError, ConnectionError } from "../../../../deploy/clients/typescript/src/index.ts";

/** Session storage key of the value that each request of this tab sends besides the login's cookie. */
const PAGE_KEY = "bethink-page";
const PAGE_HEADER = "X-Bethink-Page";

let signedOut: () => void = () => {};
let reachable = true;
const onReachable = new Set<() => void>();

/** Calls `then` whenever the daemon no longer accepts this page's login. */
export function onSignedOut(then: () => void): void {
  signedOut = then;
}

/** Whether the daemon answered the newest request. */
export function isReachable(): boolean {
  return reachable;
}

/** Calls `then` whenever the daemon stops to answer, or answers again, until `signal` is aborted. */
export function onReachability(signal: AbortSignal, then: () => void): void {
  onReachable.add(then);
  signal.addEventListener("abort", () => onReachable.delete(then), { once: true });
}

function setReachable(now: boolean): void {
  if (now === reachable) return;
  reachable = now;
  for (const then of [...onReachable]) then();
}

export function isSignedIn(): boolean {
  return sessionStorage.getItem(PAGE_KEY) !== null;
}

export function signOut(): void {
  sessionStorage.removeItem(PAGE_KEY);
}

/** Exchanges a launch token for a login of this tab. */
export async function signIn(launch: string): Promise<void> {
  const { page } = await client.post("/v1/dashboard/login", { body: { launch } });
  sessionStorage.setItem(PAGE_KEY, page);
}

/** Returns the tag as `If-Match` expects it: problems contain it without quotes. */
export const quoted = (etag: string) => (etag.startsWith('"') || etag.startsWith("W/") ? etag : `"${etag}"`);

export const client = new Client(async (path, init) => {
  const headers = new Headers(init.headers);
  headers.set(PAGE_HEADER, sessionStorage.getItem(PAGE_KEY) ?? "");
  const wasReachable = reachable;
  try {
    const response = await fetch(path, { ...init, headers, cache: "no-store", redirect: "error" });
    if (response.status === 401) signedOut();
    setReachable(true);
    return response;
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    setReachable(false);
    // While the daemon is known to be gone, a request fails at once instead of being sent again.
    throw new ConnectionError("The daemon is not responding. Run `bethink status` to see whether it is running, or `bethink up` to start it.", { cause, sent: wasReachable });
  }
});
