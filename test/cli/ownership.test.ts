/** Folders, files and links of other users: none of them is used. */
import {
  chownSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { asRoot, OTHER } from '../support/child.js';
import { cli, scratch } from '../support/cli.js';

let cwd: string;
let state: string;
beforeEach(() => {
  cwd = scratch({ 'c.csv': 'company_id,name\nc1,A\n' });
  state = join(cwd, '.state');
});

const run = async (...argv: string[]) => {
  const { code, stdout, stderr } = await cli([...argv, '--json'], { cwd });
  const last = stderr.trimEnd().split('\n').at(-1)!;
  return { code, stdout, stderr, error: code === 0 ? null : JSON.parse(last).error };
};
const sending = () => run('import', 'c.csv', '--region', 'sandbox');

/** What an import leaves, by its path in the state directory. */
const KEPT: [what: string, path: () => string, make: (path: string) => void][] = [
  ['the state directory', () => '.', (path) => mkdirSync(path, { mode: 0o700 })],
  ['the database', () => 'state.db', (path) => writeFileSync(path, '', { mode: 0o600 })],
  ['its log', () => 'state.db-wal', (path) => writeFileSync(path, '', { mode: 0o600 })],
  ['the data of the sandbox', () => 'sandbox.db', (path) => writeFileSync(path, '', { mode: 0o600 })],
  ['the folder of locks', () => 'locks', (path) => mkdirSync(path, { mode: 0o700 })],
  ['the spool', () => 'spool', (path) => mkdirSync(path, { mode: 0o700 })],
];

/** Imports once, and puts a new file or folder where one of the state's is, or may be. */
async function premade(path: string, make: (path: string) => void): Promise<string> {
  if (path === '.') mkdirSync(cwd, { recursive: true });
  else expect((await sending()).code).toBe(0);
  const place = join(state, path);
  rmSync(place, { recursive: true, force: true });
  make(place);
  return place;
}

describe.skipIf(OTHER === null)(asRoot('what belongs to another user'), () => {
  test.each([
    ['a token', { token: 'sk-live-0123456789' }, 'contains a token'],
    ['a program', { token_command: ['pass'] }, 'names a program to run (token_command)'],
    ['a password', { state: 'postgres://a:b@127.0.0.1/c' }, 'contains a password'],
  ])('a config file with %s is refused with the chown that takes it over', async (_, content, what) => {
    const file = join(cwd, 'config.json');
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    expect((await run('config', 'list', '--config', file)).code).toBe(0);
    chownSync(file, OTHER!, OTHER!);
    const { code, error } = await run('config', 'list', '--config', file);
    expect([code, error]).toMatchObject([2, { code: 'config', hint: `chown 0 ${file}` }]);
    expect(error.message).toBe(`${file} ${what}, but it belongs to another user (${OTHER})`);
  });

  test.each(KEPT)('%s is refused with the chown that takes it over', async (_, path, make) => {
    const place = await premade(path(), make);
    chownSync(place, OTHER!, OTHER!);
    const flag = statSync(place).isDirectory() ? '-R ' : '';
    const stdin = path() === 'spool' ? '-' : 'c.csv';
    const { code, error } = await run('import', stdin, '--kind', 'companies', '--region', 'sandbox');
    expect([code, error]).toMatchObject([2, { code: 'config', hint: `chown ${flag}0 ${place}` }]);
    expect(error.message).toBe(`${place} belongs to another user (${OTHER}), who decides what is in it`);
  });

  test('a link of theirs on the way to the state directory', async () => {
    mkdirSync(join(cwd, 'elsewhere'), { mode: 0o700 });
    symlinkSync('elsewhere', join(cwd, 'theirs'));
    lchownSync(join(cwd, 'theirs'), OTHER!, OTHER!);
    const { code, error } = await run('import', 'c.csv', '--region', 'sandbox', '--state', 'theirs/state');
    expect([code, error.message]).toEqual([2, expect.stringContaining(`${join(cwd, 'theirs')} is a link`)]);
    expect(readdirSync(join(cwd, 'elsewhere'))).toEqual([]);
  });
});

const SEND = 'import c.csv --region sandbox';
const DRY = 'import c.csv --region sandbox --dry-run';
const HEAD = 'file,line,id,outcome,request,job_id,reason';
const META =
  '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="generator" content="profiles report">\n';

/** Commands that write a file where the user says, and what is in one that they may replace. */
const WRITERS: [line: string, file: string, ours: string | null][] = [
  [`${SEND} --outcomes`, 'o.csv', `${HEAD}\n`],
  [
    `${SEND} --outcomes`,
    'o.ndjson',
    `${JSON.stringify(Object.fromEntries(HEAD.split(',').map((field) => [field, ''])))}\n`,
  ],
  [`${SEND} --report`, 'r.html', META],
  [`${DRY} --save-plan`, 'plan.json', '{\n  "version": 1,\n  "totals": {'],
  ['inspect c.csv --write-mapping', 'map.json', null],
  [`${SEND} --skip-invalid --rejects`, 'bad.csv', null],
  ['state backup', 'copy.db', null],
];
const writing = async (line: string, file: string) => {
  if (line.startsWith('state')) await sending();
  return run(...line.split(' '), file);
};

describe.skipIf(OTHER === null).each(WRITERS)(asRoot('%s %s'), (line, file, ours) => {
  beforeEach(() => {
    // One row is rejected, so there is something to write.
    writeFileSync(
      join(cwd, 'c.csv'),
      line.includes('--rejects') ? 'company_id,n\nc1,1\n,2\n' : 'company_id,n\nc1,1\n',
    );
  });

  const replaces = ours === null ? [] : [ours];
  test.each(replaces)('a file of another user is not replaced', async (own) => {
    writeFileSync(join(cwd, file), own);
    chownSync(join(cwd, file), OTHER!, OTHER!);
    const { code, stderr } = await writing(line, file);
    expect([code, stderr]).toEqual([2, expect.stringContaining('it belongs to another user')]);
    expect(readFileSync(join(cwd, file), 'utf8')).toBe(own);
  });

  test('a link of another user is not followed', async () => {
    writeFileSync(join(cwd, 'precious'), ours ?? '');
    symlinkSync('precious', join(cwd, file));
    lchownSync(join(cwd, file), OTHER!, OTHER!);
    await writing(line, file);
    expect(readFileSync(join(cwd, 'precious'), 'utf8')).toBe(ours ?? '');
  });

  test('a link of another user to a folder is not followed', async () => {
    mkdirSync(join(cwd, 'mine'));
    symlinkSync('mine', join(cwd, 'theirs'));
    lchownSync(join(cwd, 'theirs'), OTHER!, OTHER!);
    const { code, stderr } = await writing(line, `theirs/${file}`);
    expect([code, stderr]).toEqual([
      expect.any(Number),
      expect.stringMatching(/(?:is a )?link of another user/),
    ]);
    expect(code).not.toBe(0);
    expect(readdirSync(join(cwd, 'mine'))).toEqual([]);
  });
});
