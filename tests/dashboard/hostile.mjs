// Every view, full of texts that would like to run.

import assert from "node:assert/strict";
import { enter, given, settled, step, withBrowser } from "./page.mjs";

/** Elements that no view makes, so that one of them came out of a text. */
const FOREIGN = "script, iframe, object, embed, img, video, audio, svg, math, style, link, meta, base, form[action], template, marquee, body body";

await withBrowser(async (browser) => {
  const { page, context, faults } = await enter(browser);
  const project = encodeURIComponent(given.project);
  const views = {
    home: "#/",
    sessions: "#/sessions",
    timeline: `#/session/${given.session}`,
    compaction: `#/session/${given.session}/compactions/${given.compaction}`,
    notes: `#/session/${given.session}/notes`,
    todos: `#/session/${given.session}/todos`,
    report: `#/session/${given.session}/report`,
    memories: `#/memories?project=${project}`,
    "a memory with all of them": `#/memory/private/all?project=${project}`,
    proposals: "#/proposals",
    recall: `#/recall?project=${project}&q=${encodeURIComponent("click the picture of the script")}`,
    health: `#/health?project=${project}`,
    "the editor": `#/memory/private/all?project=${project}&edit=1`,
    candidates: `#/candidates?project=${project}`,
    "an address that is one": `#/memory/${encodeURIComponent("<img src=x onerror=alert(1)>")}/x?project=${project}`,
  };

  const clean = async () => {
    assert.equal(await page.evaluate(() => window.bethinkRan), undefined, "something ran");
    const foreign = await page.evaluate((foreign) => [...document.querySelectorAll(`body :is(${foreign})`)].filter((element) => !element.matches("body > script")).map((element) => element.outerHTML.slice(0, 100)), FOREIGN);
    assert.deepEqual(foreign, [], "a text became an element");
    const handlers = await page.evaluate(() => [...document.querySelectorAll("body *")].flatMap((element) => element.getAttributeNames().filter((name) => name.startsWith("on") || name === "srcdoc")));
    assert.deepEqual(handlers, []);
    const leads = await page.evaluate(() => [...document.querySelectorAll("a")].map((a) => a.getAttribute("href")).filter((href) => !href.startsWith("#")));
    assert.deepEqual(leads, [], "a link out of the page");
  };

  for (const [name, hash] of Object.entries(views)) {
    await step(name, async () => {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, hash);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      await settled(page);
      // The topic is shown first, and hidden when the editor opens.
      if (name === "the editor") await page.locator("main textarea:visible").first().waitFor();
      const closed = page.locator("main details:not([open]) > summary:visible");
      while ((await closed.count()) > 0) await closed.first().click();
      await settled(page);
      await clean();
    });
  }
  // One of the views asks for what is not there, which a browser puts on its console.
  const refused = (fault) => fault.startsWith("console: Failed to load resource");
  assert.deepEqual(faults.filter((fault) => !refused(fault)), []);

  await step("all messages, up and down", async () => {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, views.timeline);
    await page.locator(".said-row.typed .prose").first().waitFor();
    for (let n = 0; n < 40; n++) {
      await page.mouse.wheel(0, 900);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      if (n % 8 === 0) await page.evaluate(() => document.querySelectorAll('.fold[aria-expanded="false"]').forEach((fold) => fold.click()));
      if (n % 8 === 0) await clean();
    }
    await page.getByRole("button", { name: "Newest" }).click();
    await settled(page);
    await clean();
    for (let seq = 790; seq > 700; seq -= 9) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `#/session/${given.session}?seq=${seq}`);
      // A result is in the row of its call.
      const shown = seq % 4 === 3 ? seq - 1 : seq;
      const open = page.getByRole("button", { name: `Show all of message ${shown}`, exact: true }).first();
      const dialog = page.getByRole("dialog");
      // A row that is being replaced would lose the click.
      await open.waitFor();
      await settled(page);
      await open.click();
      await dialog.waitFor();
      await clean();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    }
  });

  await step("what hides is shown", async () => {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, views["a memory with all of them"]);
    await page.getByText("\u27e6U+202E\u27e7").first().waitFor();
    await page.getByText("\u27e6U+E0041\u27e7").first().waitFor();
    await page.getByText("\u241b]52;c;").first().waitFor();
  });

  await step("a link asks before it leads away, and says where", async () => {
    const links = page.locator("main button.link");
    const many = await links.count();
    assert.ok(many > 10, String(many));
    for (let n = 0; n < many; n += Math.ceil(many / 12)) {
      await links.nth(n).click();
      const dialog = page.getByRole("dialog", { name: "Open this address?" });
      await dialog.getByText(/^https:\/\/evil\.example\//).waitFor();
      assert.ok(await dialog.getByRole("button", { name: "Stay here" }).evaluate((button) => button === document.activeElement), "Enter stays");
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
    }
    const inert = await page.locator("main .no-link").evaluateAll((all) => all.map((one) => one.title));
    assert.ok(inert.some((title) => title.includes("javascript:")), "those that run are no links at all");
    await clean();
  });

  assert.deepEqual(faults.filter((fault) => !refused(fault)), []);
  await context.close();
});
