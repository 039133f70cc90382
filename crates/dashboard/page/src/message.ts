// The parts of a stored message. The content may be anything that a client sent, so every field is checked.

import type { HistoryMessage } from "./api.ts";

type Fields = Record<string, unknown>;

export function blocksOf(stored: HistoryMessage): Fields[] {
  const content = stored.message?.content;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

/** The IDs of the tool calls that the message's results answer. */
export function answeredIds(stored: HistoryMessage): string[] {
  return blocksOf(stored)
    .filter((block) => block["type"] === "tool_result")
    .map((block) => String(block["tool_use_id"] ?? ""));
}

/** The text of a tool result. Other content, such as an image, is shown as its type. */
export function resultText(block: Fields): string {
  const content = block["content"];
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) ? (part["type"] === "text" ? String(part["text"] ?? "") : `(${String(part["type"])})`) : "")).join("\n");
}

/** The main argument of a tool call, such as its command, path or pattern; or else its JSON. */
export function inputText(input: unknown): string {
  if (!isObject(input)) return input === undefined ? "" : JSON.stringify(input);
  const { pattern, path } = input;
  if (typeof pattern === "string" && pattern !== "") return typeof path === "string" && path !== "" ? `${pattern} in ${path}` : pattern;
  for (const name of ["command", "file_path", "path", "query", "url", "prompt", "description"]) {
    if (typeof input[name] === "string" && input[name] !== "") return input[name];
  }
  const text = JSON.stringify(input);
  return text === "{}" ? "" : text;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
