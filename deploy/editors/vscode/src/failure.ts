/** Errors of requests, as text for a person. */

import { ApiError, type BothVersions, ConnectionError } from './client';

export function words(error: unknown): string {
  if (error instanceof ApiError) return [error.message, error.hint].filter(Boolean).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** Whether no daemon is running. One that closes a connection may be restarting, or may only have been busy. */
export function isDown(error: unknown): boolean {
  return error instanceof ConnectionError && !error.sent;
}

/** Returns both versions if a write failed because someone else has changed the topic. */
export function conflictOf(error: unknown): BothVersions | undefined {
  return error instanceof ApiError ? (error.problem.versions ?? undefined) : undefined;
}
