// The daemon's proof that it has the token of its home. Another program may listen at the address of a daemon that is gone.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type Socket, connect } from "node:net";

import { readText } from "./client.ts";
import { ConnectionError, ProofError } from "./errors.ts";
import { exchange } from "./http.ts";

/** Milliseconds until a peer must have proved itself. A busy daemon needs some tens. */
const TIMEOUT = 10_000;
/** Maximum size of the answer, in bytes. A proof has 80. */
const MAX_BYTES = 4096;

export interface Peer {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  readonly home: string;
}

/**
 * Returns a connection to a daemon that has the token, for one request. Each request has its own, because a later one could
 * reach another program. Rejects with a `ProofError` if the peer is not this home's daemon; the token is never sent.
 */
export async function provenConnection(peer: Peer, signal?: AbortSignal | null): Promise<Socket> {
  const connection = connect({ host: peer.host, port: peer.port, noDelay: true });
  const expire = () => connection.destroy(new Error(`no proof within ${TIMEOUT / 1000} s`));
  const timer = setTimeout(expire, TIMEOUT);
  try {
    await prove(connection, peer, signal);
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function prove(connection: Socket, peer: Peer, signal?: AbortSignal | null): Promise<void> {
  const nonce = randomBytes(32).toString("hex");
  const answer = await ask(connection, peer, nonce, signal);
  if (answer.status !== 200) throw foreign(peer, `it answered with status ${answer.status}`, { status: answer.status });
  const message = `bethink-proof-1\n${peer.port}\n${nonce}`;
  const expected = createHmac("sha256", peer.token).update(message).digest();
  const proof = Buffer.from(proofIn(answer.text), "hex");
  if (proof.length !== expected.length || !timingSafeEqual(proof, expected)) throw foreign(peer, "its proof is wrong");
}

async function ask(connection: Socket, peer: Peer, nonce: string, signal?: AbortSignal | null): Promise<{ status: number; text: string }> {
  const { host, port } = peer;
  // Without this header, the connection could not be used again.
  const headers = { connection: "keep-alive" };
  const target = { host, port, path: `/v1/proof?nonce=${nonce}`, headers, createConnection: () => connection };
  try {
    const response = await exchange(target, signal ? { signal } : {});
    return { status: response.status, text: await readText(response, MAX_BYTES) };
  } catch (error) {
    const reached = !(error instanceof ConnectionError) || error.sent;
    throw signal?.aborted || !reached ? error : foreign(peer, "it gave no proof", { cause: error });
  }
}

function proofIn(answer: string): string {
  try {
    const { proof } = JSON.parse(answer) as Record<string, unknown>;
    return typeof proof === "string" ? proof : "";
  } catch {
    return "";
  }
}

function foreign({ host, port, home }: Peer, why: string, options?: { cause?: unknown; status?: number }): ProofError {
  const hint = "run `bethink status`, or check BETHINK_URL and BETHINK_TOKEN";
  return new ProofError(`could not send the request: what answers at ${host}:${port} is not the daemon of ${home}: ${why}; ${hint}`, options);
}
