// Finding the daemon, and which of its addresses gets the token.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { ApiError, connect, findDaemon, homeOf } from "../src/node.ts";

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
  servers.push(() => (server.close(), server.closeAllConnections()));
  await new Promise<void>((listening) => (typeof at === "string" ? server.listen(at, listening) : server.listen(0, "127.0.0.1", listening)));
  const url = typeof at === "string" ? "" : `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen };
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
  write("daemon.json", '{"url":"http://127.0.0.1:9","pid":1,"socket":"/s"}');
  assert.deepEqual([(await findDaemon({}, home)).url?.port, (await findDaemon({}, home)).socket], ["9", "/s"]);
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
  const tcp = await serve(0, ok);
  const socket = await serve(join(home, "daemon.sock"), ok);
  write("token", "secret");
  const client = connect({ home, env: {} });
  write("daemon.json", JSON.stringify({ url: tcp.url, socket: join(home, "daemon.sock") }));
  await client.get("/v1/projects");
  assert.deepEqual([socket.seen[0]?.headers.host, socket.seen[0]?.headers.authorization, tcp.seen.length], ["localhost", undefined, 0]);
  write("daemon.json", JSON.stringify({ url: tcp.url, socket: join(home, "gone.sock") }));
  await client.get("/v1/projects");
  assert.equal(tcp.seen[0]?.headers.authorization, "Bearer secret");
});

test("a redirect is an error, so that the token goes nowhere else", async () => {
  const elsewhere = await serve(0, ok);
  const daemon = await serve(0, (_, response) => response.writeHead(307, { location: elsewhere.url }).end());
  write("token", "secret");
  await assert.rejects(connect({ home, env: { BETHINK_URL: daemon.url } }).get("/v1/projects"), ApiError);
  assert.equal(elsewhere.seen.length, 0);
});

test("a change whose connection is cut is sent again with its key", async () => {
  const daemon = await serve(0, (request, response) => {
    if (daemon.seen.length === 1) request.socket.destroy();
    else if (daemon.seen.length === 2) response.writeHead(200, { "content-length": 9 }).write("{", () => request.socket.destroy());
    else response.setHeader("content-type", "application/json").end('{"id":"1"}');
  });
  const client = connect({ env: { BETHINK_URL: daemon.url }, home });
  assert.equal((await client.post("/v1/sessions", { body: { project_dir: "/a" } })).id, "1");
  const keys = daemon.seen.map((request) => request.headers["idempotency-key"]);
  assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
});

test("a home without a daemon says what to do", async () => {
  await assert.rejects(connect({ home, env: {} }).get("/v1/projects"), /no daemon is running for .*bethink up/);
});
