// A person's machine: a daemon in a home of its own, a project, and an editor window on it.
// BETHINK_BIN is the folder that holds `bethink` and `bethinkd`.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { stub } from './vscode.mjs';

const DIST = fileURLToPath(new URL('../dist/extension.js', import.meta.url));
/** Milliseconds that anything may take on a busy machine before a test fails. */
const PATIENCE = 20_000;

export class Machine {
  /** Functions that close the open windows. */
  windows = new Set();

  constructor() {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), 'bethink-vscode-')));
    this.project = join(this.root, 'app');
    mkdirSync(this.project);
    this.home = join(this.root, 'home');
    this.program = join(process.env.BETHINK_BIN, 'bethink');
    const foreign = Object.keys(process.env).filter((name) => name.startsWith('BETHINK_') && name !== 'BETHINK_BIN');
    for (const name of foreign) delete process.env[name];
    Object.assign(process.env, {
      HOME: this.root,
      BETHINK_HOME: this.home,
      BETHINK_CONFIG: join(this.root, 'config.toml'),
      BETHINK_DAEMON__LISTEN: '127.0.0.1:0',
    });
  }

  cli(...words) {
    const stdio = ['ignore', 'pipe', 'pipe'];
    return execFileSync(this.program, words, { cwd: this.project, encoding: 'utf8', stdio });
  }

  up() {
    this.cli('up', '--quiet');
  }

  down() {
    try {
      this.cli('down');
    } catch {
      // It was not running.
    }
  }

  /** Sends a request as another client of the daemon: JSON, or Markdown if the body is a string. */
  async ask(method, path, body) {
    const { url } = JSON.parse(readFileSync(join(this.home, 'daemon.json'), 'utf8'));
    const token = readFileSync(join(this.home, 'token'), 'utf8').trim();
    const text = typeof body === 'string';
    const type = text ? 'text/markdown' : 'application/json';
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body: body === undefined || text ? body : JSON.stringify(body),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
    return answer.headers.get('content-type')?.includes('json') ? JSON.parse(said) : said;
  }

  /** Returns the path of a route with this project as its `project_dir`. */
  of(path) {
    return `${path}?project_dir=${encodeURIComponent(this.project)}`;
  }

  async session(window = 60_000, title = 'the tide job') {
    const model = { name: 'claude-sonnet-4-5', context_window: window, max_output_tokens: 8_000 };
    return (await this.ask('POST', '/v1/sessions', { project_dir: this.project, title, model })).id;
  }

  async say(session, ...texts) {
    const messages = texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }));
    await this.ask('POST', `/v1/sessions/${session}/messages`, { messages });
  }

  /** A window of the editor on the project, with the extension active. */
  open(options = {}) {
    const settings = { program: this.program, ...options.settings };
    const editor = stub({ folder: this.project, ...options, settings });
    const context = { subscriptions: [] };
    activate(editor.vscode, context);
    const close = () => context.subscriptions.splice(0).forEach((one) => one.dispose());
    this.windows.add(close);
    const run = (name, ...args) => editor.commands.get(`bethink.${name}`)(...args);
    const rows = () => flat(editor.seen.tree.provider);
    return { ...editor, close, run, rows };
  }

  gone() {
    // also those of a test that failed: their streams would keep this process alive
    this.windows.forEach((close) => close());
    // `bethink down` stops no daemon whose URL is in `BETHINK_URL`.
    delete process.env.BETHINK_URL;
    this.down();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Each window has its own copy of the extension, like each extension host. */
function activate(vscode, context) {
  const load = Module._load;
  const require = createRequire(import.meta.url);
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
  delete require.cache[DIST];
  try {
    require(DIST).activate(context);
  } finally {
    Module._load = load;
  }
}

/** Every row of the tree, with its depth. */
function flat(provider, node, depth = 0) {
  return provider.getChildren(node).flatMap((child) => {
    const item = provider.getTreeItem(child);
    return [{ depth, item, node: child }, ...flat(provider, child, depth + 1)];
  });
}

/** Waits until `look` returns something. */
export async function until(what, look) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
