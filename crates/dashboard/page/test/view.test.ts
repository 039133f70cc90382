// What views share.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Context, into } from "../src/view.ts";

test("an older answer that arrives later does not replace a newer one", async () => {
  Object.assign(globalThis, { Node: class {}, document: { activeElement: null } });
  let shown = "";
  const place = { childNodes: [], contains: () => false, replaceChildren: () => (shown = ""), append: (text: string) => (shown += text) } as unknown as HTMLElement;
  const context = { signal: new AbortController().signal } as Context;
  let answer = (_: string): void => {};
  const older = into(place, context, () => new Promise<string>((resolve) => (answer = resolve)), (text) => text);
  await into(place, context, () => Promise.resolve("new"), (text) => text);
  answer("old");
  await older;
  assert.equal(shown, "new");
});
