// A stored message in one line. The content may be anything that a client sent, so every field is checked.

import type { HistoryMessage } from "./api.ts";

export type Sort = "user" | "assistant" | "call" | "result" | "thinking" | "summary";

export interface Brief {
  readonly sort: Sort;
  /** The tool of a call; empty if there is none. */
  readonly tool: string;
  readonly text: string;
  readonly failed: boolean;
}

type Fields = Record<string, unknown>;

const LONGEST = 240;

export function blocksOf(stored: HistoryMessage): Fields[] {
  const content = stored.message?.content;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

export function briefOf(stored: HistoryMessage): Brief {
  const blocks = blocksOf(stored);
  const result = blocks.find((block) => block["type"] === "tool_result");
  if (result) return { sort: "result", tool: "", text: line(resultText(result)), failed: result["is_error"] === true };
  const call = blocks.find((block) => block["type"] === "tool_use");
  const said = blocks.map((block) => (block["type"] === "text" ? String(block["text"] ?? "") : "")).join(" ");
  const words = line(said);
  if (call) {
    const others = blocks.filter((block) => block["type"] === "tool_use").length - 1;
    const input = line(inputText(call["input"]));
    const text = [words, input, others > 0 ? `and ${others} more` : ""].filter((part) => part !== "").join(" — ");
    return { sort: "call", tool: String(call["name"] ?? "tool"), text: text.slice(0, LONGEST), failed: false };
  }
  if (words !== "") return { sort: stored.role === "assistant" ? "assistant" : "user", tool: "", text: words, failed: false };
  if (blocks.some((block) => block["type"] === "thinking" || block["type"] === "redacted_thinking")) {
    const thought = blocks.map((block) => String(block["thinking"] ?? "")).join(" ");
    return { sort: "thinking", tool: "", text: line(thought), failed: false };
  }
  const kinds = blocks.map((block) => String(block["type"] ?? "block")).join(", ");
  return { sort: stored.role === "assistant" ? "assistant" : "user", tool: "", text: kinds === "" ? "(empty)" : `(${kinds})`, failed: false };
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

function line(text: string): string {
  return text.slice(0, 4 * LONGEST).replace(/\s+/g, " ").trim().slice(0, LONGEST);
}
