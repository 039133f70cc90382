// The types of requests, derived from the paths of the API.

import type { paths } from "./api.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** The paths of the API that have this method. */
export type Path<M extends Method> = { [P in keyof paths]: paths[P] extends { [K in M]: object } ? P : never }[keyof paths];

type Operation<M extends Method, P extends Path<M>> = paths[P] extends { [K in M]: infer O } ? O : never;

/** Optional parameters may also be `null` or `undefined`, which leaves them out. */
type Query<Q> = { [K in keyof Q]: object extends Pick<Q, K> ? Q[K] | null | undefined : Q[K] };

type PathOptions<O> = O extends { parameters: { path: infer V } } ? { path: V } : object;

type QueryOptions<O> = O extends { parameters: { query: infer Q } }
  ? { query: Query<Q> }
  : O extends { parameters: { query?: infer Q } }
    ? { query?: Query<NonNullable<Q>> }
    : object;

type BodyOptions<O> = O extends { requestBody: { content: infer C } }
  ? { body: C[keyof C] }
  : O extends { requestBody?: { content: infer C } | null }
    ? { body?: C[keyof C] }
    : object;

export interface CallOptions {
  /** Such as `if-match`, or the `content-type` of a text that is not Markdown. */
  headers?: Readonly<Record<string, string>>;
  /** The idempotency key of a change. Without one, each call of a method is a new change. */
  key?: string;
  /** Milliseconds that the answer may take; the client's own limit by default. */
  timeout?: number;
  signal?: AbortSignal;
}

/** What a request to this path takes. */
export type RequestOptions<M extends Method, P extends Path<M>> = PathOptions<Operation<M, P>> &
  QueryOptions<Operation<M, P>> &
  BodyOptions<Operation<M, P>> &
  CallOptions;

/** The options as an argument, which may be left out if every option is optional. */
export type OptionalArgument<M extends Method, P extends Path<M>> = object extends RequestOptions<M, P>
  ? [options?: RequestOptions<M, P>]
  : [options: RequestOptions<M, P>];

type Success = 200 | 201 | 202 | 204;

type Content<O> = O extends { responses: infer R }
  ? { [S in keyof R & Success]: R[S] extends { content: infer C } ? C : undefined }[keyof R & Success]
  : never;

type Decoded<C> = C extends { "application/json": infer J } ? J : C extends object ? C[keyof C] : undefined;

/** The answer of this path: its JSON, or its text if it has no JSON. */
export type Answer<M extends Method, P extends Path<M>> = Decoded<Content<Operation<M, P>>>;
