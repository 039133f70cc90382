// The view that the address names after `#`.

export interface Route {
  /** `["session", ID, "notes"]` */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function read(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter((part) => part !== "").map(decoded), query: new URLSearchParams(query) };
}

export function link(path: readonly string[], query: Record<string, string | number | null | undefined> = {}): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") values.set(name, String(value));
  }
  const tail = values.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${tail === "" ? "" : `?${tail}`}`;
}

/** Changes the address of a view, without a new entry in the browser's history, unless the person is leaving the view. */
export function replace(path: readonly string[], query: Record<string, string | number | null | undefined>): void {
  if (read(location.hash).path[0] === path[0]) history.replaceState(null, "", link(path, query));
}

/** Returns the launch token if the address contains one. */
export function launchToken(hash: string): string | null {
  return hash.startsWith("#launch=") ? hash.slice("#launch=".length) : null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
