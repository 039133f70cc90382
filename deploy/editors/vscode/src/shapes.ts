/** What the daemon answers, as far as this extension reads it. More members may come at any time. */

export interface Session {
  id: string;
  project_dir: string;
  title: string | null;
  parent: string | null;
  forked_at_seq: number | null;
}

/** `comfortable` → `degrading` → `warning` → `auto` → `blocking`: the daemon decides, we draw. */
export type Level = string;

/** Event `context`, and what a status bar needs of a context report. Sizes in tokens. */
export interface Window {
  session_id: string;
  tokens: number;
  level: Level;
  /** Until the daemon compacts by itself. */
  remaining: number;
  window: number;
}

export interface ContextReport {
  tokens: number;
  level: Level;
  remaining: number;
  percent: number;
  thresholds: { window: number; effective: number };
}

export interface Todo {
  content: string;
  status: 'pending' | 'in_progress' | 'completed';
  priority: 'high' | 'medium' | 'low';
}

export type Scope = 'private' | 'team';

export interface Memory {
  scope: Scope;
  name: string;
  title?: string;
  description?: string;
  type?: string;
  modified: string;
  bytes: number;
}

export interface MemoryWritten {
  scope: Scope;
  name: string;
  /** Bare; in a header it has quotes. */
  etag: string;
  outcome: string;
  warnings: string[];
}

export interface Recalled {
  scope: Scope;
  name: string;
  description?: string;
  type?: string;
  age: string;
  score: number;
  content: string;
  why: { by: string; terms: { term: string; fields: string[] }[] };
}

export interface Proposal {
  id: string;
  project_dir: string;
  name: string;
  text: string;
  replaces?: string;
  by: string;
  proposed_at: string;
}

export interface Compaction {
  level: string;
  tokens_before: number;
  tokens_after: number;
  fidelity: number;
  warning?: string;
}

/** `application/problem+json`. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  hint?: string;
  /** Of a write that lost a race. */
  versions?: { current?: string; etag?: string; yours?: string };
}
