// Work that takes long, with pauses in which the browser can draw and handle input.

/** Milliseconds between two pauses. */
const STEP_MS = 10;

export const pause = () => new Promise((done) => setTimeout(done));

/** Runs a generator to its end. It may pause where it yields. */
export async function inSteps<T>(work: Generator<void, T>): Promise<T> {
  for (let end = performance.now() + STEP_MS; ; ) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() < end) continue;
    await pause();
    end = performance.now() + STEP_MS;
  }
}
