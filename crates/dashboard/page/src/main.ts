// Comes in by a launch token or by what this tab was given before, then shows the view of the address.

import { forgetPage, isKnown, login, onStranger } from "./api.ts";
import { applyTheme } from "./theme.ts";
import { launchToken } from "./route.ts";
import { Shell } from "./shell.ts";
import { stranger } from "./views/stranger.ts";
import { keepTimesTrue } from "./time.ts";

const app = document.querySelector<HTMLElement>("#app");
let shell: Shell | null = null;

/** Takes the token out of the address before anything else: the address is kept in history and copied. */
function takeLaunchToken(): string | null {
  const token = launchToken(location.hash);
  if (token !== null) history.replaceState(null, "", location.pathname);
  return token;
}

async function enter(token: string): Promise<void> {
  try {
    await login(token);
    open();
  } catch (error) {
    turnAway(error);
  }
}

function open(): void {
  if (!app) return;
  shell?.close();
  shell = new Shell(app);
  shell.open();
}

function turnAway(error?: unknown): void {
  forgetPage();
  shell?.close();
  shell = null;
  if (app) stranger(app, error);
}

applyTheme();
keepTimesTrue();
onStranger(() => turnAway());
addEventListener("hashchange", () => {
  const token = takeLaunchToken();
  if (token !== null) void enter(token);
  else shell?.show();
});

const token = takeLaunchToken();
if (token !== null) void enter(token);
else if (isKnown()) open();
else turnAway();
