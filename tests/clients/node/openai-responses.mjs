// The official TypeScript SDK of OpenAI with the Responses API: results through the gateway must equal direct ones.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { runTwice } from "./compare.mjs";

// The package is in the kit, not next to this file.
const kit = createRequire(pathToFileURL(`${process.env.KIT}/`).href);
const { default: OpenAI } = kit("openai");
const { version } = JSON.parse(readFileSync(`${process.env.KIT}/node_modules/openai/package.json`));

const MODEL = "gpt-5";
const WEATHER = {
  type: "function",
  name: "weather",
  strict: false,
  parameters: { type: "object", properties: { place: { type: "string" } } },
};

const client = (baseURL, maxRetries = 0) =>
  new OpenAI({ apiKey: "the-persons-own-key", baseURL: `${baseURL}/v1`, maxRetries, timeout: 30_000 });
const user = (content) => ({ role: "user", content });
const response = (baseURL) => client(baseURL).responses.create({ model: MODEL, input: "Hello, node" });

async function stream(baseURL) {
  const events = await client(baseURL).responses.create({
    model: MODEL,
    instructions: "Be brief.",
    input: [user("Hello, stream")],
    stream: true,
  });
  const seen = [];
  for await (const event of events) seen.push(event);
  return seen;
}

async function tools(baseURL) {
  const input = [user("How is the weather in Bergen?")];
  const answers = [];
  for (let round = 0; round < 3; round += 1) {
    const events = client(baseURL).responses.stream({
      model: MODEL,
      store: false,
      include: ["reasoning.encrypted_content"],
      tools: [WEATHER],
      input,
    });
    const answer = await events.finalResponse();
    answers.push(answer);
    // The helper adds parsed members that the API does not accept.
    input.push(...answer.output.map(({ parsed_arguments, ...item }) => item));
    const calls = answer.output.filter((item) => item.type === "function_call");
    for (const { call_id } of calls) input.push({ type: "function_call_output", call_id, output: "rain" });
    if (calls.length === 0) input.push(user("And tomorrow?"));
  }
  return answers;
}

async function chain(baseURL) {
  const answers = [];
  for (let n = 0; n < 5; n += 1) {
    const previous = answers.at(-1)?.id;
    answers.push(
      await client(baseURL).responses.create({ model: MODEL, previous_response_id: previous, input: `turn ${n}` }),
    );
  }
  return answers;
}

async function leftEarly(baseURL) {
  const events = await client(baseURL).responses.create({ model: MODEL, input: "Not to the end", stream: true });
  for await (const event of events) if (event.type === "response.output_text.delta") break;
  return response(baseURL);
}

const triedAgain = (baseURL) => client(baseURL, 2).responses.create({ model: MODEL, input: "Again, if need be" });

const always = (fault) => ({ other: { always: fault } });
const scenarios = [
  ["a response", response, {}],
  ["a stream", stream, {}],
  ["a stream, byte by byte", stream, { split: { bytes: 1 } }],
  ["a stream with reasoning", stream, { thinking: true }],
  ["tools and reasoning, streamed", tools, { thinking: true, other: { first: ["tool_loop"] } }],
  ["a chain of five", chain, { thinking: true }],
  ["left early, asked again", leftEarly, {}],
  ["tried again after 500", triedAgain, { other: { first: ["server_error"] } }],
  ...["invalid", "wrong_key", "no_model", "rate_limited_bare", "server_error", "bad_gateway"].map((fault) => [
    `refused: ${fault}`,
    response,
    always(fault),
  ]),
  ...["error_after_ok", "error_mid_stream", "reset_mid_stream", "html_ok"].map((fault) => [
    `in a stream: ${fault}`,
    stream,
    always(fault),
  ]),
];

await runTwice(`openai ${version}`, scenarios);
