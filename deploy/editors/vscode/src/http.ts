/** One request over node's own HTTP: the extension has no dependencies, and a stream must not be buffered. */

import { type IncomingMessage, request } from 'node:http';

/** Most of an answer that is read; the daemon's own bodies are smaller. */
const MOST_BYTES = 32 * 1024 * 1024;

export interface Call {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string;
  /** Milliseconds without a byte; 0 waits for ever, as an event stream has to. */
  silence: number;
  signal?: AbortSignal | undefined;
}

/** Resolves once the head of the answer is there; the caller reads or destroys the rest. */
export function open(call: Call): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method, headers, silence, signal } = call;
    const options = { method, headers: { ...headers }, ...(signal ? { signal } : {}) };
    if (call.body !== undefined) {
      Object.assign(options.headers, { 'content-length': String(Buffer.byteLength(call.body)) });
    }
    const sent = request(call.url, options, resolve);
    sent.on('error', reject);
    sent.setTimeout(silence, () => sent.destroy(new Error(`no answer within ${silence / 1_000} s`)));
    sent.end(call.body);
  });
}

export async function whole(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) {
      answer.destroy();
      throw new Error(`the answer has more than ${MOST_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
