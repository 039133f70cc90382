// Event streams: reconnecting, resuming, ending.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type BethinkEvent, Client, ConnectionError, type EventOptions } from "../src/index.ts";

type Step = string | number | Error;

/** Reads `many` events. Each connection gets a text and then ends, an HTTP status, or an error. */
async function read(many: number, steps: Step[], options: EventOptions = {}): Promise<{ events: BethinkEvent[]; asked: string[] }> {
  const asked: string[] = [];
  const events: BethinkEvent[] = [];
  const client = new Client((path, init) => {
    asked.push(`${path} ${(init.headers as Record<string, string>)["last-event-id"] ?? "-"}`);
    const step = steps.shift();
    if (step === undefined) stream.close();
    if (step === undefined) return Promise.reject(new Error("no more connections"));
    if (step instanceof Error) return Promise.reject(step);
    return Promise.resolve(typeof step === "number" ? new Response("", { status: step }) : new Response(`retry: 1\n\n${step}`));
  });
  const stream = client.events(options);
  for await (const event of stream) {
    events.push(event);
    if (events.length === many) break;
  }
  return { events, asked };
}

const event = (id: number, kind = "message") => `id: ${id}\nevent: ${kind}\ndata: {"seq":${id},"session_id":"s"}\n\n`;

test("a lost stream resumes after the last event", async () => {
  const { events, asked } = await read(3, [event(1), `${event(2)}id: 3\ndata: cut o`, new ConnectionError("refused"), event(3)]);
  assert.deepEqual(events.map(({ id }) => id), ["1", "2", "3"]);
  assert.deepEqual(asked, ["/v1/events -", "/v1/events 1", "/v1/events 2", "/v1/events 2"]);
  assert.equal(events[0]?.session_id, "s");
});

test("unknown kinds are passed on, and data that is not an object is skipped", async () => {
  const { events } = await read(2, [`data: 7\n\ndata: nonsense\n\n${event(1, "new_kind")}${event(2)}`], { session: "a/b" });
  assert.deepEqual(events.map(({ event }) => event), ["new_kind", "message"]);
});

test("an ID that the daemon does not know becomes a reset", async () => {
  const { events, asked } = await read(2, [422, event(9)], { session: "a/b", lastEventId: "5" });
  assert.deepEqual(events.map((one) => one.event), ["reset", "message"]);
  assert.deepEqual(asked, ["/v1/sessions/a%2Fb/events 5", "/v1/sessions/a%2Fb/events -"]);
});

test("a stream that is lost before its first event continues with a reset", async () => {
  const { events, asked } = await read(3, [":\n\n", new ConnectionError("refused"), event(1), event(2)]);
  assert.deepEqual(events.map((one) => one.event), ["reset", "message", "message"]);
  assert.deepEqual(asked, ["/v1/events -", "/v1/events -", "/v1/events -", "/v1/events 1"]);
});

test("a stream whose first connection succeeds late has missed nothing", async () => {
  const { events } = await read(1, [new ConnectionError("refused"), event(1)]);
  assert.deepEqual(events.map((one) => one.event), ["message"]);
});

test("a reset follows the connection, so that nothing happens unseen between them", async () => {
  const { events, asked } = await read(1, [422, new ConnectionError("refused"), event(9)], { lastEventId: "5" });
  assert.deepEqual(events.map((one) => one.event), ["reset"]);
  assert.equal(asked.length, 3);
});

test("a refusal ends the stream, unless the caller wants to reconnect", async () => {
  await assert.rejects(read(1, [401]), /401/);
  const lost: unknown[] = [];
  let connections = 0;
  const options = { reconnect: () => true, onDisconnect: (error: unknown) => lost.push(error), onConnect: () => connections++ };
  const { events } = await read(1, [401, event(1)], options);
  assert.deepEqual([events.length, lost.length, connections], [1, 1, 1]);
});

test("a stream can be closed, and retried at once", { timeout: 5_000 }, async () => {
  const never = new Client(() => Promise.reject(new ConnectionError("refused")));
  const stop = new AbortController();
  let failures = 0;
  const stream = never.events({
    signal: stop.signal,
    onDisconnect: () => {
      failures++;
      // The pauses of so many failures would take longer than the test may.
      if (failures < 20) queueMicrotask(() => queueMicrotask(() => stream.retryNow()));
      else stop.abort();
    },
  });
  for await (const event of stream) assert.fail(event.event);
  assert.equal(failures, 20);
});
