// The official TypeScript SDK of Anthropic: results through the gateway must equal direct ones.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { runTwice } from "./compare.mjs";

// The package is in the kit, not next to this file.
const kit = createRequire(pathToFileURL(`${process.env.KIT}/`).href);
const { default: Anthropic } = kit("@anthropic-ai/sdk");
const { version } = JSON.parse(readFileSync(`${process.env.KIT}/node_modules/@anthropic-ai/sdk/package.json`));

const MODEL = "claude-sonnet-4-5";
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

await runTwice(`@anthropic-ai/sdk ${version}`, scenarios);
