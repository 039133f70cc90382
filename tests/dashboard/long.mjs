// A long session and many memories: scrolled, filtered, appended to, while it is measured how long the page is busy.

import assert from "node:assert/strict";
import { api, enter, given, go, settled, step, still, withBrowser } from "./page.mjs";

/** Milliseconds of processor time that no task may take. Larger than what is wanted, because a test machine is slow. */
const MOST = 150;
/** Rows that may be elements at once. */
const ROWS = 150;

await withBrowser(async (browser) => {
  const { page, context, faults } = await enter(browser);
  const client = await context.newCDPSession(page);
  let events = [];
  client.on("Tracing.dataCollected", ({ value }) => events.push(...value));

  /** Does something, and prints how long the tasks of the page's main thread took. */
  const measured = (name, act) =>
    step(name, async () => {
      events = [];
      await client.send("Tracing.start", { categories: "devtools.timeline,disabled-by-default-devtools.timeline,toplevel" });
      await act();
      await still(page);
      const ended = new Promise((done) => client.once("Tracing.tracingComplete", done));
      await client.send("Tracing.end");
      await ended;
      const threads = events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
      const tasks = events.filter((event) => event.name === "RunTask" && threads.some(({ pid, tid }) => event.pid === pid && event.tid === tid));
      const longest = (member) => Math.round(Math.max(0, ...tasks.map((task) => task[member] ?? 0)) / 1000);
      const long = tasks.filter(({ dur }) => dur > 50_000).length;
      console.log(`   ${tasks.length} tasks, ${long} over 50 ms; longest ${longest("dur")} ms, of processor time ${longest("tdur")} ms`);
      assert.ok(tasks.length > 0 && longest("tdur") < MOST, `a task took ${longest("tdur")} ms of processor time`);
      assert.ok((await page.locator("main .item").count()) < ROWS, "only rows near the screen are elements");
    });

  const scroll = (frames, by) =>
    page.evaluate(
      ({ frames, by }) =>
        new Promise((done) => {
          const next = (left) => {
            scrollBy(0, by);
            if (left > 0) requestAnimationFrame(() => next(left - 1));
            else done();
          };
          next(frames);
        }),
      { frames, by },
    );
  const isWhole = () => page.getByText(`${given.messages.toLocaleString("en")} messages`).first().waitFor();

  await measured("open the session", async () => {
    await go(page, `#/session/${given.long}`, "Long");
    await page.getByRole("button", { name: "Newest" }).waitFor();
    await isWhole();
  });
  await measured("scroll by 120 pixels a frame", () => scroll(300, 120));
  await measured("scroll by a screen a frame", () => scroll(100, 860));
  await measured("append five messages", async () => {
    for (let n = 1; n <= 5; n++) {
      await api("POST", `/v1/sessions/${given.long}/messages`, { messages: [{ role: "user", content: `One more ${n}` }] });
      await page.getByText(`${(given.messages + n).toLocaleString("en")} messages`).first().waitFor();
    }
  });
  for (const [filter, words] of [["Your messages", " of "], ["Errors", "Nothing matches"], ["Everything", "messages"]]) {
    await measured(`show ${filter}`, async () => {
      await page.getByRole("combobox", { name: "Show" }).selectOption(filter);
      await page.locator(".timeline .sum", { hasText: words }).waitFor();
    });
  }
  await measured("go to the newest message", async () => {
    await page.getByRole("button", { name: "Newest" }).click();
    await page.getByText("One more 5").waitFor();
  });
  await measured("open the memories", async () => {
    await go(page, `#/memories?project=${encodeURIComponent(given.project)}`, "Memories");
    await page.getByText(`${given.topics.toLocaleString("en")} memories`).waitFor();
  });
  await measured("scroll memories by more than a screen a frame", () => scroll(100, 1_500));
  await measured("filter memories", async () => {
    await page.getByRole("searchbox", { name: "Filter memories" }).pressSequentially("topic-17", { delay: 60 });
    await page.getByText(` of ${given.topics.toLocaleString("en")} memories`).waitFor();
  });
  await settled(page);
  assert.deepEqual(faults, []);
  await context.close();
});
