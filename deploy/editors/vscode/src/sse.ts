/** Server-sent events from chunks of text, however they are cut. */

export interface ServerEvent {
  event: string;
  data: string;
}

/** Longest event that is kept together; the daemon's are a few hundred bytes. */
const MOST_CHARACTERS = 1_000_000;

export class EventParser {
  private rest = '';
  private event = '';
  private data: string[] = [];

  /** Events that end in `chunk`. Throws where one grows without end. */
  push(chunk: string): ServerEvent[] {
    const lines = (this.rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    if (this.rest.length > MOST_CHARACTERS) throw new Error('an event of the daemon has no end');
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === '') return this.done();
    const colon = line.indexOf(':');
    if (colon === 0) return []; // a comment, which keeps the connection alive
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    return [];
  }

  private done(): ServerEvent[] {
    const { event, data } = this;
    this.event = '';
    this.data = [];
    return data.length === 0 ? [] : [{ event: event || 'message', data: data.join('\n') }];
  }
}
