// What people do with the page.

import assert from "node:assert/strict";
import { api, enter, given, go, settled, step, withBrowser } from "./page.mjs";

const turn = (n) => ({ messages: [{ role: "user", content: `And case ${n}? ${"More words about the fence. ".repeat(600)}` }, { role: "assistant", content: `Case ${n} is mended.` }] });

await withBrowser(async (browser) => {
  const { page, context, faults } = await enter(browser);
  await go(page, "#/sessions", "Sessions");
  const row = page.getByRole("link", { name: /Mend the fence/ });
  const tokens = (meter) => meter.getAttribute("aria-valuenow").then(Number);

  await step("a session's bar moves when something is said", async () => {
    await settled(page);
    const meter = row.getByRole("meter");
    await page.waitForFunction(() => Number(document.querySelector(".row [role=meter]")?.getAttribute("aria-valuenow")) > 0);
    const before = await tokens(meter);
    await api("POST", `/v1/sessions/${given.session}/messages`, turn(90));
    await page.waitForFunction((before) => Number(document.querySelector(".row [role=meter]").getAttribute("aria-valuenow")) > before, before);
  });

  await step("a new session is there without a reload", async () => {
    await api("POST", "/v1/sessions", { project_dir: given.project, title: "Paint the gate" });
    await page.getByRole("link", { name: /Paint the gate/ }).waitFor();
  });

  await step("the search of all sessions finds what was said in them", async () => {
    const search = page.getByRole("searchbox", { name: "Search sessions" });
    await search.fill("handler_3");
    await page.getByRole("heading", { name: "In the history" }).waitFor();
    assert.match(await page.locator("a.hit").first().getAttribute("href"), /session\/.*seq=\d+/);
    await search.fill("");
    await page.locator("a.hit").first().waitFor({ state: "detached" });
  });

  await step("the session's own bar moves, with its parts", async () => {
    await row.click();
    await page.getByRole("heading", { level: 1, name: "Mend the fence" }).waitFor();
    const meter = page.locator(".window-box").getByRole("meter");
    await page.waitForFunction(() => Number(document.querySelector(".window-box [role=meter]")?.getAttribute("aria-valuenow")) > 0);
    const before = await tokens(meter);
    await api("POST", `/v1/sessions/${given.session}/messages`, turn(91));
    await page.waitForFunction((before) => Number(document.querySelector(".window-box [role=meter]").getAttribute("aria-valuenow")) > before, before);
    await api("POST", `/v1/sessions/${given.session}/context`, { system: [{ part: "introduction", text: "You mend things. ".repeat(300) }], tools: [{ name: "Read", description: "reads ".repeat(300), input_schema: { type: "object" } }] });
    for (const part of ["System", "Tools", "Conversation"]) await page.locator(".legend").getByText(part).waitFor();
    const widths = await meter.evaluate((meter) => [...meter.querySelectorAll(".piece")].map((piece) => piece.getBoundingClientRect().width));
    assert.ok(widths.filter((width) => width > 0).length >= 3, String(widths));
  });

  await step("the timeline follows, and a message opens", async () => {
    await page.getByRole("button", { name: "Newest" }).click();
    await page.locator(".said-row", { hasText: "Case 91 is mended." }).getByRole("button", { name: /^Show all of message \d+$/ }).click();
    await page.getByRole("dialog").getByText("Case 91 is mended.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await api("POST", `/v1/sessions/${given.session}/messages`, turn(92));
    await page.getByText(/And case 92\?/).waitFor();
    const { messages } = await api("GET", `/v1/sessions/${given.session}`);
    await page.locator(".meta", { hasText: `${messages} messages` }).waitFor();
    await page.getByRole("searchbox").fill("handler_3");
    await page.locator(".hit").first().waitFor();
  });

  await step("calls are folded with their results, and filters leave the rest out", async () => {
    await page.getByRole("button", { name: "First" }).click();
    const call = page.locator(".call-row").first();
    await call.locator(".fold").first().click();
    await call.locator(".fold-body pre").nth(1).waitFor();
    const show = page.getByRole("combobox", { name: "Show" });
    await show.selectOption("user");
    await page.locator(".call-row").first().waitFor({ state: "detached" });
    assert.equal(await page.locator(".said-row:not(.typed)").count(), 0, "only what the user typed");
    await show.selectOption("errors");
    await page.getByText("Nothing matches the filter.").waitFor();
    await show.selectOption("all");
    await page.locator(".call-row").first().waitFor();
  });

  await step("a session is renamed and tagged", async () => {
    await page.getByRole("button", { name: "Rename…" }).click();
    await page.getByRole("textbox", { name: /^Tags/ }).fill("garden, spring");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("spring", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Hand over…" }).click();
    await page.getByText(`bethink continue claude-code --session ${given.session}`).waitFor();
    await page.keyboard.press("Escape");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    assert.equal((await download).suggestedFilename(), `${given.session}.jsonl`);
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  });

  await step("a compaction is tried before it is made, and a line leads to its messages", async () => {
    await page.getByRole("link", { name: "Compactions", exact: true }).click();
    await page.getByRole("combobox", { name: "Level" }).selectOption("embedded");
    for (const size of ["1000", "4000"]) {
      await page.getByRole("combobox", { name: "Size of the summary" }).selectOption(size);
      await page.getByRole("button", { name: "Try" }).click();
      await page.getByRole("button", { name: "Compact with these settings" }).nth(size === "1000" ? 0 : 1).waitFor();
    }
    assert.equal((await api("GET", `/v1/sessions/${given.session}/compactions`)).compactions.length, 1, "a trial changes nothing");
    await page.locator(`a[href*="${given.compaction}"]`).click();
    await page.locator(".behind-line").first().click();
    await page.locator(".evidence .message, .evidence p").first().waitFor();
    await page.locator(".paper a[href*='seq=']").first().waitFor();
  });

  await step("a compaction says what it kept, opens, and is undone after a question", async () => {
    await page.getByRole("link", { name: "Compactions", exact: true }).click();
    await page.locator(`a[href*="${given.compaction}"]`).click();
    await page.getByRole("heading", { name: "Kept" }).waitFor();
    await page.getByRole("heading", { name: "Restored" }).waitFor();
    await page.getByText(/names? in use .* the prompt still contains/).waitFor();
    await page.getByText("Show the summarized messages").click();
    await page.getByText("Please look at src/module_0/handler_0.rs").first().waitFor();
    await page.getByRole("button", { name: "Undo…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    assert.equal(await page.getByRole("button", { name: "Undo…" }).count(), 1, "asked first");
    await page.getByRole("button", { name: "Undo…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo compaction" }).click();
    await page.getByText("Compaction undone. Prompts contain the messages again.").waitFor();
    await page.getByRole("button", { name: "Undo…" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Redo" }).click();
    await page.getByText("Compaction redone with the same summary.").waitFor();
  });

  await step("a compaction is undone in four actions", async () => {
    await go(page, "#/sessions", "Sessions");
    await page.getByRole("link", { name: /Mend the fence/ }).click();
    await page.getByRole("link", { name: "Compactions", exact: true }).click();
    await page.getByRole("button", { name: "Undo…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undo compaction" }).click();
    await page.getByRole("button", { name: "Redo" }).waitFor();
  });

  await step("notes, todos and the report are there", async () => {
    await page.getByRole("link", { name: "Notes" }).click();
    await page.getByRole("button", { name: "Update notes" }).click();
    await page.getByText("The notes are up to date.").waitFor();
    await page.getByText(/Covers the session up to/).waitFor();
    await page.getByRole("button", { name: "Edit notes" }).click();
    const area = page.getByRole("textbox", { name: "Text of the notes" });
    const before = await area.inputValue();
    await area.fill(before.replace(/\n\n/, "\n\nThe gate squeaks.\n\n"));
    // The notes change meanwhile: both changes are kept.
    await api("PUT", `/v1/sessions/${given.session}/notes`, `${before}\nThe hinge is new.\n`, "text/markdown");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/The notes changed while you were editing/).waitFor();
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await page.locator(".paper", { hasText: "The gate squeaks." }).getByText("The hinge is new.").waitFor();
    await page.getByRole("link", { name: "Todos" }).click();
    await page.getByText("Paint it", { exact: true }).waitFor();
    await api("PUT", `/v1/sessions/${given.session}/todos`, { todos: [{ id: "2", content: "Oil the hinges", status: "pending" }] });
    await page.getByText("Oil the hinges").waitFor();
    await page.getByRole("button", { name: "to do: Oil the hinges" }).click();
    await page.getByRole("button", { name: "in progress: Oil the hinges" }).waitFor();
    await page.getByRole("textbox", { name: "New todo" }).fill("Hang the gate");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "Remove: Oil the hinges" }).click();
    await page.getByRole("button", { name: "Remove: Oil the hinges" }).waitFor({ state: "detached" });
    const { todos } = await api("GET", `/v1/sessions/${given.session}/todos`);
    assert.deepEqual(todos.map((todo) => [todo.content, todo.status]), [["Hang the gate", "pending"]]);
    await page.getByRole("link", { name: "Window" }).click();
    await page.getByText(/A compaction now would free/).waitFor();
    assert.equal(await page.getByText("Unexpected cache misses").count(), 0, "only what is unusual is shown");
  });

  await step("proposals are decided", async () => {
    await page.getByRole("link", { name: /^Proposals/ }).click();
    const card = page.locator(`[data-id="${given.proposal}"]`);
    await card.locator(".removed", { hasText: "Gates close by themselves." }).waitFor();
    await card.locator(".added", { hasText: "Gates close by hand." }).waitFor();
    await card.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Approved: gates was added to the team's memory.").waitFor();
    const other = page.locator(`[data-id="${given.new_topic}"]`);
    await other.getByRole("button", { name: "Reject…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
    await page.getByText("No proposals to review.").waitFor();
    await page.getByLabel("Show approved and rejected proposals").check();
    await page.getByText("approved", { exact: true }).waitFor();
  });

  await step("a memory shows its history, and an old version comes back", async () => {
    await go(page, `#/memories?project=${encodeURIComponent(given.project)}`, "Memories");
    await page.getByRole("searchbox").fill("paint");
    await page.getByRole("link", { name: /fences/ }).click();
    await page.getByText("Fences get green paint.").waitFor();
    assert.equal(await page.getByRole("link", { name: "gates" }).getAttribute("href"), `#/memory/private/gates?project=${encodeURIComponent(given.project)}`);
    await page.getByRole("button", { name: "Compare…" }).first().click();
    await page.locator(".added", { hasText: "red paint" }).waitFor();
    await page.getByRole("button", { name: "Restore this version…" }).click();
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByText("Fences get red paint.").waitFor();
  });

  await step("recall tells why, and that nothing fits", async () => {
    await page.getByRole("link", { name: "Recall", exact: true }).click();
    await page.getByRole("searchbox").fill("which paint for the fences?");
    await page.getByRole("button", { name: "Recall" }).click();
    await page.getByRole("link", { name: "fences" }).waitFor();
    await page.getByText(/Matches/).waitFor();
    await page.getByRole("searchbox").fill("quarterly tax returns of Denmark");
    await page.getByRole("button", { name: "Recall" }).click();
    await page.getByText("No matching memories.").waitFor();
  });

  await step("what a change would do is tried before it is saved", async () => {
    await page.getByRole("searchbox").fill("which paint for the fences?");
    await page.getByRole("button", { name: "Recall" }).click();
    await page.getByRole("button", { name: "Try a change…" }).first().click();
    const area = page.getByRole("textbox", { name: "Text of the memory" });
    await page.getByRole("button", { name: "Recall without it" }).click();
    await page.getByText("No longer found: fences (was 1st).").waitFor();
    const text = await area.inputValue();
    await area.fill(text.replace("red paint", "blue paint"));
    await page.getByRole("button", { name: "Recall with this change" }).click();
    await page.locator(".recalled").getByText("blue paint").waitFor({ state: "attached" });
    const file = `/v1/memories/private/fences?project_dir=${encodeURIComponent(given.project)}`;
    assert.match(await api("GET", file), /red paint/, "nothing is stored yet");
    await page.reload();
    await page.getByRole("button", { name: "Try a change…" }).first().click();
    assert.match(await area.inputValue(), /blue paint/, "the draft is there");
    await page.getByRole("button", { name: "Save this change" }).click();
    await area.waitFor({ state: "detached" });
    assert.match(await api("GET", file), /blue paint/);
    await page.getByRole("button", { name: "Try a new memory…" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("stain");
    await area.fill("---\ndescription: which paint for the fences in spring\n---\n\nGreen stain.\n");
    await page.getByRole("button", { name: "Recall with this memory" }).click();
    await page.locator(".recalled li", { hasText: "stain" }).getByText("new", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Discard changes" }).click();
    await page.getByRole("link", { name: "stain" }).waitFor({ state: "detached" });
    await api("PUT", file, text, "text/markdown");
  });

  await step("a memory is pinned, suppressed and neither", async () => {
    const file = `/v1/memories/private/fences?project_dir=${encodeURIComponent(given.project)}`;
    const text = await api("GET", file);
    await page.getByRole("link", { name: "fences" }).click();
    const choice = page.getByRole("combobox", { name: "In prompts" });
    for (const [value, badge, line] of [["always", "pinned", "recall: always\n"], ["never", "suppressed", "recall: never\n"], ["", null, ""]]) {
      await choice.selectOption(value);
      if (badge) await page.locator(".badge", { hasText: badge }).waitFor();
      else await page.locator(".badge", { hasText: "suppressed" }).waitFor({ state: "detached" });
      assert.equal(await api("GET", file), text.replace("---\n", `---\n${line}`));
      if (value !== "never") continue;
      await go(page, `#/memories?project=${encodeURIComponent(given.project)}`, "Memories");
      await page.getByRole("combobox", { name: "Use" }).selectOption("suppressed");
      await page.locator(".row .badge", { hasText: "suppressed" }).waitFor();
      await page.getByText(/^1 of/).waitFor();
      await page.getByRole("link", { name: /fences/ }).click();
    }
  });

  await step("health shows the daemon, jobs and cost", async () => {
    await page.getByRole("link", { name: "Health" }).click();
    await page.getByText("healthy", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "Jobs" }).click();
    await page.getByRole("rowheader").first().waitFor();
    await page.getByRole("heading", { name: "Cost of" }).click();
    await page.getByText("Calls today").waitFor();
    await page.getByRole("heading", { name: "This project" }).waitFor();
  });

  await step("health says what to do about the agents", async () => {
    const agent = (name) => page.locator(`[data-agent="${name}"]`);
    await agent("codex").getByText("bethink install codex").waitFor();
    await agent("gemini").getByText(/could not read .*settings.json: invalid text at line 1/).waitFor();
  });

  await step("instruction files are listed, and an import is approved and revoked", async () => {
    await page.getByRole("link", { name: "Instruction files of this project" }).click();
    await page.getByRole("heading", { level: 1, name: "Instructions" }).waitFor();
    const file = (name) => page.getByRole("listitem").filter({ hasText: name });
    await file("garden/CLAUDE.md").getByText("project", { exact: true }).waitFor();
    await file("garden/CLAUDE.md").getByText("Show the text").click();
    await page.getByText("Oil the hinges.").waitFor();
    await page.getByRole("heading", { name: "Waiting for approval" }).waitFor();
    await page.getByRole("button", { name: /^Approve .*house.md$/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    assert.equal(await page.getByRole("heading", { name: "Waiting for approval" }).count(), 1, "asked first");
    await page.getByRole("button", { name: /^Approve .*house.md$/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByRole("heading", { name: "Waiting for approval" }).waitFor({ state: "detached" });
    const chain = () => api("GET", `/v1/instructions?project_dir=${encodeURIComponent(given.project)}`);
    assert.ok((await chain()).files.some((file) => file.content.includes("Close the doors.")));
    await page.getByRole("button", { name: /^Revoke .*house.md$/ }).click();
    await page.getByRole("heading", { name: "Waiting for approval" }).waitFor();
    assert.ok(!(await chain()).files.some((file) => file.content.includes("Close the doors.")));
  });

  await step("all of it goes by keyboard", async () => {
    await page.keyboard.press("2");
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".row").length === 2);
    await page.keyboard.press("j");
    assert.ok(await focusIn(page, ".row"), "j enters the list");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
    await page.keyboard.press("Escape");
    // Up to the list: one stop for all of its rows.
    for (let n = 0; n < 20 && !(await focusIn(page, ".row")); n++) await page.keyboard.press("Tab");
    assert.ok(await focusIn(page, ".row"), "rows are reached by Tab");
    assert.ok(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== "none"), "the focus is seen");
    const first = await page.evaluate(() => document.activeElement.closest(".item").dataset.index);
    await page.keyboard.press("j");
    assert.notEqual(await page.evaluate(() => document.activeElement.closest(".item").dataset.index), first);
    await page.keyboard.press("Home");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Timeline" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("7");
    await page.getByRole("heading", { level: 1, name: "Health" }).waitFor();
  });

  await step("whoever reads by ear finds landmarks", async () => {
    for (const role of ["banner", "main"]) assert.equal(await page.getByRole(role).count(), 1, role);
    assert.ok((await page.getByRole("navigation").count()) >= 1);
    assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
    const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input, select")].filter((element) => !(element.textContent.trim() || element.ariaLabel || element.labels?.length)).length);
    assert.equal(nameless, 0);
  });

  await step("a degraded daemon is shown above every view with the reason, until it is healthy", async () => {
    const banner = page.locator(".banner");
    assert.equal(await banner.isVisible(), false);
    await page.clock.install();
    await page.route("**/health", (route) => route.fulfill({ json: { status: "degraded", version: "0", detail: "the disk is full: <b>free</b> some space." } }));
    await page.reload();
    await banner.getByText("The daemon is degraded: the disk is full: <b>free</b> some space. Details").waitFor();
    await go(page, "#/recall", "Recall");
    assert.equal(await banner.isVisible(), true);
    await banner.getByRole("link", { name: "Details" }).click();
    await page.getByRole("heading", { level: 1, name: "Health" }).waitFor();
    await page.unroute("**/health");
    await page.clock.fastForward(15_000);
    await banner.waitFor({ state: "hidden" });
  });

  // The browser also reports the answer to the edit of notes that had changed.
  const isConflict = (fault) => /412 \(.*\/notes$/.test(fault);
  assert.deepEqual(faults.filter((fault) => !isConflict(fault)), []);
  await context.close();
});

function focusIn(page, selector) {
  return page.evaluate((selector) => document.activeElement?.closest(selector) !== null, selector);
}
