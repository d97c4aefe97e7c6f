/** Shards of one plan, each a process on a machine of its own: they share a state, the inputs, and a sandbox to send to. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { type Child, type Ended, profiles } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { environmentOf } from '../support/sandbox.js';

export class ShardMachines {
  readonly folder = scratch();
  readonly #running: Child[] = [];

  constructor(
    private readonly sandbox: Sandbox,
    /** URL of the state. */
    private readonly state: string,
    private readonly shards: number,
  ) {}

  start(argv: readonly string[], machine: string, env: Record<string, string> = {}): Child {
    const place = { PROFILES_STATE: this.state, PROFILES_STATE_DIR: join(this.folder, machine) };
    const child = profiles(argv, {
      cwd: this.folder,
      env: { ...environmentOf(this.sandbox), ...place, ...env },
    });
    this.#running.push(child);
    return child;
  }

  /** @param index from 0, as a scheduler counts them */
  shard(index: number, ...argv: readonly string[]): Child {
    return this.start(
      ['apply', 'plan.json', '--shards', `${this.shards}`, '--json', ...argv],
      `machine-${index}`,
      { JOB_COMPLETION_INDEX: `${index}` },
    );
  }

  /** All of them at once, to their ends. */
  all(...argv: readonly string[]): Promise<Ended[]> {
    return Promise.all(Array.from({ length: this.shards }, (_, index) => this.shard(index, ...argv).ended));
  }

  /** All of them at once: each exits with 0. */
  async complete(): Promise<Ended[]> {
    const ends = await this.all();
    for (const { code, stderr } of ends) expect(code, stderr).toBe(0);
    return ends;
  }

  /** Writes files, and a plan of them. */
  async plan(files: Readonly<Record<string, string>>, ...argv: readonly string[]): Promise<void> {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.folder, name), text);
    const words = ['import', ...Object.keys(files), ...argv, '--dry-run', '--save-plan', 'plan.json'];
    const { code, stderr } = await this.start(words, 'desk').ended;
    expect([0, 5], stderr).toContain(code);
  }

  /** Requests that the service accepted. */
  accepted() {
    return this.sandbox.ledger().flatMap(({ time, accepted: found }) => (found ? [{ time, ...found }] : []));
  }

  kill(): void {
    for (const child of this.#running.splice(0)) child.kill('SIGKILL');
  }
}

export const summaryOf = ({ stdout, stderr }: Ended): Summary => {
  expect(stdout, stderr).toMatch(/^\{/);
  return JSON.parse(stdout) as Summary;
};
const rows = (count: number, line: (row: number) => string): string =>
  Array.from({ length: count }, (_, row) => line(row)).join('');
export const companies = (count: number): string =>
  `company_id,seats\n${rows(count, (row) => `c-${row},${row}\n`)}`;
export const users = (count: number): string => `user_id,plan\n${rows(count, (row) => `u-${row},pro\n`)}`;
