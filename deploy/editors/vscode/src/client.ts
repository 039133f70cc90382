/** The TypeScript client of the daemon, with the limits of this extension. */

import { type DaemonAddress, Client, transport } from '../../../clients/typescript/src/node.ts';

export * from '../../../clients/typescript/src/node.ts';

/** Milliseconds that an answer may take. The daemon answers most requests within tens of milliseconds. */
const TIMEOUT = 30_000;
/** Maximum size of an answer, in bytes. The daemon's own limits are smaller. */
const MAX_BYTES = 32 * 1024 * 1024;

export function clientOf(find: () => Promise<DaemonAddress>): Client {
  return new Client(transport(find), { timeout: TIMEOUT, maxBytes: MAX_BYTES });
}
