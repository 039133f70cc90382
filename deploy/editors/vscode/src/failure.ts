/** How a request can fail, in words for a person. */

import type { Problem } from './shapes';

/** Nothing answers: the daemon does not run, or is just starting. */
export class Unreachable extends Error {
  constructor(why: string) {
    super(`the bethink daemon does not answer (${why})`);
  }
}

/** The daemon answered, and said no. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super([problem.detail || problem.title, problem.hint].filter(Boolean).join('; '));
  }

  /** Somebody else wrote in between; both sides are told. */
  get stale(): boolean {
    return this.problem.versions !== undefined;
  }
}

export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
