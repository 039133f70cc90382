// Finding the daemon, and which of its addresses gets the token.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { ApiError, ConnectionError, ProofError, connect, findDaemon, homeOf } from "../src/node.ts";

let home = "";
const servers: (() => void)[] = [];
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "bethink-client-"))));
afterEach(() => {
  for (const close of servers.splice(0)) close();
  rmSync(home, { recursive: true });
});

const write = (name: string, text: string) => writeFileSync(join(home, name), text);

/** Serves at a socket or a free port; returns the address, and the requests it gets. */
async function serve(at: string | 0, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  servers.push(close);
  await new Promise<void>((listening) => (typeof at === "string" ? server.listen(at, listening) : server.listen(0, "127.0.0.1", listening)));
  const url = typeof at === "string" ? "" : `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen, close };
}

/** Serves at a free port like a daemon with the token `secret`. `seen` has what comes after the proof. */
async function serveDaemon(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: IncomingMessage[] = [];
  const { url } = await serve(0, (request, response) => {
    if (request.url?.startsWith("/v1/proof?")) return response.end(proof(request));
    seen.push(request);
    return answer(request, response);
  });
  return { url, seen };
}

function proof({ url = "", socket }: IncomingMessage, token = "secret", port = socket.localPort): string {
  const nonce = /^\/v1\/proof\?nonce=([0-9a-f]{64})$/.exec(url)?.[1];
  return JSON.stringify({ proof: createHmac("sha256", token).update(`bethink-proof-1\n${port}\n${nonce}`).digest("hex") });
}

const ok = (_: IncomingMessage, response: ServerResponse) => response.setHeader("content-type", "application/json").end('{"projects":[]}');

test("the nearest variable decides the home", () => {
  assert.equal(homeOf({ HOME: "/h" }), "/h/.local/share/bethink");
  assert.equal(homeOf({ HOME: "/h", XDG_DATA_HOME: "relative" }), "/h/.local/share/bethink");
  assert.equal(homeOf({ HOME: "/h", XDG_DATA_HOME: "/d", BETHINK_HOME: "" }), "/d/bethink");
  assert.equal(homeOf({ HOME: "/h", XDG_DATA_HOME: "/d", BETHINK_HOME: "/b" }), "/b");
});

test("the files of the home and the environment lead to the daemon", async () => {
  const env = { BETHINK_HOME: home };
  assert.equal((await findDaemon(env)).url, undefined, "no address is guessed");
  write("token", " secret\n");
  assert.equal((await findDaemon(env)).url, undefined, "a token alone leads nowhere");
  write("daemon.json", '{"url":"http://127.0.0.1:9');
  assert.equal((await findDaemon(env)).url, undefined, "an incomplete file");
  write("daemon.json", '{"url":"http://127.0.0.1:9","pid":1,"socket":"/elsewhere"}');
  const found = await findDaemon({}, home);
  assert.deepEqual([found.url?.port, found.socket, found.token], ["9", undefined, "secret"]);
  write("daemon.sock", "");
  assert.equal((await findDaemon(env)).socket, join(home, "daemon.sock"));
  const external = await findDaemon({ ...env, BETHINK_URL: "http://127.0.0.1:8", BETHINK_TOKEN: "t" });
  assert.deepEqual([external.url?.port, external.socket, external.token, external.external], ["8", undefined, "t", true]);
  await assert.rejects(findDaemon({ BETHINK_URL: "file:///etc" }, home), /not an http/);
  await assert.rejects(findDaemon({ BETHINK_URL: "nonsense" }, home), /not a URL/);
});

test("the token of the home goes to this machine only", async () => {
  write("token", "secret");
  for (const url of ["http://127.0.0.1:1", "http://127.1.2.3", "http://localhost:1", "http://[::1]:1"]) {
    assert.equal((await findDaemon({ BETHINK_URL: url }, home)).token, "secret", url);
  }
  for (const url of ["http://10.0.0.1:1", "http://localhost.example.org", "http://127.0.0.1.example.org", "http://[fe80::1]"]) {
    assert.equal((await findDaemon({ BETHINK_URL: url }, home)).token, undefined, url);
    assert.equal((await findDaemon({ BETHINK_URL: url, BETHINK_TOKEN: "t" }, home)).token, "t", url);
  }
});

test("the socket comes first and gets no token; without it, TCP does", async () => {
  const tcp = await serveDaemon(ok);
  const socket = await serve(join(home, "daemon.sock"), ok);
  write("token", "secret\n");
  write("daemon.json", JSON.stringify({ url: tcp.url }));
  const client = connect({ home, env: {} });
  await client.get("/v1/projects");
  assert.deepEqual([socket.seen[0]?.headers.host, socket.seen[0]?.headers.authorization, tcp.seen.length], ["localhost", undefined, 0]);
  socket.close();
  write("daemon.sock", "");
  await assert.rejects(client.get("/v1/projects"), (error) => error instanceof ConnectionError && !error.sent && /bethink up/.test(error.message));
  assert.equal(tcp.seen.length, 0, "the socket of a daemon that is gone");
  rmSync(join(home, "daemon.sock"));
  await client.get("/v1/projects");
  assert.deepEqual([tcp.seen[0]?.headers.authorization, socket.seen.length], ["Bearer secret", 1]);
});

test("a connection that is kept open collects no listeners", async (context) => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => void warnings.push(message);
  process.on("warning", note);
  context.after(() => process.off("warning", note));
  const { seen } = await serve(join(home, "daemon.sock"), ok);
  const client = connect({ home, env: {} });
  for (let request = 0; request < 12; request += 1) await client.get("/v1/projects");
  assert.equal(new Set(seen.map(({ socket }) => socket)).size, 1);
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});

test("each connection proves itself before it gets the request", async () => {
  const ports: (number | undefined)[] = [];
  const { url } = await serve(0, (request, response) => {
    ports.push(request.socket.remotePort);
    const { authorization, host } = request.headers;
    if (request.url?.startsWith("/v1/proof")) {
      assert.deepEqual([authorization, host], [undefined, new URL(url).host]);
      return response.end(proof(request));
    }
    assert.equal(authorization, "Bearer secret");
    return ok(request, response);
  });
  write("token", "secret");
  const client = connect({ home, env: { BETHINK_URL: url } });
  await client.get("/v1/projects");
  await client.post("/v1/sessions", { body: { project_dir: "x".repeat(1_000_000) } });
  assert.deepEqual([ports[0], ports[2]], [ports[1], ports[3]], "proof and request share a connection");
  assert.notEqual(ports[0], ports[2]);
});

test("who cannot prove itself gets nothing, and none of its answers counts", async () => {
  const answers: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
    "its proof is wrong": (request, response) => response.end(proof(request, "guessed")),
    "relayed from another port": (request, response) => response.end(proof(request, "secret", 1)),
    "not hexadecimal": (_, response) => response.end('{"proof":"zz"}'),
    "not an object": (_, response) => response.end("null"),
    "too long": (request, response) => response.end(proof(request) + " ".repeat(5_000)),
    "status 404": (request, response) => response.writeHead(404).end(proof(request)),
    "status 302": (request, response) => response.writeHead(302, { location: request.url }).end(proof(request)),
    "no proof": (request) => request.socket.destroy(),
  };
  write("token", "secret");
  for (const [what, answer] of Object.entries(answers)) {
    const foreign = await serve(0, answer);
    write("daemon.json", JSON.stringify({ url: foreign.url }));
    const sent = connect({ home, env: {} }).post("/v1/recall", { body: { project_dir: "/a", query: "my prompt" } });
    await assert.rejects(sent, (error) => error instanceof ProofError && !error.sent && /is not the daemon of .*bethink status/.test(error.message), what);
    assert.deepEqual(foreign.seen.map(({ url, method, headers }) => [url?.slice(0, 16), method, headers.authorization]), [["/v1/proof?nonce=", "GET", undefined]], what);
  }
});

test("localhost is 127.0.0.1", async () => {
  const daemon = await serveDaemon(ok);
  write("token", "secret");
  const named = daemon.url.replace("127.0.0.1", "localhost");
  await connect({ home, env: { BETHINK_URL: named } }).get("/v1/projects");
  assert.equal(daemon.seen[0]?.headers.host, new URL(daemon.url).host);
});

test("without a token, nothing is sent over TCP", async () => {
  const tcp = await serve(0, ok);
  await assert.rejects(connect({ home, env: { BETHINK_URL: tcp.url } }).get("/v1/projects"), (error) => error instanceof ConnectionError && /no token/.test(error.message));
  assert.equal(tcp.seen.length, 0);
});

test("a peer that never answers is left", { timeout: 5_000 }, async (context) => {
  const silent = await serve(0, () => {});
  write("token", "secret");
  const stop = new AbortController();
  const stopped = connect({ home, env: { BETHINK_URL: silent.url } }).get("/v1/projects", { signal: stop.signal });
  while (silent.seen.length === 0) await new Promise(setImmediate);
  stop.abort();
  await assert.rejects(stopped, (error) => !(error instanceof ConnectionError));
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const left = connect({ home, env: { BETHINK_URL: silent.url } }).get("/v1/projects");
  while (silent.seen.length === 1) await new Promise(setImmediate);
  context.mock.timers.tick(10_000);
  await assert.rejects(left, ProofError);
});

test("a redirect is an error, so that the token goes nowhere else", async () => {
  const elsewhere = await serve(0, ok);
  const daemon = await serveDaemon((_, response) => response.writeHead(307, { location: elsewhere.url }).end());
  write("token", "secret");
  await assert.rejects(connect({ home, env: { BETHINK_URL: daemon.url } }).get("/v1/projects"), ApiError);
  assert.equal(elsewhere.seen.length, 0);
});

test("a change whose connection is cut is sent again with its key", async () => {
  const daemon = await serveDaemon((request, response) => {
    if (daemon.seen.length === 1) request.socket.destroy();
    else if (daemon.seen.length === 2) response.writeHead(200, { "content-length": 9 }).write("{", () => request.socket.destroy());
    else response.setHeader("content-type", "application/json").end('{"id":"1"}');
  });
  write("token", "secret");
  const client = connect({ env: { BETHINK_URL: daemon.url }, home });
  assert.equal((await client.post("/v1/sessions", { body: { project_dir: "/a" } })).id, "1");
  const keys = daemon.seen.map((request) => request.headers["idempotency-key"]);
  assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
});

test("a home without a daemon says what to do", async () => {
  await assert.rejects(connect({ home, env: {} }).get("/v1/projects"), /no daemon is running for .*bethink up/);
});
