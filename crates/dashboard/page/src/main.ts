// Signs in with a launch token or with this tab's earlier login, then shows the view that the address names.

import "./order.ts";
import { isSignedIn, onSignedOut, signIn, signOut } from "./api.ts";
import { applyTheme } from "./theme.ts";
import { launchToken } from "./route.ts";
import { Shell } from "./shell.ts";
import { showSignIn } from "./views/sign-in.ts";
import { keepTimesTrue } from "./time.ts";

const app = document.querySelector<HTMLElement>("#app");
let shell: Shell | null = null;
/** Session storage key of the view that this tab comes back to after a new login. */
const LEFT_KEY = "bethink-left";
/** That view's address; `null` if this tab was not signed in before. */
let left = sessionStorage.getItem(LEFT_KEY);

/** Removes the token from the address first, because the browser's history keeps addresses and people copy them. */
function takeLaunchToken(): string | null {
  const token = launchToken(location.hash);
  if (token !== null) history.replaceState(null, "", location.pathname);
  return token;
}

async function enter(token: string): Promise<void> {
  try {
    await signIn(token);
    open();
  } catch (error) {
    turnAway(error);
  }
}

function open(): void {
  if (!app) return;
  if (left) history.replaceState(null, "", left);
  left = null;
  sessionStorage.removeItem(LEFT_KEY);
  shell?.close();
  shell = new Shell(app);
  shell.open();
}

function leave(): void {
  left = location.hash;
  try {
    sessionStorage.setItem(LEFT_KEY, left);
  } catch {
    // Drafts use up the quota. The address lasts until a reload.
  }
}

function turnAway(error?: unknown): void {
  signOut();
  if (shell) leave();
  shell?.close();
  shell = null;
  if (app) showSignIn(app, left === null ? null : (token) => void enter(token), error);
}

applyTheme();
keepTimesTrue();
onSignedOut(() => turnAway());
addEventListener("hashchange", () => {
  const token = takeLaunchToken();
  if (token !== null) void enter(token);
  else if (shell) shell.show();
  else if (left !== null) leave();
});

const token = takeLaunchToken();
if (token !== null) void enter(token);
else if (isSignedIn()) open();
else turnAway();
