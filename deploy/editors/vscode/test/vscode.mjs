// A fake `vscode` module with everything that the extension uses. It records what a person would see. `answers` maps a
// part of a message to the button or text that the person chooses.

class EventEmitter {
  listeners = new Set();
  event = (listener) => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire(value) {
    for (const listener of this.listeners) listener(value);
  }
  dispose() {
    this.listeners.clear();
  }
}

class Uri {
  constructor(parts) {
    Object.assign(this, { scheme: '', path: '', query: '' }, parts);
  }
  static from = (parts) => new Uri(parts);
  static file = (path) => new Uri({ scheme: 'file', path });
  static parse(text) {
    const [, scheme, path, query = ''] = /^([a-z]+):([^?]*)(?:\?(.*))?$/.exec(text);
    return new Uri({ scheme, path: decodeURIComponent(path), query: decodeURIComponent(query) });
  }
  get fsPath() {
    return this.path;
  }
  toString() {
    const path = this.path.split('/').map(encodeURIComponent).join('/');
    return `${this.scheme}:${path}${this.query ? `?${encodeURIComponent(this.query)}` : ''}`;
  }
}

class FileSystemError extends Error {
  static FileNotFound = (what) => new FileSystemError(`not found: ${what}`);
  static NoPermissions = (what) => new FileSystemError(`not permitted: ${what}`);
  static Unavailable = (what) => new FileSystemError(String(what));
}

class Named {
  constructor(id) {
    this.id = id;
  }
}

const PLAIN = {
  EventEmitter, Uri, FileSystemError,
  ThemeColor: Named,
  ThemeIcon: Named,
  Disposable: class { constructor(dispose) { this.dispose = dispose; } },
  McpStdioServerDefinition: class {
    constructor(label, command, args, env) { Object.assign(this, { label, command, args, env }); }
  },
  TreeItem: class { constructor(label, state) { this.label = label; this.collapsibleState = state; } },
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  StatusBarAlignment: { Left: 1, Right: 2 },
  ProgressLocation: { Notification: 15 },
  ConfigurationTarget: { Global: 1 },
  FileType: { File: 1 },
  FilePermission: { Readonly: 1 },
  FileChangeType: { Changed: 1 },
};

export function stub({ folder, trusted = true, settings = {}, answers = {} }) {
  const seen = { documents: [], tools: [], messages: [], diffs: [], opened: [], external: [], picks: [], inputs: [], languages: [], draws: 0, status: null, tree: null };
  const [commands, contexts, providers, documents] = [new Map(), new Map(), new Map(), new Map()];
  const config = { ...settings };
  const answer = (text) => answers[Object.keys(answers).find((part) => text.includes(part))];
  const quiet = () => new EventEmitter().event;
  const openings = new EventEmitter();

  const message = (kind) => async (text, ...offered) => {
    seen.messages.push({ kind, text, offered });
    return offered.find((one) => one === answer(text));
  };
  const window = {
    activeTextEditor: undefined,
    onDidChangeActiveTextEditor: quiet(),
    createStatusBarItem: () => (seen.status = { text: '', show() {}, dispose() {} }),
    createTreeView: (_id, { treeDataProvider }) => (seen.tree = { provider: treeDataProvider, dispose() {} }),
    showInformationMessage: message('information'),
    showWarningMessage: message('warning'),
    showErrorMessage: message('error'),
    showInputBox: async (options) => {
      seen.inputs.push(options);
      return answer(options.title);
    },
    showQuickPick: async (items, options) => {
      seen.picks.push({ items, options });
      const chosen = answer(options?.title ?? 'pick');
      return typeof chosen === 'number' ? items[chosen] : items.find((item) => item === chosen);
    },
    // The person selects a row by its number, or presses the button of a row: `{ row, button }`.
    createQuickPick: () => {
      const [accept, press, hide] = [new EventEmitter(), new EventEmitter(), new EventEmitter()];
      return {
        onDidAccept: accept.event,
        onDidTriggerItemButton: press.event,
        onDidHide: hide.event,
        hide: () => hide.fire(),
        dispose() {},
        show() {
          seen.picks.push({ items: this.items, options: { title: this.title } });
          const chosen = answer(this.title);
          const item = this.items[chosen?.row ?? chosen];
          if (!item) return hide.fire();
          this.selectedItems = [item];
          if (typeof chosen === 'number') return accept.fire();
          press.fire({ item, button: item.buttons.find((one) => one.tooltip === chosen.button) });
        },
      };
    },
    withProgress: (_options, work) => work({ report() {} }, { onCancellationRequested: quiet() }),
  };
  const workspace = {
    isTrusted: trusted,
    workspaceFolders: folder ? [{ uri: Uri.file(folder), name: 'app', index: 0 }] : undefined,
    getWorkspaceFolder: () => undefined,
    onDidChangeWorkspaceFolders: quiet(),
    onDidOpenTextDocument: openings.event,
    onDidGrantWorkspaceTrust: quiet(),
    getConfiguration: () => ({
      get: (key, otherwise) => config[key] ?? otherwise,
      update: async (key, value) => void (config[key] = value),
    }),
    registerFileSystemProvider: (scheme, provider) => {
      providers.set(scheme, provider);
      return { dispose() {} };
    },
    openTextDocument: async ({ content }) => {
      const uri = Uri.from({ scheme: 'untitled', path: `/${documents.size}` });
      documents.set(uri.toString(), content);
      return { uri };
    },
  };
  const special = {
    setContext: (key, value) => {
      seen.draws += 1;
      contexts.set(key, value);
    },
    'vscode.diff': (...sides) => seen.diffs.push(sides.map((one) => documents.get(String(one)) ?? one)),
    'vscode.open': async (uri) => {
      seen.opened.push(String(uri));
      seen.documents.push(Buffer.from(await providers.get(uri.scheme).readFile(uri)).toString('utf8'));
      openings.fire({ uri, languageId: 'markdown' });
    },
  };
  const known = {
    registerCommand: (name, run) => {
      commands.set(name, run);
      return { dispose() {} };
    },
    executeCommand: async (name, ...rest) => (special[name] ?? commands.get(name))(...rest),
  };
  const lm = {
    registerMcpServerDefinitionProvider: (id, provider) => {
      seen.tools.push({ id, provider });
      return { dispose() {} };
    },
  };
  const languages = { setTextDocumentLanguage: async ({ uri }, id) => void seen.languages.push([String(uri), id]) };
  const env = { openExternal: async (url) => seen.external.push(url) };
  return { vscode: { ...PLAIN, window, workspace, commands: known, env, languages, lm }, seen, commands, contexts, providers, config };
}
