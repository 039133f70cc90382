// The errors of requests.

import type { Problem } from "./api.ts";

/** The daemon refused a request. The fields are those of its `application/problem+json` answer. */
export class ApiError extends Error {
  override readonly name: string = "ApiError";
  readonly status: number;
  /** The kind of the problem, such as `not_found`. A newer daemon may send kinds that `Problem` does not list. */
  readonly type: string;
  readonly title: string;
  /** What is wrong, and what is allowed. */
  readonly detail: string;
  /** The field, parameter or header that is wrong. */
  readonly field: string | undefined;
  readonly limit: number | undefined;
  /** The value that exceeds the limit. */
  readonly actual: number | undefined;
  /** What to do. */
  readonly hint: string | undefined;
  /** The whole answer, with fields that only some problems have. */
  readonly problem: Problem;
  /** The `Retry-After` header, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(problem: Problem, retryAfter?: number) {
    super(problem.detail || problem.title);
    this.status = problem.status;
    this.type = problem.type;
    this.title = problem.title;
    this.detail = problem.detail;
    this.field = problem.field ?? undefined;
    this.limit = problem.limit ?? undefined;
    this.actual = problem.actual ?? undefined;
    this.hint = problem.hint ?? undefined;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

/** The daemon could not be reached, or the connection was lost before the whole answer arrived. */
export class ConnectionError extends Error {
  override readonly name: string = "ConnectionError";
  /** Whether the daemon may have received the request. */
  readonly sent: boolean;

  constructor(message: string, options: { cause?: unknown; sent?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.sent = options.sent ?? true;
  }
}

/** What answers at the daemon's address is not this home's daemon. Nothing was sent to it but a question. */
export class ProofError extends ConnectionError {
  override readonly name: string = "ProofError";
  /** The status of its answer, if it was not a success. */
  readonly status: number | undefined;

  constructor(message: string, options: { cause?: unknown; status?: number | undefined } = {}) {
    super(message, { cause: options.cause, sent: false });
    this.status = options.status;
  }
}

/** The daemon did not answer in time. The request may still take effect, so it is not retried. */
export class TimeoutError extends ConnectionError {
  constructor(milliseconds: number) {
    super(`the daemon did not answer within ${milliseconds / 1000} s`);
  }
}

/** Characters of an unexpected answer that the error shows. */
const EXCERPT = 200;

/** The error for an answer that is not a success, even if another program answered at the daemon's address. */
export function apiError(response: Response, body: string): ApiError {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) ? seconds * 1000 : undefined;
  const { status } = response;
  try {
    const problem = JSON.parse(body) as Problem;
    if (typeof problem.type === "string") return new ApiError({ ...problem, status }, retryAfter);
  } catch {
    // Not JSON.
  }
  const excerpt = body.trim().slice(0, EXCERPT);
  const detail = `the daemon answered with status ${status}${excerpt === "" ? "" : `: ${excerpt}`}`;
  return new ApiError({ type: "unknown" as Problem["type"], title: `HTTP ${status}`, status, detail }, retryAfter);
}
