// Finds the daemon on this machine, and sends requests through its Unix socket or over loopback.

import { access, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

import { Client, type ClientOptions, type Transport } from "./client.ts";
import { ConnectionError } from "./errors.ts";
import { exchange } from "./http.ts";
import { provenConnection } from "./proof.ts";

export * from "./index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How to reach the daemon of a home. */
export interface DaemonAddress {
  readonly home: string;
  /** The Unix socket, which needs no token. Not set if the home has none, or for an external daemon. */
  readonly socket: string | undefined;
  /** Not set if nothing shows that a daemon of this home has ever run. */
  readonly url: URL | undefined;
  readonly token: string | undefined;
  /** Whether `BETHINK_URL` names the daemon. Such a daemon is managed elsewhere, so do not start it. */
  readonly external: boolean;
}

export interface ConnectOptions extends ClientOptions {
  /** The daemon's home; by default, as in the environment. */
  home?: string;
  env?: Environment;
}

/** Returns a client of the daemon on this machine. Looks for the daemon at each request, so that it may restart. */
export function connect(options: ConnectOptions = {}): Client {
  const { env = process.env, home = homeOf(env) } = options;
  return new Client(transport(() => findDaemon(env, home)), options);
}

/** Returns a transport that calls `find` for each request. */
export function transport(find: () => Promise<DaemonAddress>): Transport {
  return async (path, init) => send(await find(), path, init);
}

/** `BETHINK_HOME`, else `bethink` in `XDG_DATA_HOME` or `~/.local/share`. */
export function homeOf(env: Environment): string {
  if (env["BETHINK_HOME"]) return env["BETHINK_HOME"];
  const data = env["XDG_DATA_HOME"];
  const base = data && isAbsolute(data) ? data : join(env["HOME"] || homedir(), ".local", "share");
  return join(base, "bethink");
}

/** Reads `daemon.json` and `token` in the home. `BETHINK_URL` and `BETHINK_TOKEN` replace them. */
export async function findDaemon(env: Environment, home = homeOf(env)): Promise<DaemonAddress> {
  const named = env["BETHINK_URL"];
  const socket = join(home, "daemon.sock");
  const hasSocket = !named && (await exists(socket));
  const stored = (await readText(join(home, "token")))?.trim() || undefined;
  const found = named || (await readDaemonUrl(home));
  const url = found ? parseUrl(found) : undefined;
  // The home's token is for this machine only: another one gets the token that was given for it, or none.
  const token = env["BETHINK_TOKEN"] || (url && isLoopback(url) ? stored : undefined);
  return { home, socket: hasSocket ? socket : undefined, url, token, external: Boolean(named) };
}

async function readDaemonUrl(home: string): Promise<string | undefined> {
  try {
    const { url } = JSON.parse((await readText(join(home, "daemon.json"))) ?? "{}") as Record<string, unknown>;
    return typeof url === "string" ? url : undefined;
  } catch {
    // The daemon is just writing it.
    return undefined;
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

async function readText(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch(() => undefined);
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error(`the daemon's address ${JSON.stringify(text)} is not a URL; use http://HOST:PORT`);
  }
  if (url.protocol !== "http:") throw new Error(`the daemon's address ${JSON.stringify(text)} is not an http:// URL`);
  return url;
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

/** Sends through the socket if there is one, else over TCP to a daemon that has proved itself. */
async function send(address: DaemonAddress, path: string, init: RequestInit): Promise<Response> {
  const { home, socket, url, token } = address;
  if (socket !== undefined) return exchange({ socketPath: socket, path, headers: { host: "localhost" } }, init);
  if (!url) throw new ConnectionError(`no daemon is running for ${home}; run \`bethink up\``, { sent: false });
  if (token === undefined) {
    const message = `could not verify the daemon at ${url.host}: there is no token in ${home}; set BETHINK_TOKEN`;
    throw new ConnectionError(message, { sent: false });
  }
  const host = hostOf(url);
  const port = Number(url.port || 80);
  const connection = await provenConnection({ host, port, token, home }, init.signal);
  const headers = { authorization: `Bearer ${token}` };
  return exchange({ host, port, path, headers, createConnection: () => connection }, init);
}

/** `localhost` may also be ::1, where another program could pass the question on to the daemon. */
function hostOf({ hostname }: URL): string {
  return hostname === "localhost" ? "127.0.0.1" : hostname.replace(/[[\]]/g, "");
}
