/** `-o key=value`: every setting under its key, on every command that uses it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkFlags, settingsOf, withSettings } from '../../src/cli/options/flags.js';
import { cli, scratch } from '../support/cli.js';

const words = (line: string): string[] => line.split(' ').filter(Boolean);
const none = async () => ({});

describe('a setting is read like its flag', () => {
  it.each([
    ['import', ['chunk_size=7'], { chunkSize: '7' }],
    ['import', ['changed_only=true', 'trim=false'], { changedOnly: true, trim: false }],
    ['import', ['null=NA', 'null=n/a'], { null: ['NA', 'n/a'] }],
    ['import', ['delimiter=='], { delimiter: '=' }],
    ['resume', ['on_failure=isolate', 'isolate_jobs=9'], { onFailure: 'isolate', isolateJobs: '9' }],
    ['lookups', ['request_timeout=5s'], { requestTimeout: '5s' }],
  ])('%s -o %j', (path, option, expected) => {
    const { option: _, ...flags } = withSettings(path, { option });
    expect(flags).toEqual(expected);
  });
});

it.each([
  ['import', 'chunk_bits=4', '-o chunk_bits: unknown setting', 'did you mean chunk_bytes?'],
  ['import', 'wait_timeout=5m', '-o wait_timeout: unknown setting', 'did you mean wait?'],
  ['import', 'region=eu', '-o region: this is a setting of the config file', 'use --region'],
  ['import', 'token=x', '-o token: this is a setting of the config file', 'use profiles config set token'],
  ['import', 'trim=yes', '-o trim: "yes" is not true or false', 'write -o trim=true'],
  ['import', 'retries=many', '-o retries: "many" is not a whole number', undefined],
  ['import', 'retries', '-o: "retries" is not of the form key=value', 'write -o key=value'],
  [
    'lookups',
    'chunk_size=1',
    '-o chunk_size has no effect on profiles lookups',
    'its settings: request_timeout',
  ],
])('%s -o %s is refused', (path, option, message, hint) => {
  expect(() => withSettings(path, { option: [option] })).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: expect.stringContaining(message),
      ...(hint && { hint }),
    }),
  );
});

it.each([
  [{ chunkSize: '5', option: ['chunk_size=7'] }, '-o chunk_size and --chunk-size are the same setting'],
  [{ option: ['retries=1', 'retries=2'] }, '-o retries was given twice'],
])('%j is given once', (flags, message) => {
  expect(() => withSettings('import', flags)).toThrow(message);
});

describe('flags that do not stand together', () => {
  it.each([
    [{ full: true, resume: true }, '--full and --resume cannot be combined: --full sends everything again'],
    [{ onFailure: 'isolate', wait: false }, '--on-failure isolate and --no-wait cannot be combined'],
    [{ outcomes: 'o.csv', savePlan: 'p.json' }, '--outcomes and --save-plan cannot be combined'],
    [{ refreshAfter: '1h' }, '-o refresh_after has no effect without --changed-only'],
    [
      { isolateJobs: '5', onFailure: 'continue' },
      '-o isolate_jobs has no effect without --on-failure isolate',
    ],
  ])('%j', async (flags, message) => {
    await expect(checkFlags('import', flags, none)).rejects.toThrow(message);
  });
  it.each([
    [{ onFailure: 'continue', wait: false }],
    [{ full: false, resume: true }],
    [{ maxChanged: '5', changedOnly: true }],
  ])('%j do', async (flags) => {
    await expect(checkFlags('import', flags, none)).resolves.toBeUndefined();
  });
  it('what a flag needs may be in the config file', async () => {
    const below = async () => ({ changedOnly: true });
    await expect(checkFlags('import', { maxChanged: '5' }, below)).resolves.toBeUndefined();
  });
});

it('a key is one setting of a command', () => {
  for (const path of ['import', 'inspect', 'apply', 'resume', 'job', 'identify user']) {
    const keys = settingsOf(path).map(({ key }) => key);
    expect(keys).toContain('request_timeout');
    expect(keys).toEqual([...new Set(keys)]);
  }
});

describe('at the command line', () => {
  const run = async (line: string) => {
    const cwd = scratch();
    writeFileSync(join(cwd, 'c.csv'), 'company_id;name\nc-1;A\nc-2;B\n');
    return cli([...words(line), '--json', '--quiet'], { cwd, env: { PROFILES_REGION: 'sandbox' } });
  };

  it('it sets what it names', async () => {
    const { code, stdout } = await run('import c.csv -n -o chunk_size=1 --option delimiter=;');
    expect([code, JSON.parse(stdout).plan.requests]).toEqual([0, 2]);
  });
  it('the next command repeats it', async () => {
    const { stdout } = await run('import c.csv -n -o chunk_size=1 -o retries=0');
    expect(JSON.parse(stdout).next).toEqual([
      'profiles import c.csv -o chunk_size=1 -o retries=0 --region sandbox',
    ]);
  });
});

it.each([
  ['--retries 3', 'did you mean -o retries=<n>?'],
  ['--no-track-keys', 'did you mean -o track_keys=false?'],
  ['--chunk-bytes=1MiB', 'did you mean -o chunk_bytes=<size>?'],
  ['--wait-timeout 5m', 'did you mean --wait <duration>?'],
  ['--state-dir x', 'did you mean --state <folder>?'],
  ['--types strings', "did you mean --type '*=string'?"],
  ['--isolate', 'did you mean --on-failure isolate?'],
  ['--continue-on-error', 'did you mean --on-failure continue?'],
  ['--pk id', 'did you mean --id?'],
  ['--batch-size 10', 'did you mean --chunk-size?'],
  ['--async', 'did you mean --no-wait?'],
  ['-L 5', 'did you mean --limit?'],
])('import %s leads to the name of today', async (flag, hint) => {
  const { code, stderr } = await cli(['import', 'c.csv', ...words(flag)]);
  expect([code, stderr.split('\n')[1]]).toEqual([2, `  ${hint}`]);
});

describe('--zone is the zone of dates without an offset', () => {
  const sample = async (flags: string, mapping?: object) => {
    const cwd = scratch();
    writeFileSync(
      join(cwd, 'c.csv'),
      'company_id,seen,with\nc-1,03.01.2024 10:00,2024-01-03T10:00:00+05:00\n',
    );
    if (mapping) writeFileSync(join(cwd, 'm.json'), JSON.stringify(mapping));
    const { stdout } = await cli(
      [...words(`import c.csv -n --json -q ${flags}`.replace(' -q', ' --quiet'))],
      {
        cwd,
        env: { PROFILES_REGION: 'sandbox' },
      },
    );
    return JSON.parse(stdout).plan.files[0].sample.metadata as Record<string, string>;
  };
  const seen = { seen: 'datetime:dd.MM.yyyy_HH:mm'.replace('_', ' ') };

  it('of a type that names none; a cell with an offset keeps it', async () => {
    const both = { type: { ...seen, with: 'datetime' } };
    expect(await sample('-m m.json --zone Europe/Berlin', both)).toEqual({
      seen: '2024-01-03T10:00:00+01:00',
      with: '2024-01-03T10:00:00+05:00',
    });
  });
  it.each([
    ['a mapping file has one', '-m m.json', { type: seen, zone: 'Asia/Tokyo' }, '+09:00'],
    ['the flag overrides it', '-m m.json --zone UTC', { type: seen, zone: 'Asia/Tokyo' }, 'Z'],
    [
      'the zone in a type wins',
      '-m m.json -o zone=UTC',
      { type: { seen: `${seen.seen}@Asia/Tokyo` } },
      '+09:00',
    ],
    [
      'what a written mapping leaves open',
      '-m m.json --zone UTC',
      { type: { seen: `${seen.seen}@<zone>` } },
      'Z',
    ],
  ])('%s', async (_, flags, mapping, offset) => {
    expect((await sample(flags, mapping)).seen).toBe(`2024-01-03T10:00:00${offset}`);
  });
  it('one that does not exist is refused', async () => {
    const { code, stderr } = await cli(['import', 'c.csv', '--zone', 'Europe/Berln']);
    expect([code, stderr.split('\n')[0]]).toEqual([2, 'profiles: --zone: "Europe/Berln" is not a time zone']);
  });
});
