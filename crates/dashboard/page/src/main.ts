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
const RETURN_KEY = "bethink-return";
/** That view's address; `null` if this tab was not signed in before. */
let returnTo = sessionStorage.getItem(RETURN_KEY);

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
  if (returnTo) history.replaceState(null, "", returnTo);
  returnTo = null;
  sessionStorage.removeItem(RETURN_KEY);
  shell?.close();
  shell = new Shell(app);
  shell.open();
}

function saveReturnAddress(): void {
  returnTo = location.hash;
  try {
    sessionStorage.setItem(RETURN_KEY, returnTo);
  } catch {
    // The storage is full of drafts. Then the address lasts only until a reload.
  }
}

function turnAway(error?: unknown): void {
  signOut();
  if (shell) saveReturnAddress();
  shell?.close();
  shell = null;
  if (app) showSignIn(app, returnTo === null ? null : (token) => void enter(token), error);
}

applyTheme();
keepTimesTrue();
onSignedOut(() => turnAway());
addEventListener("hashchange", () => {
  const token = takeLaunchToken();
  if (token !== null) void enter(token);
  else if (shell) shell.show();
  else if (returnTo !== null) saveReturnAddress();
});

const token = takeLaunchToken();
if (token !== null) void enter(token);
else if (isSignedIn()) open();
else turnAway();
