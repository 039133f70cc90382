// What the scripts share: a browser, the page, and what must never happen while it is open.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { chromium } = createRequire(`${process.env.BETHINK_KIT}/package.json`)("playwright-core");

/** What the test knows: the daemon's address and token, and ids. */
export const given = JSON.parse(process.env.BETHINK_GIVEN);

/** A request as a program makes it. */
export async function api(method, path, body, type = "application/json") {
  const headers = { Authorization: `Bearer ${given.token}`, ...(body === undefined ? {} : { "Content-Type": type }) };
  const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(given.url + path, { method, headers, body: sent });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? null : answer.headers.get("content-type").includes("json") ? JSON.parse(text) : text;
}

export async function launchUrl() {
  return (await api("POST", "/v1/dashboard/launch", {})).url;
}

export async function withBrowser(use) {
  // The sandbox of the browser refuses to be root's.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath: process.env.BETHINK_CHROMIUM, args });
  try {
    await use(browser);
  } finally {
    await browser.close();
  }
}

/** The page that was opened last, for who has to find out what went wrong. */
let shown;

/** A page that is watched: `faults` holds what must not happen. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  const faults = [];
  context.on("request", (request) => {
    if (new URL(request.url()).origin !== given.url) faults.push(`a request left the origin: ${request.url()}`);
  });
  await context.exposeBinding("bethinkViolated", (_, what) => faults.push(`policy: ${what}`));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => window.bethinkViolated(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  shown = page;
  page.on("pageerror", (error) => faults.push(`an error: ${error.stack}`));
  page.on("dialog", (dialog) => {
    faults.push(`a dialog of the browser: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("popup", (popup) => faults.push(`a window opened: ${popup.url()}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  return { context, page, faults };
}

/** The same, logged in. */
export async function enter(browser, options) {
  const opened = await open(browser, options);
  await opened.page.goto(await launchUrl());
  await opened.page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  return opened;
}

export async function go(page, hash, heading) {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, hash);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

/** Waits until nothing is asked any more but the stream of events. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector(".state")?.dataset.state === "live");
  await still(page);
}

/** Waits until nothing is loading. */
export async function still(page) {
  await page.waitForFunction(() => !document.querySelector("main [role=status]")?.textContent?.startsWith("Loading"));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export async function step(name, act) {
  try {
    await act();
    console.log(`ok ${name}`);
  } catch (error) {
    const text = await shown?.evaluate(() => `${location.hash}\n${document.body.innerText}`).catch(() => "");
    throw new Error(`${name}: ${error.message}\n--- the page says:\n${text?.slice(0, 1_500)}`, { cause: error });
  }
}
