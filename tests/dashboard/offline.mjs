// A daemon that stops, restarts or replaces its token while somebody types.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { api, enter, given, go, launchUrl, settled, step, withBrowser } from "./page.mjs";

/** Milliseconds within which the page must notice what happened. */
const SOON = { timeout: 8_000 };

const project = encodeURIComponent(given.project);
const fences = `/v1/memories/private/fences?project_dir=${project}`;
/** The daemon that this script started. */
let own;

const answers = () => fetch(`${given.url}/health`).then(() => true, () => false);

async function until(holds) {
  for (let n = 0; n < 600; n++) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error("the daemon neither stopped nor started");
}

async function stop() {
  if (own) own.kill("SIGTERM");
  else process.kill(given.pid, "SIGTERM");
  await until(async () => !(await answers()));
}

async function start() {
  const [program, ...words] = given.command;
  own = spawn(program, words, { env: { ...process.env, ...given.env }, stdio: "ignore" });
  await until(answers);
}

const banner = (page) => page.locator(".banner");
const area = (page) => page.getByRole("textbox", { name: "Text of the memory" });

/** Opens a login link in the tab that was signed out, as a person does. */
async function comeBack(page) {
  await page.getByText("You are not signed in.").waitFor(SOON);
  await page.getByRole("textbox", { name: "Login link" }).fill(await launchUrl());
  await page.getByRole("button", { name: "Sign in" }).click();
}

try {
  await withBrowser(async (browser) => {
    const { page, context, faults } = await enter(browser);

    await step("a daemon that is gone is noticed, and what was typed is kept", async () => {
      await go(page, `#/memory/private/fences?project=${project}`, "fences");
      await settled(page);
      await page.getByRole("button", { name: "Edit" }).click();
      await area(page).fill(`${await area(page).inputValue()}\nTyped before the stop.\n`);
      await stop();
      await banner(page).getByText("The daemon does not answer").waitFor(SOON);
      assert.equal(await page.locator("main.old").count(), 1, "the view is marked");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("The daemon is not responding.").waitFor({ timeout: 1_000 });
      await page.getByText("Your text is kept in this tab.").waitFor();
      await area(page).fill(`${await area(page).inputValue()}Typed after the stop.\n`);
    });

    await step("every view says so, and a view that was read stays", async () => {
      for (const view of ["#/", "#/sessions", `#/memories?project=${project}`, "#/proposals", `#/recall?project=${project}`, "#/health", `#/instructions?project=${project}`]) {
        await page.evaluate((hash) => {
          location.hash = hash;
        }, view);
        await page.locator("main").getByText("The daemon is not responding.").first().waitFor(SOON);
        assert.equal(await banner(page).isVisible(), true, view);
      }
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `#/memory/private/fences?project=${project}`);
      await area(page).waitFor(SOON);
      assert.match(await area(page).inputValue(), /Typed after the stop/);
    });

    await step("after a restart, the tab signs in again and continues where it was", async () => {
      await start();
      await comeBack(page);
      await page.getByRole("heading", { level: 1, name: "fences" }).waitFor();
      assert.match(await area(page).inputValue(), /Typed before the stop.\nTyped after the stop/);
      assert.equal(await banner(page).isVisible(), false);
      await page.getByRole("button", { name: "Save" }).click();
      await area(page).waitFor({ state: "detached" });
      assert.match(await api("GET", fences), /Typed after the stop/);
    });

    await step("a connection that comes back heals by itself", async () => {
      await go(page, `#/session/${given.session}/todos`, "Mend the fence");
      await settled(page);
      const field = page.getByRole("textbox", { name: "New todo" });
      await context.setOffline(true);
      await field.fill("Oil the gate");
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByText("The daemon is not responding.").first().waitFor(SOON);
      await banner(page).getByText("The daemon does not answer").waitFor(SOON);
      assert.equal(await field.inputValue(), "Oil the gate");
      await context.setOffline(false);
      await banner(page).waitFor({ state: "hidden", ...SOON });
      assert.equal(await page.locator("main.old").count(), 0);
      assert.equal(await field.inputValue(), "Oil the gate", "typing is not disturbed");
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByRole("button", { name: "to do: Oil the gate" }).waitFor();
      await go(page, "#/sessions", "Sessions");
      await settled(page);
      await context.setOffline(true);
      // Reading a view again is what notices it here.
      await page.keyboard.press("r");
      await banner(page).getByText("The daemon does not answer").waitFor(SOON);
      await api("POST", "/v1/sessions", { project_dir: given.project, title: "Made meanwhile" });
      await context.setOffline(false);
      await page.getByRole("link", { name: /Made meanwhile/ }).waitFor(SOON);
    });

    await step("a replaced token leads to the sign-in, and back to the same view", async () => {
      await go(page, `#/memory/private/fences?project=${project}`, "fences");
      await page.getByRole("button", { name: "Edit" }).click();
      await area(page).fill(`${await area(page).inputValue()}\nTyped before the rotation.\n`);
      await api("POST", "/v1/token/rotate");
      given.token = readFileSync(`${given.home}/token`, "utf8").trim();
      await page.getByText("You are not signed in.").waitFor(SOON);
      await page.getByRole("textbox", { name: "Login link" }).fill("https://example.org/#launch=nothing");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("The login link was not accepted.").waitFor();
      await comeBack(page);
      await page.getByRole("heading", { level: 1, name: "fences" }).waitFor();
      assert.match(await area(page).inputValue(), /Typed before the rotation/);
    });

    // Chromium reports each request that failed or was refused.
    assert.deepEqual(faults.filter((fault) => !/401|ERR_CONNECTION|ERR_INTERNET_DISCONNECTED|ERR_INCOMPLETE|ERR_NETWORK/.test(fault)), []);
    await context.close();
  });
} finally {
  own?.kill("SIGKILL");
}
