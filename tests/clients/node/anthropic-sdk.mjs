// The official TypeScript SDK of Anthropic: results through the gateway must equal direct ones.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The package is in the kit, not next to this file.
const kit = createRequire(pathToFileURL(`${process.env.KIT}/`).href);
const { default: Anthropic } = kit("@anthropic-ai/sdk");
const { version } = JSON.parse(readFileSync(`${process.env.KIT}/node_modules/@anthropic-ai/sdk/package.json`));

const UPSTREAM = process.env.UPSTREAM_URL;
const GATEWAY = process.env.GATEWAY_URL;
const MODEL = "claude-sonnet-4-5";
const COUNTED = new Set(["id", "_request_id", "request_id", "requestID", "tool_use_id"]);
// The errors for an answer that ends too early. Which one occurs depends on where the connection ended.
const BROKE_OFF = new Set(["APIConnectionError", "AnthropicError", "TypeError", "SyntaxError"]);
const WEATHER = {
  name: "weather",
  description: "The weather of a place",
  input_schema: { type: "object", properties: { place: { type: "string" } } },
};

const client = (baseURL, maxRetries = 0) =>
  new Anthropic({ apiKey: "the-persons-own-key", baseURL, maxRetries, timeout: 30_000 });
const user = (content) => ({ role: "user", content });

async function message(baseURL) {
  return client(baseURL).messages.create({ model: MODEL, max_tokens: 300, messages: [user("Hello, node")] });
}

async function stream(baseURL) {
  const events = client(baseURL).messages.stream({
    model: MODEL,
    max_tokens: 300,
    system: "Be brief.",
    messages: [user("Hello, stream")],
  });
  const seen = [];
  for await (const event of events) seen.push(event);
  return [seen, await events.finalMessage()];
}

async function tools(baseURL) {
  const messages = [user("How is the weather in Bergen?")];
  const answers = [];
  for (let round = 0; round < 2; round += 1) {
    const events = client(baseURL).messages.stream({ model: MODEL, max_tokens: 300, tools: [WEATHER], messages });
    const answer = await events.finalMessage();
    answers.push(answer);
    const calls = answer.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) break;
    messages.push({ role: "assistant", content: answer.content });
    messages.push(user(calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "rain" }))));
  }
  return answers;
}

async function thinking(baseURL) {
  const messages = [];
  const answers = [];
  for (const text of ["Think of a number", "Now double it"]) {
    messages.push(user(text));
    const answer = await client(baseURL).messages.create({
      model: MODEL,
      max_tokens: 2000,
      thinking: { type: "enabled", budget_tokens: 1024 },
      messages,
    });
    answers.push(answer);
    messages.push({ role: "assistant", content: answer.content });
  }
  return answers;
}

async function leftEarly(baseURL) {
  const events = client(baseURL).messages.stream({ model: MODEL, max_tokens: 300, messages: [user("Not to the end")] });
  for await (const event of events) if (event.type === "content_block_delta") break;
  return message(baseURL);
}

const triedAgain = (baseURL) =>
  client(baseURL, 2).messages.create({ model: MODEL, max_tokens: 300, messages: [user("Again, if need be")] });

const always = (fault) => ({ other: { always: fault } });
const scenarios = [
  ["a message", message, {}],
  ["a stream", stream, {}],
  ["a stream, byte by byte", stream, { split: { bytes: 1 } }],
  ["tools, streamed", tools, { other: { first: ["tool_loop"] } }],
  ["thinking, two turns", thinking, { thinking: true }],
  ["left early, asked again", leftEarly, {}],
  ["tried again after 529", triedAgain, { other: { first: ["overloaded_bare"] } }],
  ...["invalid", "wrong_key", "no_model", "rate_limited_bare", "overloaded_bare", "server_error", "bad_gateway"].map(
    (fault) => [`refused: ${fault}`, message, always(fault)],
  ),
  ...["error_after_ok", "error_mid_stream", "reset_mid_stream", "html_ok"].map((fault) => [
    `in a stream: ${fault}`,
    stream,
    always(fault),
  ]),
];

function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !COUNTED.has(key))
      .map(([key, item]) => [key, plain(item)]),
  );
}

async function outcome(scenario, baseURL, plan) {
  await fetch(`${UPSTREAM}/__script`, { method: "POST", body: JSON.stringify(plan) });
  try {
    return { result: plain(await scenario(baseURL)) };
  } catch (error) {
    if (BROKE_OFF.has(error.constructor.name)) return { error: "broke off" };
    return { error: error.constructor.name, status: error.status ?? null, body: plain(error.error ?? null) };
  }
}

let failed = 0;
for (const [name, scenario, plan] of scenarios) {
  const direct = await outcome(scenario, UPSTREAM, plan);
  const through = await outcome(scenario, GATEWAY, plan);
  const same = JSON.stringify(direct) === JSON.stringify(through);
  if (!same) failed += 1;
  const sdk = `@anthropic-ai/sdk ${version}`;
  console.log(`${sdk.padEnd(24)} ${name.padEnd(26)} ${same ? "same" : "DIFFERENT"}: ${direct.error ?? "a result"}`);
  if (!same) {
    console.log("  straight:", JSON.stringify(direct).slice(0, 2000));
    console.log("  through: ", JSON.stringify(through).slice(0, 2000));
  }
}
process.exitCode = failed === 0 ? 0 : 1;
