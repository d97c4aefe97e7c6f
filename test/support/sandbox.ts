/** Sandboxes for tests: in memory, on free ports, and stopped automatically. */
import { test as base } from 'vitest';
import type { ImportRequest } from '../../src/engine/index.js';
import {
  type Sandbox,
  type SandboxClock,
  type SandboxOptions,
  startSandbox,
} from '../../src/sandbox/index.js';
import { scratch } from './cli.js';

/** A clock that a test sets. It starts at a time that is easy to read in a failure. */
export class ManualClock implements SandboxClock {
  time = Date.parse('2026-01-02T03:04:05.000Z');
  now(): number {
    return this.time;
  }
  advance(ms: number): void {
    this.time += ms;
  }
}

/** A clock that is `factor` times as fast as the real one: the shortest job ends after 300 / `factor` ms. */
export function hurriedClock(factor = 100): SandboxClock {
  const start = Date.now();
  return { now: () => start + (Date.now() - start) * factor };
}

/** The environment with which a command uses a sandbox. */
export function environmentOf(sandbox: Sandbox): Record<string, string> {
  return {
    PROFILES_BASE_URL: sandbox.url,
    PROFILES_LOOKUP_BASE_URL: sandbox.lookupUrl,
    PROFILES_TOKEN: sandbox.token,
  };
}

/** The request of a program that imports to a sandbox, in a folder of its own with `companies.csv` of so many rows. */
export function requestTo(
  { url: baseUrl, lookupUrl: lookupBaseUrl, token }: Sandbox,
  over: Partial<ImportRequest> = {},
  rows = 0,
): ImportRequest & { cwd: string } {
  const lines = Array.from({ length: rows }, (_, i) => `${i + 1},Company ${i + 1}\n`);
  const cwd = scratch({ 'companies.csv': `company_id,name\n${lines.join('')}` });
  return { cwd, service: { baseUrl, lookupBaseUrl, token }, stateDir: '.state', intervalMs: 1, ...over };
}

/** What a sandbox has accepted, in order, such as `12 companies`. */
export const acceptedBy = (sandbox: Sandbox): string[] =>
  sandbox.ledger().flatMap(({ accepted }) => (accepted ? [`${accepted.items} ${accepted.kind}`] : []));

export interface SandboxFixtures {
  /** Options of `sandbox`. Override them with `test.override` or `test.extend`. */
  sandboxOptions: SandboxOptions;
  /** A sandbox with a fast clock, unless the options say otherwise. */
  sandbox: Sandbox;
  /** Starts more sandboxes. All are stopped after the test. */
  start: (options?: SandboxOptions) => Promise<Sandbox>;
}

export const test = base.extend<SandboxFixtures>({
  sandboxOptions: {},
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  start: async ({}, use) => {
    const started: Sandbox[] = [];
    await use(async (options = {}) => {
      const sandbox = await startSandbox({ clock: hurriedClock(), ...options });
      started.push(sandbox);
      return sandbox;
    });
    await Promise.all(started.map((sandbox) => sandbox.stop()));
  },
  sandbox: async ({ start, sandboxOptions }, use) => {
    await use(await start(sandboxOptions));
  },
});

/** Submits `n` companies without the product's own client, and returns the id of their job. */
export async function submitCompanies(sandbox: Sandbox, n = 3): Promise<string> {
  const companies = Array.from({ length: n }, (_, i) => ({ company_id: `c${i}` }));
  const reply = await fetch(`${sandbox.url}/v1/companies/bulk_identify`, {
    method: 'POST',
    headers: { authorization: `Token ${sandbox.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ companies }),
  });
  return ((await reply.json()) as { job_id: string }).job_id;
}
