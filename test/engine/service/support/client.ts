/** A client for tests: short deadlines, no chance, and a clock whose sleeping takes no time. */
import { onTestFinished } from 'vitest';
import {
  type ClientOptions,
  createClient,
  type LogEntry,
  type ReadRetry,
  type ServiceClient,
} from '../../../../src/engine/service/client.js';
import { TOKEN } from './wire.js';

export { BODY, JOB, TOKEN } from './wire.js';

export interface TestClient extends ServiceClient {
  entries: LogEntry[];
  retries: ReadRetry[];
  /** Milliseconds of each wait between attempts. */
  slept: number[];
}

/** Closed when the test ends. */
export function testClient(baseUrl: string, options: Partial<ClientOptions> = {}): TestClient {
  const entries: LogEntry[] = [];
  const retries: ReadRetry[] = [];
  const slept: number[] = [];
  const client = createClient({
    baseUrl,
    lookupBaseUrl: baseUrl,
    token: TOKEN,
    timeoutMs: 5_000,
    clock: {
      now: () => Date.UTC(2024, 1, 29, 12, 0, 0),
      monotonic: () => performance.now(),
      sleep: async (ms, signal) => {
        slept.push(ms);
        signal?.throwIfAborted();
      },
    },
    random: () => 0.5,
    log: (entry) => entries.push(entry),
    onRetry: (retry) => retries.push(retry),
    ...options,
  });
  onTestFinished(() => client.close());
  return { ...client, entries, retries, slept };
}
