/** A client for tests: short deadlines, no chance, and a clock whose sleeping takes no time. */
import { expect, onTestFinished } from 'vitest';
import type { Answer } from '../../../../src/engine/service/answer.js';
import {
  type ClientOptions,
  createClient,
  type LogEntry,
  type ServiceClient,
} from '../../../../src/engine/service/client.js';
import { built, node } from '../../../support/child.js';
import { scratch } from '../../../support/cli.js';

/** What the tests send and get. */
export const TOKEN = 'tok_4f9d2c81aa';
export const BODY = Buffer.from('{"companies":[{"company_id":"1"}]}');
export const JOB = { job_id: 'j-1', status: 'queued', total_rows: 1 };

export interface TestClient extends ServiceClient {
  entries: LogEntry[];
  retries: { reason: string; delayMs: number }[];
  /** Milliseconds of each wait between attempts. */
  slept: number[];
}

/** Closed when the test ends. */
export function testClient(baseUrl: string, options: Partial<ClientOptions> = {}): TestClient {
  const entries: LogEntry[] = [];
  const retries: TestClient['retries'] = [];
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
    onRetry: ({ reason }, delayMs) => retries.push({ reason, delayMs }),
    ...options,
  });
  onTestFinished(() => client.close());
  return { ...client, entries, retries, slept };
}

/** Asks each base URL once and prints the answers, and what still keeps the process from ending: timers, sockets. */
const ASK = `
  const [library, timeoutMs, token, body, ...urls] = process.argv.slice(1);
  const { createClient } = await import(library);
  const answers = await Promise.all(urls.map(async (baseUrl) => {
    const client = createClient({ baseUrl, token, timeoutMs: Number(timeoutMs) });
    const answer = await client.submit('companies', Buffer.from(body));
    await client.close();
    return answer;
  }));
  // What has been closed takes some turns of the event loop to go.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  const open = process.getActiveResourcesInfo().filter((kind) => kind !== 'PipeWrap'); // all but stdin and its like
  console.log(JSON.stringify({ answers, open }));
`;
const LIBRARY = new URL('../../../../dist/index.js', import.meta.url).href;

/** One submission to each base URL, in a process of its own: for what Node reads at its start, and for how one ends. */
export async function askInProcess(
  urls: string[],
  { timeoutMs = 10_000, env = {} }: { timeoutMs?: number; env?: Record<string, string> } = {},
): Promise<{ answers: Answer[]; open: string[] }> {
  built();
  const given = [LIBRARY, `${timeoutMs}`, TOKEN, `${BODY}`, ...urls];
  const child = node(['--input-type=module', '-e', ASK, ...given], { cwd: scratch(), env });
  const { stdout, stderr } = await child.ended;
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}
