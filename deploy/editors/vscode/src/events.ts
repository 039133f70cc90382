/**
 * The daemon's one stream of events, for as long as the editor runs. It comes back by itself, and
 * asks for nothing that was missed: whoever listens looks at everything again once it is up.
 */

import type { Daemon } from './daemon';
import { EventParser, type ServerEvent } from './sse';

/** Milliseconds between two tries, doubled after each that failed. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;
/** Longer than the daemon is ever silent: it sends a comment every 15 seconds. */
const SILENCE = 45_000;

export interface Listener {
  /** Connected, for the first time or again: whatever is shown may be old. */
  up(): void;
  down(error: unknown): void;
  event(kind: string, data: Record<string, unknown>): void;
}

export class Events {
  private readonly stop = new AbortController();
  private wake: () => void = () => {};

  constructor(
    private readonly daemon: Daemon,
    private readonly listener: Listener,
  ) {}

  async run(): Promise<void> {
    let pause = FIRST_PAUSE;
    while (!this.stop.signal.aborted) {
      try {
        await this.listen(() => (pause = FIRST_PAUSE));
      } catch (error) {
        if (this.stop.signal.aborted) return;
        this.listener.down(error);
      }
      await this.rest(pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  /** Tries at once, because somebody has just started the daemon. */
  hurry(): void {
    this.wake();
  }

  dispose(): void {
    this.stop.abort();
    this.wake();
  }

  private async listen(connected: () => void): Promise<void> {
    const ask = { signal: this.stop.signal, patience: SILENCE };
    const answer = await this.daemon.send('GET', ['v1', 'events'], ask);
    connected();
    this.listener.up();
    answer.setEncoding('utf8');
    const parser = new EventParser();
    for await (const chunk of answer as AsyncIterable<string>) {
      for (const event of parser.push(chunk)) this.tell(event);
    }
    throw new Error('the stream of events ended');
  }

  private tell(event: ServerEvent): void {
    let data: unknown;
    try {
      data = JSON.parse(event.data);
    } catch {
      return; // nothing of ours; the next event stands for itself
    }
    if (typeof data === 'object' && data !== null) {
      this.listener.event(event.event, data as Record<string, unknown>);
    }
  }

  private rest(pause: number): Promise<void> {
    if (this.stop.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pause);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
