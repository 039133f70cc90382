// A small agent with one tool, which answers a question about the current directory. Node 22.18 and newer run it as it is:
//
//     ANTHROPIC_API_KEY=… node examples/agent.ts "What is this project?"
//
// ANTHROPIC_BASE_URL names another server that speaks the Messages API, and BETHINK_SESSION continues a session.

import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

// Outside of this repository: "@bethink/client/node".
import { type ContentBlock, type Message, type Prompt, type RecoverRequest, type SystemPart, connect } from "../src/node.ts";

const { ANTHROPIC_API_KEY = "", ANTHROPIC_BASE_URL = "https://api.anthropic.com", MODEL = "claude-sonnet-4-5" } = process.env;

const tools = [{ name: "list_files", description: "List the files of the project.", input_schema: { type: "object", properties: {} } }];
const system: SystemPart[] = [{ part: "introduction", text: "You answer questions about a project." }];

interface Reply {
  id: string;
  content: ContentBlock[];
  usage?: Message["usage"];
}

/** An error of the provider. `report` is what bethink needs to know of it. */
class ProviderError extends Error {
  readonly report: RecoverRequest;

  constructor(report: RecoverRequest) {
    super(`the provider answered with status ${report.status}`);
    this.report = report;
  }
}

async function callModel({ system, messages, tools }: Prompt, maxTokens: number): Promise<Reply> {
  const response = await fetch(`${ANTHROPIC_BASE_URL}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: MODEL, max_tokens: maxTokens, system, messages, tools }),
  });
  if (response.ok) return (await response.json()) as Reply;
  const retry_after = Number(response.headers.get("retry-after")) || null;
  throw new ProviderError({ status: response.status, error: await response.text(), max_tokens: maxTokens, retry_after });
}

async function runTool(call: ContentBlock): Promise<ContentBlock> {
  const known = call["name"] === "list_files";
  const content = known ? (await readdir(".")).join("\n") : `unknown tool: ${call["name"]}`;
  return { type: "tool_result", tool_use_id: String(call["id"]), content, is_error: !known };
}

const bethink = connect();
const question = process.argv[2] ?? "What is this project?";

async function newSession(): Promise<string> {
  const model = { name: MODEL, context_window: 200_000, max_output_tokens: 4_096 };
  return (await bethink.post("/v1/sessions", { body: { project_dir: process.cwd(), model } })).id;
}

const path = { id: process.env["BETHINK_SESSION"] ?? (await newSession()) };
const append = (message: Message) => bethink.post("/v1/sessions/{id}/messages", { path, body: { messages: [message] } });

await append({ role: "user", content: question });
for (let maxTokens = 4_096; ; ) {
  const prompt = await bethink.post("/v1/sessions/{id}/context", { path, body: { system, tools } });
  let reply: Reply;
  try {
    reply = await callModel(prompt, maxTokens);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const recovered = await bethink.post("/v1/sessions/{id}/recover", { path, body: error.report });
    console.error(`${error.message}: ${recovered.detail}`);
    if (!recovered.retry) process.exit(1);
    await sleep(recovered.wait_ms ?? 0);
    maxTokens = recovered.max_tokens ?? maxTokens;
    continue;
  }
  const { id, content, usage } = reply;
  await append({ role: "assistant", content, assistant_message_id: id, model: MODEL, usage: usage ?? null });
  const calls = content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) {
    console.log(content.map((block) => block["text"] ?? "").join(""));
    break;
  }
  await append({ role: "user", content: await Promise.all(calls.map(runTool)) });
}
