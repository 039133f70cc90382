/** Starts the daemon with `bethink up`, if the person allows it. */

import { execFile } from 'node:child_process';

import * as vscode from 'vscode';

import type { DaemonAddress } from './client';
import { needTrust } from './projects';
import { tell } from './tell';
import { line } from './text';

/** Milliseconds that a start may take. A daemon that recovers a damaged database may need ten seconds. */
const STARTS_WITHIN = 30_000;

const START = 'Start';
const ALWAYS = 'Always';

export class Starter {
  /** Whether the person has been asked. Once per window is enough. */
  private asked = false;

  constructor(private readonly find: () => Promise<DaemonAddress>) {}

  /** Starts the daemon or asks first, as the setting says. Returns whether the daemon was started. */
  async offer(): Promise<boolean> {
    const wanted = settings().get<string>('startDaemon', 'ask');
    const { external } = await this.find();
    if (wanted === 'never' || external || !vscode.workspace.isTrusted || this.asked) return false;
    this.asked = true;
    if (wanted !== 'always') {
      const told = 'The bethink daemon is not running. Start it?';
      const chosen = await tell(told, START, ALWAYS);
      if (chosen === ALWAYS) await settings().update('startDaemon', 'always', vscode.ConfigurationTarget.Global);
      if (chosen !== START && chosen !== ALWAYS) return false;
    }
    await this.start();
    return true;
  }

  async start(): Promise<void> {
    needTrust();
    const { home, external } = await this.find();
    if (external) throw new Error('BETHINK_URL is set, so this extension does not start a daemon');
    await run(program(), home);
  }
}

/** The command line's program. */
export function program(): string {
  return settings().get<string>('program', '') || 'bethink';
}

export function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('bethink');
}

function run(program: string, home: string): Promise<void> {
  const env = { ...process.env, BETHINK_HOME: home };
  return new Promise((resolve, reject) => {
    execFile(program, ['up', '--quiet'], { env, timeout: STARTS_WITHIN, windowsHide: true }, (error, _out, told) => {
      if (!error) return resolve();
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      const why = missing ? 'not found; set `bethink.program` to its full path' : told || error.message;
      reject(new Error(`could not run \`${program} up\`: ${line(why, 500)}`));
    });
  });
}
