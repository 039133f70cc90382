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
/** The view to come back to after a new login. */
let left = "";

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
  if (left !== "") history.replaceState(null, "", left);
  left = "";
  shell?.close();
  shell = new Shell(app);
  shell.open();
}

function turnAway(error?: unknown): void {
  signOut();
  if (shell) left = location.hash;
  shell?.close();
  shell = null;
  if (app) showSignIn(app, left === "" ? null : (token) => void enter(token), error);
}

applyTheme();
keepTimesTrue();
onSignedOut(() => turnAway());
addEventListener("hashchange", () => {
  const token = takeLaunchToken();
  if (token !== null) void enter(token);
  else if (shell) shell.show();
  else left = location.hash;
});

const token = takeLaunchToken();
if (token !== null) void enter(token);
else if (isSignedIn()) open();
else turnAway();
