/** A rejects file gets its final name when all its rows are on disk, and never that of another file. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { RejectsFile } from '../../../src/engine/run/rejects-file.js';
import type { RejectsForm } from '../../../src/engine/run/rejects-form.js';
import { built, profiles } from '../../support/child.js';
import { scratch } from '../../support/cli.js';

beforeAll(built);

const FORM: RejectsForm = { head: 'company_id\n', line: ({ line }) => `${line}\n` };
const ROW = { line: 1, reason: 'x', original: { cells: [] } };

const fileIn = (cwd: string, mayReplace: (location: string) => boolean): RejectsFile =>
  new RejectsFile(FORM, { cwd, name: 'c.rejects.csv', tag: 'run', mayReplace });

test('the file itself gets its name, whole, and nothing has that name before', () => {
  const cwd = scratch();
  const final = join(cwd, 'c.rejects.csv');
  const part = join(cwd, '.c.rejects.csv.run.part');
  let inode: number | undefined;
  const file = fileIn(cwd, () => {
    inode = statSync(part).ino;
    expect([existsSync(final), readFileSync(part, 'utf8')]).toEqual([false, 'company_id\n1\n']);
    return false;
  });
  file.add(ROW);
  file.flush();
  file.close();
  expect([statSync(final).ino, readFileSync(final, 'utf8')]).toEqual([inode, 'company_id\n1\n']);
  expect(readdirSync(cwd)).toEqual(['c.rejects.csv']);
});

test('a name that is taken just before is left to its owner', () => {
  const cwd = scratch();
  const file = fileIn(cwd, (location) => {
    if (location === join(cwd, 'c.rejects.csv')) writeFileSync(location, 'of another import');
    return false;
  });
  file.add(ROW);
  expect(file.flush()).toBe('c.rejects-2.csv');
  file.close();
  expect(readFileSync(join(cwd, 'c.rejects.csv'), 'utf8')).toBe('of another import');
  expect(readFileSync(join(cwd, 'c.rejects-2.csv'), 'utf8')).toBe('company_id\n1\n');
});

test('a file that is not flushed never gets a name', () => {
  const cwd = scratch();
  const file = fileIn(cwd, () => false);
  file.add(ROW);
  file.close();
  expect(readdirSync(cwd)).toEqual([]);
});

test.skipIf(!existsSync('/proc/self/fd'))(
  'its rows are synced before it has its name, and its folder after',
  async () => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'c.csv'), 'company_id,name\n1,a\n,b\n');
    const hook = pathToFileURL(join(import.meta.dirname, '../../support/log-syncs.mjs')).href;
    const env = {
      NODE_OPTIONS: `--import ${hook}`,
      SYNCS: join(cwd, 'syncs'),
      PROFILES_TOKEN: 'tok_0123456789',
    };
    const argv = ['import', 'c.csv', '--base-url', 'http://127.0.0.1:9', '-o', 'retries=0'];
    const { stderr } = await profiles(argv, { cwd, env }).ended;
    expect(existsSync(join(cwd, 'c.rejects.csv')), stderr).toBe(true);
    const all = readFileSync(join(cwd, 'syncs'), 'utf8').trimEnd().split('\n');
    const [rows, folder] = all.filter((line) => line.startsWith('sync '));
    expect(rows).toMatch(/\/\.c\.rejects\.csv\.\S+\.part$/);
    expect(folder).toBe(`sync ${cwd}`);
    expect(all.slice(0, all.indexOf(folder!))).not.toContain(`open ${join(cwd, 'c.rejects.csv')}`);
  },
);
