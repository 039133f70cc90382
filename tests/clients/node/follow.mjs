// Follows the messages of a session until the sixth, and writes their positions to a file.

import { writeFileSync } from "node:fs";

const { CLIENT, SEEN, SESSION } = process.env;
const { connect } = await import(CLIENT);
const seen = [];
const record = () => writeFileSync(SEEN, seen.join(" "));

for await (const event of connect().events({ session: SESSION, onConnect: record })) {
  if (event.event !== "message") continue;
  seen.push(event.data.seq);
  record();
  if (seen.length === 6) break;
}
