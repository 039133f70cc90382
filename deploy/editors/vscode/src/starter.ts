/** Starting the daemon, where the person lets us: `bethink up` knows how. */

import { execFile } from 'node:child_process';

import * as vscode from 'vscode';

import type { Place } from './places';
import { needTrust } from './projects';
import { tell } from './tell';
import { line } from './text';

/** Milliseconds; a daemon that recovers a damaged database may take ten seconds. */
const STARTS_WITHIN = 30_000;

const START = 'Start';
const ALWAYS = 'Always';

export class Starter {
  /** Asked once a window: who said no is not asked again by every request. */
  private asked = false;

  constructor(private readonly place: () => Promise<Place>) {}

  /** When the daemon was found to be down: starts it, asks, or leaves it, as the setting says. */
  async offer(): Promise<boolean> {
    const wanted = settings().get<string>('startDaemon', 'ask');
    const { foreign } = await this.place();
    if (wanted === 'never' || foreign || !vscode.workspace.isTrusted || this.asked) return false;
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
    const { home, foreign } = await this.place();
    if (foreign) throw new Error('BETHINK_URL names a daemon that somebody else looks after');
    await run(settings().get<string>('program', '') || 'bethink', home);
  }
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
      const why = missing ? 'it was not found; set bethink.program to its full path' : told || error.message;
      reject(new Error(`${program} up did not work: ${line(why, 500)}`));
    });
  });
}
