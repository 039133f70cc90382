// Requests: addresses, keys, retries, errors.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Client, type ClientOptions, ConnectionError, ProofError, TimeoutError } from "../src/index.ts";

interface Sent {
  path: string;
  method: string | undefined;
  headers: Record<string, string>;
  body: unknown;
}

type Step = Response | Error | "silence";

/** A client whose requests get these answers in turn. */
function client(steps: Step[], options?: ClientOptions): { client: Client; sent: Sent[] } {
  const sent: Sent[] = [];
  const transport = (path: string, init: RequestInit): Promise<Response> => {
    sent.push({ path, method: init.method, headers: { ...(init.headers as Record<string, string>) }, body: init.body });
    const step = steps.shift() ?? new Error("no more answers");
    if (step instanceof Response) return Promise.resolve(step);
    if (step instanceof Error) return Promise.reject(step);
    return new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(new Error("aborted"))));
  };
  return { client: new Client(transport, options), sent };
}

const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
const lost = () => new ConnectionError("lost");
const refused = () => new ConnectionError("refused", { sent: false });

test("paths and parameters are encoded, and empty parameters are left out", async () => {
  const { client: one, sent } = client([json({ memories: [] }), new Response("# A topic", { headers: { etag: '"7"' } })]);
  await one.get("/v1/memories", { query: { project_dir: "/a b&c", scope: null, cursor: undefined, limit: 5 } });
  const topic = await one.text("/v1/memories/{scope}/{name}", { path: { scope: "team", name: "../x?y" }, query: { project_dir: "/a" } });
  assert.deepEqual(sent.map((request) => request.path), [
    "/v1/memories?project_dir=%2Fa+b%26c&limit=5",
    "/v1/memories/team/..%2Fx%3Fy?project_dir=%2Fa",
  ]);
  assert.deepEqual([topic.text, topic.etag], ["# A topic", '"7"']);
});

test("an answer in another format than JSON is a text", async () => {
  const lines = '{"a":1}\n{"b":2}\n';
  const { client: one } = client([new Response(lines, { headers: { "content-type": "application/x-ndjson" } })]);
  assert.equal(await one.get("/v1/sessions/{id}/export", { path: { id: "1" } }), lines);
});

test("unknown fields and values are passed on", async () => {
  const job = { id: "1", kind: "new kind", state: "new state", added: true };
  const { client: one } = client([json(job)]);
  assert.deepEqual(await one.get("/v1/jobs/{id}", { path: { id: "1" } }), job);
});

test("a lost change is sent again with the same key, and each change has its own", async () => {
  const { client: one, sent } = client([lost(), refused(), json({ id: "1" }, 201), json({ id: "2" }, 201)]);
  const body = { project_dir: "/a" };
  assert.equal((await one.post("/v1/sessions", { body })).id, "1");
  await one.post("/v1/sessions", { body });
  const keys = sent.map((request) => request.headers["idempotency-key"]);
  assert.deepEqual([keys[0], keys[0]], [keys[1], keys[2]]);
  assert.notEqual(keys[0], keys[3]);
  assert.deepEqual(sent[0]?.body, JSON.stringify(body));
  assert.equal(sent[0]?.headers["content-type"], "application/json");
});

test("a text is sent as Markdown, and a caller's key is kept", async () => {
  const { client: one, sent } = client([new Response(null, { status: 204 })]);
  await one.put("/v1/sessions/{id}/notes", { path: { id: "1" }, body: "# Notes", key: "mine", headers: { "if-match": '"1"' } });
  assert.deepEqual(sent[0]?.headers, { "content-type": "text/markdown", "idempotency-key": "mine", "if-match": '"1"' });
});

test("a body that breaks off is read again", async () => {
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error("reset")) });
  const { client: one, sent } = client([new Response(broken), json({ projects: [] })]);
  await one.get("/v1/projects");
  assert.equal(sent.length, 2);
});

test("a request that reached nobody is not repeated", async () => {
  const { client: one, sent } = client([refused()]);
  await assert.rejects(one.get("/v1/projects"), ConnectionError);
  assert.equal(sent.length, 1);
});

test("a connection that keeps breaking is given up", async () => {
  const { client: one, sent } = client([lost(), lost(), lost(), lost(), lost(), lost()]);
  await assert.rejects(one.get("/v1/projects"), (error) => error instanceof ConnectionError && error.sent);
  assert.equal(sent.length, 5);
});

test("a change that is still running is awaited", async () => {
  const running = () => json({ type: "conflict", title: "", status: 409, detail: "still running" }, 409, { "retry-after": "0" });
  const { client: one, sent } = client([running(), running(), running(), running(), running(), running(), json({ id: "1" }, 201)]);
  await one.post("/v1/sessions", { body: { project_dir: "/a" } });
  assert.equal(sent.length, 7);
});

test("a problem is an error with its fields", async () => {
  const problem = { type: "invalid", title: "Invalid", status: 422, detail: "too many", field: "tags", limit: 3, actual: 4, hint: "fewer", added: 1 };
  const { client: one, sent } = client([json(problem, 422)]);
  await assert.rejects(one.get("/v1/projects"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.type, error.status, error.detail, error.field, error.limit, error.actual, error.hint], ["invalid", 422, "too many", "tags", 3, 4, "fewer"]);
    assert.deepEqual(error.problem, problem);
    return true;
  });
  assert.equal(sent.length, 1);
});

test("any other answer is an error, too", async () => {
  for (const [body, detail] of [["<html>", /502: <html>$/], ["", /502$/], ["null", /502: null$/], ["{}", /502: {}$/]] as const) {
    const { client: one } = client([new Response(body, { status: 502 })]);
    await assert.rejects(one.get("/v1/projects"), (error) => error instanceof ApiError && error.type === "unknown" && detail.test(error.detail));
  }
});

test("an answer that takes too long or is too large is given up", async () => {
  const slow = client(["silence"], { timeout: 10 });
  await assert.rejects(slow.client.get("/v1/projects"), TimeoutError);
  const large = client([json("x".repeat(100))], { maxBytes: 50 });
  await assert.rejects(large.client.get("/v1/projects"), /larger than 50 bytes/);
  assert.deepEqual([slow.sent.length, large.sent.length], [1, 1]);
});

test("attempts share one time limit", { timeout: 5_000 }, async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const { client: one, sent } = client([lost(), "silence"], { timeout: 400 });
  const ended = assert.rejects(one.get("/v1/projects"), TimeoutError);
  await new Promise(setImmediate);
  mock.timers.tick(200);
  await new Promise(setImmediate);
  assert.equal(sent.length, 2, "after the first pause");
  mock.timers.tick(200);
  await ended;
});

test("a busy daemon is asked again, even if it was too busy for a proof", async () => {
  const busy = json({ type: "busy", title: "", status: 503, detail: "" }, 503);
  const { client: one, sent } = client([busy, new ProofError("busy", { status: 503 }), json({ projects: [] })]);
  await one.get("/v1/projects");
  assert.equal(sent.length, 3);
  const foreign = client([new ProofError("foreign", { status: 404 })]);
  await assert.rejects(foreign.client.get("/v1/projects"), ProofError);
  assert.equal(foreign.sent.length, 1);
});

test("a caller can stop a request", async () => {
  const { client: one, sent } = client(["silence"]);
  const stop = new AbortController();
  const answer = one.get("/v1/projects", { signal: stop.signal });
  stop.abort();
  await assert.rejects(answer, /aborted/);
  assert.equal(sent.length, 1);
});

/** Not called: the compiler checks paths, options and answers. */
export async function checkTypes(one: Client): Promise<string | null | undefined> {
  // @ts-expect-error: there is no such path.
  await one.get("/v1/nothing");
  // @ts-expect-error: this path has no such method.
  await one.put("/v1/projects");
  // @ts-expect-error: the path needs an ID.
  await one.get("/v1/sessions/{id}");
  // @ts-expect-error: the query needs a directory.
  await one.get("/v1/memories", { query: { limit: 5 } });
  // @ts-expect-error: a level is one of a closed set.
  await one.post("/v1/sessions/{id}/compact", { path: { id: "1" }, body: { level: "tiny" } });
  const notes: string = await one.get("/v1/sessions/{id}/notes", { path: { id: "1" } });
  const nothing: undefined = await one.delete("/v1/sessions/{id}", { path: { id: notes } });
  for await (const event of one.events()) if (event.event === "message") return `${event.data.seq} ${event.data.role}`;
  return nothing;
}
