/** The state directory, or its locks, removed under a running import: it notices before its next request (contract §4). */
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { built, type Ended, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { canStandStill, pointsOf, standingStill } from '../support/stand-still.js';
import { balance, elevenCompanies, Machine } from './support.js';

const file = elevenCompanies();
const SEND = ['import', file.path, '--chunk-size', '4', '-o', 'interval=1ms', '--json'];

let service: FaultServer;
let machine: Machine;
let state: string;
beforeAll(built);
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
  state = join(machine.folder, '.state');
});
afterEach(() => service.stop());

const start = (argv: readonly string[]): Promise<Ended> =>
  profiles(argv, { cwd: machine.folder, env: machine.env }).ended;

/** Runs an import that has this done to its state while its first request is under way. */
async function importWhile(happens: () => void | Promise<void>) {
  service.during(1, happens);
  const { code, stdout, stderr } = await start(SEND);
  service.trouble = {};
  const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1)!) as {
    error: { code: string; message: string; hint: string };
  };
  return { code, error, stderr, summary: JSON.parse(stdout) };
}

const removeLocks = (): void => {
  for (const name of readdirSync(join(state, 'locks'))) rmSync(join(state, 'locks', name));
};

test('rm -rf of the state directory ends the import: exit 1, one sentence, nothing further sent', async () => {
  const { code, error, stderr, summary } = await importWhile(() => rmSync(state, { recursive: true }));
  expect([code, error.code], stderr).toEqual([1, 'state']);
  expect(error.message).toBe(
    `${join(state, 'state.db')} was removed while it was in use; nothing more is sent`,
  );
  expect(error.hint).toContain('then import the files again');
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(service.seen.submit).toBe(1);
  // Its record is gone: there is nothing to resume.
  expect(summary).toMatchObject({
    status: 'stopped',
    rows: { submitted: 3, unknown: 4, unsent: 4 },
    resume: null,
  });
});

test('so does another database put in its place', async () => {
  const { code, error, stderr } = await importWhile(() => {
    renameSync(join(state, 'state.db'), join(state, 'old.db'));
    writeFileSync(join(state, 'state.db'), '');
  });
  expect([code, error.code], stderr).toEqual([1, 'state']);
  expect(error.message).toContain('state.db was replaced while it was in use');
  expect(service.seen.submit).toBe(1);
});

test('the lock files alone: the same, and a resume completes it with nothing sent twice', async () => {
  const { code, error, stderr, summary } = await importWhile(removeLocks);
  expect([code, error.code], stderr).toEqual([1, 'state']);
  expect(error.message).toMatch(/^the lock .*\.lock was removed while it was in use; nothing more is sent$/);
  expect(service.seen.submit).toBe(1);
  expect(summary).toMatchObject({
    status: 'stopped',
    resume: expect.stringContaining(`profiles resume ${summary.run} `),
  });
  const last = await machine.run(['resume', summary.run]);
  expect(last.code, last.stderr).toBe(0);
  expect(last.summary!.maybe_sent_twice).toEqual([]);
  await balance(last.summary!, machine, service, file);
  expect(service.seen.submit).toBe(3);
});

test.each([
  ['state directory', () => rmSync(state, { recursive: true })],
  ['locks', removeLocks],
])('a second import that starts beside it once the %s is gone has the rest to itself', async (_, remove) => {
  let second: Ended | undefined;
  const { code, error, stderr } = await importWhile(async () => {
    remove();
    second = await start(SEND);
  });
  expect(second?.code, second?.stderr).toBe(0);
  expect([code, error.code], stderr).toEqual([1, 'state']);
  // One request of the first, three of the second.
  expect(service.seen.submit).toBe(4);
});

test.runIf(canStandStill)(
  'removed while the process stands still, at any point before the next request',
  { timeout: 600_000 },
  async () => {
    const at = async (point: number) => {
      machine = new Machine(service.url);
      machine.write(file.path, file.text);
      service.seen.submit = 0;
      const child = standingStill(SEND, { nth: 2, point }, { cwd: machine.folder, env: machine.env });
      return { child, settled: await child.settled() };
    };
    const whole = await at(Number.POSITIVE_INFINITY);
    expect((await whole.child.ended).code).toBe(0);
    const points = pointsOf(whole.child.points());
    expect(points.length).toBeGreaterThan(2);
    let stood = 0;
    for (const point of points) {
      const { child, settled } = await at(point);
      if (settled === 'ended') {
        // Not every run has as many points: this one was over before.
        expect([(await child.ended).code, child.points() < point]).toEqual([0, true]);
        continue;
      }
      stood++;
      renameSync(join(machine.folder, '.state'), join(machine.folder, 'elsewhere'));
      child.kill('SIGCONT');
      const { code, stderr } = await child.ended;
      expect(code, stderr).toBe(1);
      expect(service.seen.submit, `point ${point} of ${whole.child.points()}`).toBe(2);
    }
    expect(stood).toBeGreaterThan(2);
  },
);
