// One HTTP exchange with `node:http`: `fetch` cannot use a Unix socket or a connection that is already open.

import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { Readable } from "node:stream";

import { ConnectionError } from "./errors.ts";

/** Sends one request and returns its answer. Does not follow redirects. */
export function exchange(target: RequestOptions, init: RequestInit): Promise<Response> {
  const body = init.body as string | null | undefined;
  const headers: Record<string, string> = { ...(target.headers as Record<string, string>), ...(init.headers as Record<string, string>) };
  if (body != null) headers["content-length"] = String(Buffer.byteLength(body));
  return new Promise((resolve, reject) => {
    let connected = false;
    const { method = "GET", signal } = init;
    const sent = request({ ...target, method, headers, ...(signal && { signal }) });
    sent.on("socket", (socket) => {
      // A connection that was kept open has no event, and would collect a listener per request.
      connected = !socket.connecting;
      if (!connected) socket.once("connect", () => (connected = true));
    });
    sent.on("response", (answer) => resolve(toResponse(answer)));
    sent.on("error", (cause) => {
      const place = target.socketPath ?? `${target.host}:${target.port}`;
      const hint = target.socketPath === undefined || connected ? "" : "; run `bethink up`";
      reject(signal?.aborted ? cause : new ConnectionError(`could not reach the daemon at ${place}: ${cause.message}${hint}`, { cause, sent: connected }));
    });
    sent.end(body ?? undefined);
  });
}

function toResponse(answer: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) for (const one of value ?? []) headers.append(name, one);
  const status = answer.statusCode ?? 502;
  // `Response` takes no body for these.
  const body = [204, 205, 304].includes(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  if (body === null) answer.resume();
  return new Response(body, { status, headers });
}
