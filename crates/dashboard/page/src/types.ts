// The shapes of the daemon's answers, as far as the page uses them. `/openapi.json` has all of them.

export interface Session {
  id: string;
  project_dir: string;
  title: string | null;
  tags: string[];
  parent: string | null;
  forked_at_seq: number | null;
  model: { name: string; context_window: number };
  messages: number;
  last_seq: number;
  created_at: string;
  updated_at: string;
}

export interface SessionsPage {
  sessions: Session[];
  next_cursor: string | null;
}

export interface Thresholds {
  window: number;
  effective: number;
  warning: number;
  auto: number;
  blocking: number;
}

export interface Parts {
  system: number;
  instructions: number;
  memory: number;
  tools: number;
  summary: number;
  tail: number;
  attachments: number;
}

export interface Stage {
  stage: string;
  tokens_before: number;
  tokens_after: number;
  touched: string[];
  why: string;
}

export interface Report {
  tokens: number;
  parts: Parts;
  thresholds: Thresholds;
  remaining: number;
  percent: number;
  messages: number;
  level: string;
  stages: Stage[];
  changed_by?: string | null;
  predicted_cache_hit: number;
  cache: { breaks: number; last?: { cause: string; read_before: number; read_now: number; at: string; expected: boolean } };
  tokens_from: string;
  estimate: { reported: number; scale: number; turns: number; error?: number };
  repairs: string[];
  last_compaction: { id: string; level: string; fidelity: number; warning?: string; at: string } | null;
  notices: string[];
}

export interface StoredMessage {
  seq: number;
  id: string;
  role: string;
  created_at: string;
  message: { role?: string; content?: unknown; model?: string; usage?: Record<string, unknown> };
}

export interface MessagesPage {
  messages: StoredMessage[];
  next_cursor: string | null;
}

export interface Compaction {
  id: string;
  trigger: string;
  level: string;
  covers: { first_seq: number; last_seq: number };
  kept_from_seq: number;
  tokens_before: number;
  tokens_after: number;
  summary: string;
  summary_tokens: number;
  fidelity: number;
  fidelity_detail: { names: number; kept: number; lost: string[]; hindsight?: { score: number; names: number; kept: number; lost: string[] } };
  warning?: string;
  restored: { kind: string; name: string; tokens: number; truncated: boolean }[];
  attempts?: string[];
  created_at: string;
  undone_at?: string;
}

export interface Collapse {
  id: string;
  covers: { first_seq: number; last_seq: number };
  state: string;
  text: string;
  tokens_before: number;
  tokens: number;
  strategy: string;
  staged_at: string;
  committed_at?: string;
}

export interface Decided {
  kind: string;
  after_seq: number;
  what?: string;
  name?: string;
  tokens?: number;
  seqs?: number[];
  at: string;
}

export interface Hit {
  session_id: string;
  title?: string;
  seq: number;
  role: string;
  score: number;
  snippet: string;
  highlights: [number, number][];
  answers?: { seq: number; tool: string; input: string };
  created_at: string;
}

export interface Todo {
  id: string;
  content: string;
  status: "pending" | "in_progress" | "completed";
  priority: "high" | "medium" | "low";
}

export interface Source {
  session: string;
  messages: string[];
  strategy: string;
  time: string;
}

export interface Memory {
  scope: string;
  name: string;
  title?: string;
  description?: string;
  type?: string;
  modified: string;
  bytes: number;
  etag: string;
  source?: Source;
}

export interface MemoryVersion {
  version: number;
  at: string;
  author: string;
  session?: string;
  note?: string;
  bytes?: number;
  etag: string;
  current: boolean;
}

export interface Proposal {
  id: string;
  project_dir: string;
  name: string;
  text: string;
  replaces?: string;
  by: string;
  source?: Source;
  state: string;
  proposed_at: string;
  decided_at?: string;
}

export interface Recalled {
  scope: string;
  name: string;
  description?: string;
  type?: string;
  age: string;
  modified: string;
  score: number;
  content: string;
  truncated: boolean;
  path: string;
  why: { by: string; terms: { term: string; fields: string[] }[]; score: number; place?: number };
}

export interface RecallAnswer {
  memories: Recalled[];
  searched: number;
  strategy: string;
}

export interface Job {
  id: string;
  kind: string;
  state: string;
  progress: { done: number; total: number; unit: string };
  result?: unknown;
  error: string | null;
  created_at: string;
  updated_at: string;
}

export interface UsageSums {
  calls: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  cost_usd?: number;
  unpriced: number;
}

export interface Usage {
  rows: (UsageSums & { session_id?: string; purpose: string; model: string; last_at: string })[];
  more: boolean;
  totals: UsageSums;
  today: { day: string; calls: number; tokens: number; cost_usd: number; unpriced: number; daily_tokens?: number; daily_cost_usd?: number };
}

export interface Health {
  status: string;
  version: string;
  detail?: string;
  notices?: string[];
}

export interface ModelState {
  provider: string;
  state: string;
  detail?: string;
  name?: string;
  small_name?: string;
  origin?: string;
  summary: string;
  notes: string;
  key?: { from: string; present?: boolean };
  problems: { found: string; todo: string }[];
}

export interface Shelf {
  scope: string;
  dir: string;
  layout: string;
  there: boolean;
  topics: number;
  bytes: number;
  index?: { lines: number; bytes: number; cut_by?: string };
  watch: string;
  fault?: string;
  findings: { severity: string; rule: string; file: string; line?: number; what: string; help: string }[];
}
