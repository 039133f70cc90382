// A machine with agents and without sessions.

import assert from "node:assert/strict";
import { enter, step, withBrowser } from "./page.mjs";

await withBrowser(async (browser) => {
  const { page, context, faults } = await enter(browser, { permissions: ["clipboard-read", "clipboard-write"] });

  await step("an agent without bethink has a command to copy", async () => {
    const codex = page.locator('[data-agent="codex"]');
    await codex.getByText("not installed").waitFor();
    await codex.getByRole("button", { name: "Copy bethink install codex" }).click();
    await page.getByText("Copied.").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "bethink install codex");
    assert.equal(await page.getByText("bethink install", { exact: true }).count(), 0);
    await page.getByText("bethink import", { exact: true }).waitFor();
  });

  await step("where no agent is known, the command that finds them is shown", async () => {
    for (const answer of [{ json: { agents: [] } }, { status: 404, contentType: "application/problem+json", body: '{"type":"not_found","title":"Not found","status":404,"detail":"route not found"}' }]) {
      await page.route("**/v1/agents", (route) => route.fulfill(answer));
      const asked = page.waitForResponse("**/v1/agents");
      await page.keyboard.press("r");
      await asked;
      await page.getByText("bethink install", { exact: true }).waitFor();
      assert.equal(await page.locator("[data-agent]").count(), 0);
      await page.unroute("**/v1/agents");
    }
  });

  assert.deepEqual(faults.filter((fault) => !fault.includes("404")), []);
  await context.close();
});
