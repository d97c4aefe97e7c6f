/** The state directory, or its locks, removed under a running import: it notices before its next request (contract §4). */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { built, canStandStill, pointsOf, standingStill } from '../support/child.js';
import { type Outcome, outcomeOf, workspace } from '../support/workspace.js';
import { balance, elevenCompanies } from './support.js';

const file = elevenCompanies();
const many = Array.from({ length: 120 }, (_, i) => `c-${i},Company\n`).join('');
const SEND = `import ${file.path} --chunk-size 4 -o interval=1ms --json`;

const { service, machine, run } = workspace({
  [file.path]: file.text,
  'many.csv': `company_id,name\n${many}`,
});
beforeAll(built);

const started = async (line: string): Promise<Outcome> => outcomeOf(await machine.start(line).ended);

const removeState = (): void => rmSync(machine.path('.state'), { recursive: true });
const removeLocks = (): void => {
  const locks = machine.path('.state/locks');
  for (const name of readdirSync(locks)) rmSync(join(locks, name));
};
const replaceState = (): void => {
  renameSync(machine.path('.state/state.db'), machine.path('.state/old.db'));
  machine.write('.state/state.db', '');
};

test.each([
  // Its record is gone: there is nothing to resume.
  [
    'the directory',
    SEND,
    removeState,
    /^\/.*state\.db was removed while it was in use; nothing more is sent$/,
  ],
  ['the database', SEND, replaceState, /state\.db was replaced while it was in use/],
  [
    'the locks',
    SEND,
    removeLocks,
    /^the lock .*\.lock was removed while it was in use; nothing more is sent$/,
  ],
  [
    'the directory, in an import of many requests',
    'import many.csv --chunk-size 1 --concurrency 1 -o interval=1ms --json',
    removeState,
    /was removed while it was in use; nothing more is sent$/,
  ],
])('%s: exit 1, one sentence, nothing further sent', async (what, line, remove, message) => {
  service.during(1, remove);
  const { code, error, stderr, summary } = await started(line);
  expect([code, error?.code], stderr).toEqual([1, 'state']);
  expect(error!.message).toMatch(message);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(service.seen.submit).toBe(1);
  service.trouble = {};
  if (what === 'the directory') {
    expect(error!.hint).toContain('then import the files again');
    const rows = { submitted: 3, unsent: 8 }; // the next request was not sent
    expect(summary).toMatchObject({ status: 'stopped', rows, resume: null });
  }
  if (what === 'the locks') {
    const last = await run(['resume', summary!.run!]);
    expect([last.code, last.summary!.maybe_sent_twice], last.stderr).toEqual([0, []]);
    await balance(last.summary!, machine, service, file);
    expect(service.seen.submit).toBe(3);
  }
});

test.each([
  ['state directory', removeState],
  ['locks', removeLocks],
])('a second import that starts beside it once the %s is gone has the rest to itself', async (_, remove) => {
  let second: Outcome | undefined;
  service.during(1, async () => {
    remove();
    second = await started(SEND);
  });
  const { code, error, stderr } = await started(SEND);
  expect(second?.code, second?.stderr).toBe(0);
  expect([code, error!.code], stderr).toEqual([1, 'state']);
  // One request of the first, three of the second.
  expect(service.seen.submit).toBe(4);
});

test.runIf(canStandStill)(
  'removed while the process stands still, at any point before the next request',
  { timeout: 600_000 },
  async () => {
    const at = (point: number) => {
      machine.renew(service.url);
      machine.write(file.path, file.text);
      service.seen.submit = 0;
      const { folder: cwd, env } = machine;
      return standingStill(SEND.split(' '), { nth: 2, point }, { cwd, env });
    };
    const whole = await at(Number.POSITIVE_INFINITY);
    expect((await whole.ended).code).toBe(0);
    const points = pointsOf(whole.points());
    expect(points.length).toBeGreaterThan(2);
    let stood = 0;
    for (const point of points) {
      const child = await at(point);
      if (!child.stands) {
        // Not every run has as many points: this one was over before.
        expect([(await child.ended).code, child.points() < point]).toEqual([0, true]);
        continue;
      }
      stood++;
      renameSync(machine.path('.state'), machine.path('elsewhere'));
      child.kill('SIGCONT');
      const { code, stderr } = await child.ended;
      expect(code, stderr).toBe(1);
      expect(service.seen.submit, `point ${point} of ${whole.points()}`).toBe(2);
    }
    expect(stood).toBeGreaterThan(2);
  },
);
