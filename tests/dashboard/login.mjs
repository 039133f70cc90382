// Coming in: a launch token is good once, it leaves the address at once, and a stranger is told calmly what to do.

import assert from "node:assert/strict";
import { enter, given, launchUrl, open, step, withBrowser } from "./page.mjs";

await withBrowser(async (browser) => {
  await step("a launch address opens the dashboard, and leaves nothing in it", async () => {
    const { page, context, faults } = await open(browser);
    const launch = await launchUrl();
    await page.goto(launch);
    await page.getByRole("link", { name: /Mend the fence/ }).waitFor();
    assert.ok(!page.url().includes("launch"), page.url());
    assert.ok(await page.evaluate(() => performance.getEntriesByType("resource").every((entry) => !entry.name.includes("launch="))));
    const [cookie, ...others] = await context.cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, others.length], [true, "Strict", 0]);
    assert.equal(await page.evaluate(() => document.cookie), "", "scripts can't read it");
    await page.reload();
    await page.getByRole("link", { name: /Mend the fence/ }).waitFor();
    assert.deepEqual(faults, []);

    const tab = await context.newPage();
    await tab.goto(await launchUrl());
    await tab.getByRole("link", { name: /Mend the fence/ }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: /Mend the fence/ }).waitFor();

    const other = await open(browser);
    await other.page.goto(launch);
    await other.page.getByText("You are not signed in.").waitFor();
    await other.page.getByText("bethink dashboard").waitFor();
    assert.ok(!other.page.url().includes("launch"), "a token that is used up goes, too");
    assert.equal(await other.page.getByRole("link").count(), 0);
    await context.close();
    await other.context.close();
  });

  await step("an address without a token tells what to run", async () => {
    const { page, context, faults } = await open(browser);
    for (const address of ["/", "/#/proposals", "/#launch=", `/#launch=${"x".repeat(500)}`, "/#launch=%3Cscript%3E"]) {
      await page.goto("about:blank");
      await page.goto(given.url + address);
      await page.getByText("You are not signed in.").waitFor();
    }
    // A refused login is a failed request, which browsers put on their console; nothing else may be there.
    assert.deepEqual(faults.filter((fault) => !fault.includes("401") && !fault.includes("422")), []);
    await context.close();
  });

  await step("a page whose login has ended is turned away, and comes back with a new one", async () => {
    const { page, context } = await enter(browser);
    await context.clearCookies();
    // The stream of events may have noticed before.
    await page.evaluate(() => {
      location.hash = "#/health";
    });
    await page.getByText("You are not signed in.").waitFor();
    assert.deepEqual(await page.evaluate(() => Object.entries(sessionStorage)), [["bethink-return", "#/health"]]);
    await page.reload();
    await page.getByRole("textbox", { name: "Login link" }).waitFor();
    await page.goto(await launchUrl());
    await page.getByRole("heading", { level: 1, name: "Health" }).waitFor();
    await context.close();
  });

  await step("the cookie alone opens nothing", async () => {
    const { page, context } = await enter(browser);
    const [bare, wrong] = await page.evaluate(async () => {
      const status = async (headers) => (await fetch("/v1/sessions", { headers })).status;
      return [await status({}), await status({ "X-Bethink-Page": "0".repeat(64) })];
    });
    assert.deepEqual([bare, wrong], [401, 401]);
    await context.close();
  });
});
