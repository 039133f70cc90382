/** Requests to the daemon: finds it each time, shows the token, turns refusals into errors. */

import type { IncomingMessage } from 'node:http';

import { Refused, Unreachable, words } from './failure';
import { open, whole } from './http';
import type { Place } from './places';
import type { Problem } from './shapes';

/** Milliseconds that an answer may take; the daemon answers plain questions within some tens. */
const PATIENCE = 30_000;

export interface Ask {
  query?: Record<string, string | undefined>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as Markdown. */
  markdown?: string;
  headers?: Record<string, string>;
  /** Milliseconds; a summary that a model writes takes longer than the usual patience. */
  patience?: number;
  signal?: AbortSignal;
}

export interface Text {
  text: string;
  etag: string;
}

export class Daemon {
  constructor(private readonly place: () => Promise<Place>) {}

  async json<T>(method: string, path: string[], ask: Ask = {}): Promise<T> {
    const text = await whole(await this.send(method, path, ask));
    try {
      return (text === '' ? undefined : JSON.parse(text)) as T;
    } catch {
      throw new Error(`the daemon's answer to ${method} /${path.join('/')} is not JSON`);
    }
  }

  async text(method: string, path: string[], ask: Ask = {}): Promise<Text> {
    const answer = await this.send(method, path, ask);
    return { etag: answer.headers.etag ?? '', text: await whole(answer) };
  }

  /** The answer's head, which is a success; its body is the caller's. */
  async send(method: string, path: string[], ask: Ask = {}): Promise<IncomingMessage> {
    const place = await this.place();
    if (!place.url) throw new Unreachable(`no daemon was started on ${place.home}`);
    const answer = await this.open(place, place.url, method, path, ask);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    throw new Refused(problem(status, await whole(answer)));
  }

  private async open(place: Place, base: URL, method: string, path: string[], ask: Ask) {
    const url = new URL(path.map(encodeURIComponent).join('/'), `${base.origin}/`);
    for (const [name, value] of Object.entries(ask.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const headers: Record<string, string> = { ...ask.headers };
    if (place.token) headers['authorization'] = `Bearer ${place.token}`;
    const body = ask.markdown ?? (ask.json === undefined ? undefined : JSON.stringify(ask.json));
    if (body !== undefined) {
      headers['content-type'] = ask.markdown === undefined ? 'application/json' : 'text/markdown';
    }
    const silence = ask.patience ?? PATIENCE;
    try {
      const call = { method, url, headers, silence, signal: ask.signal };
      return await open(body === undefined ? call : { ...call, body });
    } catch (error) {
      if (ask.signal?.aborted) throw error;
      throw new Unreachable(words(error));
    }
  }
}

/** Also where something other than the daemon has taken its port. */
function problem(status: number, body: string): Problem {
  const unsaid = { type: 'unknown', title: '', status, detail: `it answered with status ${status}` };
  try {
    const told = JSON.parse(body) as Partial<Problem> | null;
    return { ...unsaid, ...told, status };
  } catch {
    return unsaid;
  }
}
