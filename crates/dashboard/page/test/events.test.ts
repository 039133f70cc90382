// The page's event stream: listeners that fail, and a tab that was hidden.

import assert from "node:assert/strict";
import { type TestContext, beforeEach, test } from "node:test";
import { Events, type State } from "../src/events.ts";

const event = (id: number) => `id: ${id}\nevent: message\ndata: {"seq":${id}}\n\n`;

/** Texts of the coming connections, which stay open, and the IDs after which they resume. */
let streams: string[] = [];
let resumed: (string | undefined)[] = [];
let visible = (_hidden: boolean): void => {};

beforeEach(() => {
  [streams, resumed] = [[], []];
  const document = { hidden: false, addEventListener: (_: string, changed: () => void) => (visible = (hidden) => ((document.hidden = hidden), changed())) };
  const fetch = (_: string, { headers, signal }: { headers: Headers; signal: AbortSignal }): Promise<Response> => {
    resumed.push(headers.get("last-event-id") ?? undefined);
    const text = streams.shift() ?? "";
    const start = (stream: ReadableStreamDefaultController) => {
      stream.enqueue(new TextEncoder().encode(text));
      signal.addEventListener("abort", () => stream.error(signal.reason));
    };
    return Promise.resolve(new Response(new ReadableStream({ start })));
  };
  Object.assign(globalThis, { document, fetch, sessionStorage: { getItem: () => null } });
});

/** An event stream of this test. */
function follow(context: TestContext) {
  const seen: string[] = [];
  const states: State[] = [];
  const life = new AbortController();
  const events = new Events((state) => states.push(state));
  context.after(() => events.stop());
  const until = async (done: () => boolean) => {
    while (!done()) {
      context.signal.throwIfAborted();
      await new Promise(setImmediate);
    }
  };
  const listen = (listener: (kind: string) => void) => events.listen(life.signal, (one) => listener(one.event));
  return { events, seen, states, until, listen };
}

test("a listener that throws stops neither the others nor the stream", { timeout: 5_000 }, async (context) => {
  const errors = context.mock.method(console, "error", () => {});
  streams = [event(1) + event(2)];
  const { events, seen, states, until, listen } = follow(context);
  listen(() => {
    throw new Error("a fault of one view");
  });
  listen((kind) => seen.push(kind));
  events.start();
  await until(() => seen.length === 2);
  assert.equal(errors.mock.callCount(), 2);
  assert.deepEqual(states, ["live"]);
});

test("a tab that was hidden resumes, or is reset if it has seen no event", { timeout: 5_000 }, async (context) => {
  const { timers } = context.mock;
  timers.enable({ apis: ["setTimeout"] });
  streams = ["", event(5), event(6)];
  const { events, seen, states, until, listen } = follow(context);
  listen((kind) => seen.push(kind));
  events.start();
  await until(() => states.length === 1);
  const hide = () => {
    visible(true);
    timers.tick(10_000);
    visible(false);
  };
  hide();
  await until(() => seen.length === 2);
  hide();
  await until(() => seen.length === 3);
  assert.deepEqual(seen, ["reset", "message", "message"]);
  assert.deepEqual(resumed, [undefined, undefined, "5"]);
});
