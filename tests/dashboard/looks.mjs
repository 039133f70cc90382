// Every view at the ends of the range of widths, in both schemes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { enter, given, settled, step, still, withBrowser } from "./page.mjs";

/** Finds what makes a page hard to use with a screen reader. */
const AXE = readFileSync(`${process.env.BETHINK_KIT}/node_modules/axe-core/axe.min.js`, "utf8");

const SCREENS = [
  { colorScheme: "light", viewport: { width: 400, height: 800 } },
  { colorScheme: "dark", viewport: { width: 400, height: 800 } },
  { colorScheme: "light", viewport: { width: 1280, height: 900 } },
  { colorScheme: "dark", viewport: { width: 1600, height: 1000 } },
];

/** WCAG's contrast of text, for everybody who does not see well. */
const LEAST_CONTRAST = 4.5;

const project = encodeURIComponent(given.project);
const VIEWS = ["#/", "#/sessions", `#/memory/private/wide?project=${project}&edit=1`, `#/candidates?project=${project}`, `#/session/${given.long}`, `#/session/${given.long}/compactions`, `#/session/${given.long}/compactions/${given.compaction}`, `#/session/${given.long}/notes`, `#/session/${given.long}/todos`, `#/session/${given.long}/report`, `#/memories?project=${project}`, `#/memory/private/wide?project=${project}`, "#/proposals", `#/recall?project=${project}&q=${encodeURIComponent("long description")}`, `#/health?project=${project}`, `#/instructions?project=${project}`];

const AGENTS = ["installed", "plugin", "outdated", "not_installed", "unreadable"].map((state, n) => ({ agent: ["codex", "claude-code", "zed", "kiro", "gemini"][n], title: `Agent ${n}`, state, files: [], problem: state === "unreadable" ? `could not read /home/${"long".repeat(30)}/settings.json: permission denied` : undefined }));

await withBrowser(async (browser) => {
  for (const screen of SCREENS) {
    const { page, context, faults } = await enter(browser, screen);
    await step(`${screen.colorScheme}, ${screen.viewport.width} pixels`, async () => {
      for (const view of VIEWS) {
        await page.evaluate((hash) => {
          location.hash = hash;
        }, view);
        await page.getByRole("heading", { level: 1 }).first().waitFor();
        await settled(page);
        await good(page, view);
      }
      assert.deepEqual(faults, []);
    });
    await step(`${screen.colorScheme}, ${screen.viewport.width} pixels, without sessions, with agents, without the daemon, and signed out`, async () => {
      await page.route("**/v1/sessions?*", (route) => route.fulfill({ json: { sessions: [] } }));
      await page.route("**/v1/agents", (route) => route.fulfill({ json: { agents: AGENTS } }));
      for (const view of ["#/", "#/health"]) {
        await page.evaluate((hash) => {
          location.hash = hash;
        }, view);
        await page.locator("[data-agent]").first().waitFor();
        await settled(page);
        await good(page, `${view} with agents`);
      }
      await context.setOffline(true);
      await page.keyboard.press("r");
      await page.getByText("The daemon does not answer").waitFor();
      await good(page, "offline");
      await context.setOffline(false);
      await page.locator(".banner").waitFor({ state: "hidden" });
      await context.clearCookies();
      await page.keyboard.press("r");
      await page.getByRole("textbox", { name: "Login link" }).waitFor();
      await good(page, "signed out");
    });
    await context.close();
  }

  const { page, context, faults } = await enter(browser);
  await step("thousands of rows are a screenful of elements", async () => {
    await page.evaluate(() => {
      location.hash = "#/sessions";
    });
    await page.waitForFunction(() => document.querySelectorAll(".row").length > 10);
    assert.ok((await page.locator(".row").count()) < 80);
    await page.locator(".row").first().focus();
    // Sessions come page by page, as one goes on.
    const at = () => page.evaluate(() => Number(document.activeElement.closest(".item")?.ariaPosInSet ?? 0));
    for (;;) {
      await page.keyboard.press("End");
      const reached = await at();
      if (reached === given.sessions) break;
      assert.ok(reached > 0, "the focus is on a row");
      await page.waitForFunction((reached) => Number(document.activeElement.closest(".item")?.ariaSetSize) > reached, reached);
    }
    assert.ok((await page.locator(".row").count()) < 80);

    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#/session/${given.long}`);
    await page.getByRole("button", { name: "Newest" }).click();
    await page.locator(".said-row", { hasText: "Case 999 is mended" }).waitFor();
    assert.ok((await page.locator(".flow > .item").count()) < 120);
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#/session/${given.long}?seq=2001`);
    await page.getByRole("article", { name: "Message 2001", exact: true }).waitFor();
  });

  await step("a choice of light or dark holds", async () => {
    const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await paper();
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await page.keyboard.press("t");
    assert.notEqual(await paper(), light);
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    assert.notEqual(await paper(), light);
  });

  assert.deepEqual(faults, []);
  await context.close();
});

/** Checks the width, the contrast and what screen readers need. */
async function good(page, view) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${view} is ${over} pixels too wide`);
  assert.deepEqual(await page.evaluate(unreadable, LEAST_CONTRAST), [], view);
  // On a busy machine, a part of the view may still be read.
  let found = await violations(page);
  for (let n = 0; n < 3 && found.length > 0; n++) {
    await still(page);
    found = await violations(page);
  }
  assert.deepEqual(found, [], view);
}

async function violations(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`);
  });
}

/** Runs in the page: texts on the screen with too little contrast to what is behind them. */
function unreadable(least) {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = ([r, g, b]) => [r, g, b].reduce((sum, part, n) => sum + [0.2126, 0.7152, 0.0722][n] * (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4), 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba("white");
  };
  const found = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    const style = getComputedStyle(element);
    if (!own || style.visibility === "hidden" || element.closest(":disabled, [hidden], .unseen") || element.getClientRects().length === 0) continue;
    const [a, b] = [luminance(rgba(style.color)), luminance(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least) found.add(`${element.tagName}.${element.className}: ${contrast.toFixed(2)}`);
  }
  return [...found];
}
