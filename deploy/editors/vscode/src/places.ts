/**
 * Where the daemon is. Read anew for every request: two small files tell of a daemon that was
 * restarted on another port, or of a token that changed, and nothing has to be invalidated.
 */

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where a daemon is looked for when nothing says otherwise. */
const DEFAULT_URL = 'http://127.0.0.1:4747';

export interface Place {
  home: string;
  /** Absent where nothing says that a daemon of this home ever ran. */
  url: URL | undefined;
  token: string | undefined;
  /** `BETHINK_URL` names it: somebody else looks after that daemon, so it is never started here. */
  foreign: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `home` is the setting; empty stands for what the environment says. */
export async function find(env: Environment, home: string): Promise<Place> {
  const dir = home || homeOf(env);
  const named = env['BETHINK_URL'];
  const token = env['BETHINK_TOKEN'] || (await read(join(dir, 'token')))?.trim() || undefined;
  const url = named || (await written(dir)) || (token && DEFAULT_URL);
  return { home: dir, url: url ? address(url) : undefined, token, foreign: Boolean(named) };
}

export function homeOf(env: Environment): string {
  if (env['BETHINK_HOME']) return env['BETHINK_HOME'];
  const data = env['XDG_DATA_HOME'];
  const base = data && isAbsolute(data) ? data : join(env['HOME'] || homedir(), '.local', 'share');
  return join(base, 'bethink');
}

/** What the running daemon wrote about itself; it may be gone by now. */
async function written(dir: string): Promise<string | undefined> {
  const text = await read(join(dir, 'daemon.json'));
  if (text === undefined) return undefined;
  try {
    const { url } = JSON.parse(text) as { url?: unknown };
    return typeof url === 'string' ? url : undefined;
  } catch {
    return undefined; // a file cut short is a daemon that is just starting
  }
}

function address(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error(`the daemon's address ${JSON.stringify(text)} is not a URL`);
  }
  if (url.protocol !== 'http:') {
    throw new Error(`the daemon's address ${JSON.stringify(text)} is not an http:// URL`);
  }
  return url;
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return undefined;
  }
}
