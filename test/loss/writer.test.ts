/**
 * An import of so many requests that a thread of its own records them: killed right before and right after commits of that
 * thread, and with its state removed. `disk.test.ts` fills its disk.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { built, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { balance, type Companies, crashAt, Machine, resumeToTheEnd } from './support.js';

const ROWS = 120;

beforeAll(built);

const ids = Array.from({ length: ROWS }, (_, i) => `c-${i}`);
const file: Companies = {
  path: 'companies.csv',
  ids: new Map(ids.map((id, i) => [i + 2, id])),
  text: `company_id,name\n${ids.map((id) => `${id},Company\n`).join('')}`,
};
const IMPORT = ['import', file.path, '--chunk-size', '1', '-o', 'interval=1ms'];

async function machineWithFile() {
  const service = await new FaultServer().start();
  onTestFinished(() => service.stop());
  const machine = new Machine(service.url);
  machine.write(file.path, file.text);
  return { service, machine };
}

const times = [1, 5].flatMap((nth) => [`before:${nth}`, `after:${nth}`]);

test('killed at commits of the thread', { timeout: 600_000 }, async () => {
  for (const at of times) {
    const { service, machine } = await machineWithFile();
    const env = { ...machine.env, ...crashAt(`${at}:writer`) };
    const killed = await profiles([...IMPORT, '--ndjson'], { cwd: machine.folder, env }).ended;
    expect(killed.signal, `${at}\n${killed.stderr}`).toBe('SIGKILL');
    const arrived = service.ledger.arrivals.length;
    // Its first commit has the first intents.
    if (at === 'before:1' || at === 'after:1') expect(arrived, at).toBe(0);

    const whole = killed.stdout
      .slice(0, killed.stdout.lastIndexOf('\n') + 1)
      .split('\n')
      .slice(0, -1);
    const events = whole.map((line) => JSON.parse(line) as { type: string; first_line: number });
    const told = events
      .filter(({ type }) => type === 'submitted')
      .map((event) => file.ids.get(event.first_line));
    const [run] = await machine.runs();
    expect(run?.resume, at).not.toBeNull();
    const last = await resumeToTheEnd(machine, await machine.run(['resume']));
    expect(last.code, `${at}\n${last.stderr}`).toBe(0);
    await balance(last.summary!, machine, service, file);
    expect([...service.ledger.profiles.companies.keys()].sort(), at).toEqual([...ids].sort());
    const again = new Set(service.ledger.arrivals.slice(arrived).flatMap(({ ids }) => ids));
    expect(
      told.filter((id) => again.has(id!)),
      `${at}: reported as submitted, and sent again`,
    ).toEqual([]);
    await service.stop();
  }
});

test('its state removed while the first request is under way: nothing further is sent', async () => {
  const { service, machine } = await machineWithFile();
  service.during(1, () => rmSync(join(machine.folder, '.state'), { recursive: true }));
  const argv = [...IMPORT, '--concurrency', '1', '--json'];
  const { code, stderr } = await profiles(argv, { cwd: machine.folder, env: machine.env }).ended;
  expect(code, stderr).toBe(1);
  expect(stderr).toContain('was removed while it was in use; nothing more is sent');
  expect(service.seen.submit).toBe(1);
});
