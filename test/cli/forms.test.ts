/** What a script can rely on, of every command in success and in failure: stdout, stderr and exit code, in each form. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/index.js';
import { INVOCATIONS, type Invocation } from './invocations.js';
import { makePlace, type Place, run } from './place.js';
import { saidOf } from './said.js';

let place: Place;
beforeAll(async () => {
  place = await makePlace();
});
afterAll(() => place.stop());

const named = (invocations: readonly Invocation[]): [string, Invocation][] =>
  invocations.map((invocation) => [`${invocation.line} -> ${invocation.ends}`, invocation]);

it('the table has every command, with a success and a failure', () => {
  const cases = (ends: (code: number) => boolean): Set<string> =>
    new Set(INVOCATIONS.filter(({ ends: code }) => ends(code)).map(({ line }) => line.split(' ')[0]!));
  const names = COMMANDS.map(({ name }) => name);
  expect([...cases((code) => code === 0)]).toEqual(expect.arrayContaining(names));
  expect([...cases((code) => code !== 0)]).toEqual(expect.arrayContaining(names));
});

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

/** The error object that ends stderr, and nothing beside it (contract §6). */
function expectErrorLine(stderr: string): void {
  const { error, ...rest } = JSON.parse(lastLine(stderr)) as { error: Record<string, unknown> };
  expect(rest).toEqual({});
  expect(error).toEqual({
    code: expect.stringMatching(/^[a-z_]+$/),
    message: expect.stringMatching(/\S/),
    hint: error.hint === null ? null : expect.stringMatching(/\S/),
    status: error.status === null ? null : expect.any(Number),
    request_id: error.request_id === null ? null : expect.any(String),
  });
}

describe('--json', () => {
  it.each(named(INVOCATIONS.filter(({ textOnly }) => !textOnly)))('%s', async (_, invocation) => {
    const { code, stdout, stderr } = await run(place, invocation, { flags: ['--json'] });
    expect({ code, stderr }).toEqual({ code: invocation.ends, stderr: saidOf(invocation) });
    if (code === 0) expect(stderr).not.toContain('"error"');
    else expectErrorLine(stderr);
    if (code === 0 || stdout !== '') expect(JSON.parse(stdout)).toBeTypeOf('object');
    if (stdout !== '') expect(stdout).toMatch(/\n$/);
  });
});

describe('--ndjson', () => {
  it.each(named(INVOCATIONS.filter(({ ndjson }) => ndjson)))('%s', async (_, invocation) => {
    const { code, stdout, stderr } = await run(place, invocation, { flags: ['--ndjson'] });
    expect({ code, stderr }).toEqual({ code: invocation.ends, stderr: saidOf(invocation) });
    for (const line of stdout.split('\n').slice(0, -1)) expect(JSON.parse(line)).toBeTypeOf('object');
    expect(stdout).toMatch(/^$|\n$/);
  });
});

/** Control characters other than line ends: nothing that a terminal would obey. */
// biome-ignore lint/complexity/useRegexLiterals: escapes in a string can be read
const CONTROL = new RegExp('[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f]');

describe('text, and --quiet', () => {
  it.each(named(INVOCATIONS))('%s', async (_, invocation) => {
    const loud = await run(place, invocation);
    expect({ code: loud.code, stderr: loud.stderr }).toEqual({
      code: invocation.ends,
      stderr: saidOf(invocation),
    });
    const text = loud.stdout + loud.stderr;
    expect(text).not.toMatch(CONTROL);
    expect(text).toMatch(/\S\n$/);
    expect(text).not.toMatch(/\bundefined\b|\[object|\bNaN\b/);

    const { code, stdout, stderr } = await run(place, invocation, { flags: ['--quiet'] });
    expect({ code, stderr }).toEqual({
      code: invocation.ends,
      stderr: code === 0 ? '' : saidOf(invocation),
    });
    // A failure is never silent, and what was asked for is still there.
    if (code !== 0) expect(stderr + stdout).not.toBe('');
    expect(stdout === '').toBe(loud.stdout === '');
  });
});

// The wait is a second of real time: the other job must have failed by then, on a busy machine too.
it('a failed job decides the exit code before a wait that timed out', async () => {
  const { code, stdout, stderr } = await run(
    place,
    {
      line: 'import companies.csv --chunk-size 5 --concurrency 2 --wait 20s',
      ends: 7,
      faults: ['fail-job:nth=1', 'stuck-job:nth=2'],
    },
    { flags: ['--json'] },
  );
  expect(code).toBe(7);
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'timed_out',
    resume: expect.stringMatching(/^profiles resume /),
  });
  expectErrorLine(stderr);
});
