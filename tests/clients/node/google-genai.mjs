// The official TypeScript SDK of Gemini: results through the gateway must equal direct ones.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { runTwice } from "./compare.mjs";

// The package is in the kit, not next to this file.
const kit = createRequire(pathToFileURL(`${process.env.KIT}/`).href);
const { GoogleGenAI } = kit("@google/genai");
const { version } = JSON.parse(readFileSync(`${process.env.KIT}/node_modules/@google/genai/package.json`));

const model = "gemini-2.5-pro";
const WEATHER = {
  name: "weather",
  description: "The weather of a place",
  parametersJsonSchema: { type: "object", properties: { place: { type: "string" } } },
};

const models = (baseUrl) =>
  new GoogleGenAI({ apiKey: "the-persons-own-key", httpOptions: { baseUrl, timeout: 30_000 } }).models;
const user = (text) => ({ role: "user", parts: [{ text }] });
// Headers have the time of the answer.
const plain = ({ sdkHttpResponse, ...answer }) => answer;
const content = async (baseUrl) => plain(await models(baseUrl).generateContent({ model, contents: "Hello, node" }));

async function collect(chunks) {
  const seen = [];
  for await (const chunk of await chunks) seen.push(plain(chunk));
  return seen;
}

const stream = (baseUrl) =>
  collect(
    models(baseUrl).generateContentStream({
      model,
      contents: [user("Hello, stream")],
      config: { systemInstruction: "Be brief.", maxOutputTokens: 300 },
    }),
  );

async function tools(baseUrl) {
  const contents = [user("How is the weather in Bergen?")];
  const answers = [];
  for (let round = 0; round < 3; round += 1) {
    const config = { tools: [{ functionDeclarations: [WEATHER] }], thinkingConfig: { includeThoughts: true } };
    const chunks = await collect(models(baseUrl).generateContentStream({ model, contents, config }));
    answers.push(chunks);
    const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
    contents.push({ role: "model", parts });
    const calls = parts.filter((part) => part.functionCall);
    const responses = calls.map(({ functionCall: { name } }) => ({
      functionResponse: { name, response: { output: "rain" } },
    }));
    contents.push(calls.length === 0 ? user("And tomorrow?") : { role: "user", parts: responses });
  }
  return answers;
}

async function image(baseUrl) {
  const inlineData = { mimeType: "image/png", data: "iVBORw0KGgo=" };
  const contents = [{ role: "user", parts: [{ text: "What is it?" }, { inlineData }] }];
  return plain(await models(baseUrl).generateContent({ model, contents }));
}

async function leftEarly(baseUrl) {
  const chunks = await models(baseUrl).generateContentStream({ model, contents: "Not to the end" });
  for await (const chunk of chunks) if (chunk.text) break;
  return content(baseUrl);
}

const count = async (baseUrl) => plain(await models(baseUrl).countTokens({ model, contents: "Count this" }));
const embed = async (baseUrl) => plain(await models(baseUrl).embedContent({ model, contents: ["a"] }));
const named = async (baseUrl) => plain(await models(baseUrl).get({ model }));

const always = (fault) => ({ other: { always: fault } });
const scenarios = [
  ["an answer", content, {}],
  ["a stream", stream, {}],
  ["a stream, byte by byte", stream, { split: { bytes: 1 } }],
  ["a stream with thoughts", stream, { thinking: true }],
  ["tools and thoughts, streamed", tools, { thinking: true, other: { first: ["tool_loop"] } }],
  ["an image", image, {}],
  ["left early, asked again", leftEarly, {}],
  ["a token count", count, {}],
  ["an embedding", embed, {}],
  ["a model", named, {}],
  ...["invalid", "wrong_key", "no_model", "rate_limited_bare", "server_error", "bad_gateway"].map((fault) => [
    `refused: ${fault}`,
    content,
    always(fault),
  ]),
  ...["unknown_events", "eof_without_stop", "error_mid_stream", "reset_mid_stream", "html_ok"].map((fault) => [
    `in a stream: ${fault}`,
    stream,
    always(fault),
  ]),
];

await runTwice(`genai ${version}`, scenarios);
