/** Imports through something in between, held against the ledger of the sandbox behind it. */
import { expect, onTestFinished } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.js';
import { hurriedClock } from '../support/sandbox.js';
import { Machine } from '../support/workspace.js';

const TOKEN = 'tok_0123456789';

/** A sandbox that ends with the test. */
export async function startService(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({
    clock: hurriedClock(),
    expectToken: TOKEN,
    ports: { eu: null },
    ...options,
  });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

/** A machine with `n` companies in `companies.csv`; each id stands once, the first in line 2. */
export class Sender extends Machine {
  readonly ids: string[];

  constructor(url: string, n = 12, note: (i: number) => string = () => 'x'.repeat(60)) {
    super(url);
    this.env.PROFILES_TOKEN = TOKEN;
    this.ids = Array.from({ length: n }, (_, i) => `c-${i}`);
    this.write('companies.csv', `company_id,note\n${this.ids.map((id, i) => `${id},${note(i)}\n`).join('')}`);
  }
}

/** Three requests of four rows each. */
export const SEND = ['import', 'companies.csv', '--chunk-size', '4', '-o', 'retries=2'];

/** A pattern for nginx's page as a message has it: in one line, its words once. */
export const page = (words = ''): string => `\\(HTML page: "${words}nginx/[\\w.]+"\\)`;

/** How often the service carried out each of the ids. */
export function timesCarriedOut(service: Sandbox): Map<string, number> {
  const times = new Map<string, number>();
  for (const { accepted } of service.ledger())
    for (const id of accepted?.ids ?? []) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}

/**
 * The import is done and agrees with the service: all rows are there, those of `twice` were carried out twice and
 * all others once.
 */
export function expectDone(summary: Summary, sender: Sender, service: Sandbox, twice: string[] = []): void {
  const all = sender.ids.length;
  expect(summary).toMatchObject({ status: 'completed', resume: null });
  expect(summary.rows).toEqual({
    read: all,
    filtered: 0,
    rejected: 0,
    merged: 0,
    unchanged: 0,
    submitted: all,
    completed: all,
  });
  const expected = sender.ids.map((id): [string, number] => [id, twice.includes(id) ? 2 : 1]);
  expect(timesCarriedOut(service)).toEqual(new Map(expected));
}
