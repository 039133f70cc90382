// What a person wants to get done, in at most four actions each, and what goes wrong meanwhile.

import assert from "node:assert/strict";
import { api, enter, given, go, launchUrl, settled, step, withBrowser } from "./page.mjs";

const MOST_ACTIONS = 4;
const project = encodeURIComponent(given.project);
const file = (scope, name) => `/v1/memories/${scope}/${name}?project_dir=${project}`;

/** Runs a task whose actions go through `act`, which counts them. */
async function task(name, run) {
  let actions = 0;
  const act = async (action) => {
    actions++;
    await action;
  };
  await step(name, async () => {
    await run(act);
    assert.ok(actions <= MOST_ACTIONS, `${actions} actions`);
  });
}

await withBrowser(async (browser) => {
  const { page, context, faults } = await enter(browser);
  const home = () => go(page, "#/", "Home");
  const area = page.getByRole("textbox", { name: "Text of the memory" });
  const memory = async (name) => {
    await go(page, `#/memory/private/${name}?project=${project}`, name);
    await page.getByRole("button", { name: "Edit", disabled: false }).waitFor();
    await settled(page);
  };

  await task("correct a wrong memory", async (act) => {
    await act(page.getByRole("link", { name: "fences", exact: true }).first().click());
    await page.getByText("Fences get red paint.").waitFor();
    await act(page.getByRole("button", { name: "Edit" }).click());
    await act(area.fill((await area.inputValue()).replace("red", "blue")));
    await act(page.getByRole("button", { name: "Save" }).click());
    await area.waitFor({ state: "detached" });
    await page.getByText("Fences get blue paint.").waitFor();
    await page.getByText("The description, which lists and recall use, is still").waitFor();
    assert.match(await api("GET", file("private", "fences")), /blue paint/);
  });

  await task("see why something is recalled", async (act) => {
    await act(page.getByRole("link", { name: "Try recalling it by name" }).click());
    await page.getByText(/Matches .*fence/).waitFor();
  });

  await task("approve a proposal", async (act) => {
    await home();
    await act(page.locator('main a[href="#/proposals"]').click());
    await act(page.getByRole("button", { name: "Approve" }).click());
    await page.getByText("Approved: gates was added to the team's memory.").waitFor();
  });

  await task("find what was said about hinges", async (act) => {
    await home();
    await act(page.getByRole("link", { name: "Sessions", exact: true }).click());
    await act(page.getByRole("searchbox").fill("hinges squeak"));
    await act(page.locator("a.hit").first().click());
    await page.getByText(/hinges that squeak/).first().waitFor();
  });

  await task("resolve a conflict of two pages", async (act) => {
    await memory("fences");
    await act(page.getByRole("button", { name: "Edit" }).click());
    const before = await area.inputValue();
    await act(area.fill(before.replace("May", "June")));
    await api("PUT", file("private", "fences"), before.replace("blue", "green"), "text/markdown");
    await act(page.getByRole("button", { name: "Save" }).click());
    await page.getByText("The text below contains both changes.").waitFor();
    await page.getByRole("heading", { name: "Their change" }).waitFor();
    await act(page.getByRole("button", { name: "Save the merged text" }).click());
    await area.waitFor({ state: "detached" });
    await page.getByText("Fences get green paint.").waitFor();
    await page.getByText("Paint them in June.").waitFor();
  });

  await step("a change of the same line by both is shown, and neither is lost", async () => {
    await memory("fences");
    await page.keyboard.press("e");
    const before = await area.inputValue();
    await area.fill(before.replace("green paint", "pink paint"));
    await api("PUT", file("private", "fences"), before.replace("green paint", "grey paint"), "text/markdown");
    await area.press("Control+Enter");
    await page.getByText("both changes affect the same lines").waitFor();
    const both = await area.inputValue();
    for (const colour of ["pink", "grey"]) assert.ok(both.includes(colour), both);
    await page.getByRole("button", { name: "Use theirs" }).click();
    assert.ok(!(await area.inputValue()).includes("pink"));
    await area.fill(before);
    await area.press("Control+Enter");
    await area.waitFor({ state: "detached" });
    await page.getByText("Fences get green paint.").waitFor();
  });

  await step("typed text survives a daemon that is gone, a full disk, a reload and a new login", async () => {
    await memory("fences");
    await page.getByRole("button", { name: "Edit" }).click();
    await area.fill(`${await area.inputValue()}\nUnsaved words.\n`);
    const route = "**/v1/memories/private/fences*";
    const refuse = (answer) => page.route(route, (request) => (request.request().method() === "PUT" ? answer(request) : request.continue()));
    await refuse((request) => request.abort());
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The daemon is not responding.").waitFor();
    await page.unroute(route);
    await refuse((request) => request.fulfill({ status: 507, contentType: "application/problem+json", body: JSON.stringify({ type: "storage_full", title: "Full", status: 507, detail: "the disk is full" }) }));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("the disk is full").first().waitFor();
    await page.unroute(route);
    await page.reload();
    await area.waitFor();
    assert.match(await area.inputValue(), /Unsaved words/);
    await context.clearCookies();
    // A request of the page may be refused before this one, and then there is nothing to click.
    await page.getByRole("button", { name: "Save" }).click({ timeout: 5_000 }).catch(() => undefined);
    await page.getByText("You are not signed in.").waitFor();
    await page.goto(await launchUrl());
    await area.waitFor();
    await home();
    await page.getByText("Unsaved text for").waitFor();
    await page.locator(".notice").getByRole("link", { name: "fences" }).click();
    assert.match(await area.inputValue(), /Unsaved words/);
    await page.getByRole("button", { name: "Discard changes" }).click();
    await area.waitFor({ state: "detached" });
    assert.equal(await page.getByText("Unsaved words").count(), 0);
  });

  await step("a memory can be edited, moved and deleted only when it has been read", async () => {
    const route = "**/v1/memories/private/fences?*";
    let answer;
    const mayAnswer = new Promise((done) => (answer = done));
    await page.route(route, async (request) => {
      await mayAnswer;
      await request.continue();
    });
    await home();
    await go(page, `#/memory/private/fences?project=${project}`, "fences");
    for (const name of ["Edit", "Rename or move…", "Delete"]) assert.ok(await page.getByRole("button", { name }).isDisabled(), name);
    await page.keyboard.press("m");
    assert.equal(await page.getByRole("dialog").count(), 0);
    answer();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("button", { name: "Discard changes" }).click();
    await area.waitFor({ state: "detached" });
    await page.unroute(route);
  });

  await step("the buttons of a candidate are hidden while it is edited", async () => {
    await home();
    const card = page.locator(".candidate").first();
    await card.getByRole("button", { name: "Edit and keep" }).click();
    const cancel = card.getByRole("button", { name: "Cancel" });
    await cancel.focus();
    await page.keyboard.press("y");
    assert.equal(await card.getByRole("button", { name: "Keep", exact: true }).count(), 0);
    await cancel.click();
    await card.getByRole("button", { name: "Keep", exact: true }).waitFor();
  });

  await task("keep a candidate", async (act) => {
    await home();
    await page.locator(".candidate").first().waitFor();
    await act(page.keyboard.press("y"));
    await page.getByText(/^Remembered as/).waitFor();
  });

  await step("a memory is added, renamed, deleted, and the deletion undone", async () => {
    await go(page, `#/memories?project=${project}`, "Memories");
    await page.getByRole("button", { name: "Add a memory" }).click();
    await page.getByRole("textbox", { name: "Text" }).fill("Hinges get <img src=x onerror=alert(1)> oil.");
    await page.getByRole("textbox", { name: "Name" }).fill("oil");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "oil" }).waitFor();
    await page.getByRole("button", { name: "Rename or move…" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("hinges");
    await page.getByRole("button", { name: "Move", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "hinges" }).waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { level: 1, name: "Memories" }).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("heading", { level: 1, name: "hinges" }).waitFor();
    await page.locator(".prose", { hasText: /Hinges get .* oil/ }).waitFor();
    assert.equal(await page.locator("main img").count(), 0);
  });

  await step("a memory that was deleted while it was edited is written again", async () => {
    await memory("hinges");
    await page.getByRole("button", { name: "Edit" }).click();
    await area.fill(`${await area.inputValue()}\nTwice a year.\n`);
    await api("DELETE", file("private", "hinges"));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The memory was deleted while you were editing it.").waitFor();
    await page.getByRole("button", { name: "Create it again" }).click();
    await area.waitFor({ state: "detached" });
    assert.match(await api("GET", file("private", "hinges")), /Twice a year/);
  });

  await step("memories are filtered by use and type", async () => {
    await go(page, `#/memories?project=${project}`, "Memories");
    await page.getByRole("combobox", { name: "Use" }).selectOption("never");
    await page.getByText(/newest 50 sessions/).waitFor();
    await page.getByRole("combobox", { name: "Type" }).selectOption("reference");
    await page.getByText("No matching memories.").waitFor();
  });

  // Chromium reports each refused request on its console, and reads of the memories that were moved or deleted.
  const isExpected = (fault) => /409|401|507|ERR_FAILED/.test(fault) || (fault.includes("404") && fault.includes("/v1/memories/private/"));
  assert.deepEqual(faults.filter((fault) => !isExpected(fault)), []);
  await context.close();
});
