/** Output that cannot be written (contract §4): one sentence, sending stops in good order, and a resume loses nothing. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { built, type Ended } from '../support/child.js';
import { workspace } from '../support/workspace.js';
import { balance, elevenCompanies } from './support.js';

const file = elevenCompanies();
const SEND = `import ${file.path} --chunk-size 4 -o interval=5ms`;
const FULL = 'no space left on device (ENOSPC)';

const { service, machine, run } = workspace({ [file.path]: file.text });
beforeAll(built);

async function bash(line: string): Promise<Ended> {
  const ended = await machine.bash(line);
  expect(ended.stderr).not.toMatch(/^\s+at |node:internal|Uncaught/m);
  return ended;
}

/** The sentences that begin with the program's name. */
const sentences = (stderr: string): string[] =>
  stderr.split('\n').filter((line) => /^profiles: std(?:out|err)/.test(line));

describe.skipIf(!existsSync('/dev/full'))('to a full device', () => {
  test.each([
    '--ndjson > /dev/full',
    '--ndjson > /dev/full 2>/dev/full',
    '2>/dev/full',
    '--json 2>/dev/full',
  ])('an import stops before it sends, and is resumable: %s', async (redirected) => {
    const ended = await bash(`profiles ${SEND} ${redirected}`);
    expect(ended.code, ended.stderr).toBe(1);
    expect(service.seen.submit).toBeLessThanOrEqual(1);
    const [newest] = await machine.runs();
    expect(newest).toMatchObject({ status: 'stopped', summary: { status: 'stopped' } });
    const resume = `profiles resume ${newest!.run} --base-url `;
    if (redirected === '--ndjson > /dev/full') {
      expect(sentences(ended.stderr)).toEqual([`profiles: stdout cannot be written: ${FULL}`]);
      expect(ended.stderr.replaceAll(/ \\\n +/g, ' ')).toContain(resume);
      expect(ended.stderr).toContain('✗ stopped early');
    }
    if (redirected === '--json 2>/dev/full') {
      expect(JSON.parse(ended.stdout)).toMatchObject({
        status: 'stopped',
        resume: expect.stringContaining(resume),
      });
    }
    const last = await run('resume');
    expect([last.code, last.summary!.maybe_sent_twice], last.stderr).toEqual([0, []]);
    await balance(last.summary!, machine, service, file);
    expect(service.ledger.profiles.companies.size).toBe(11);
  });

  test('an import whose document is lost says its summary on stderr', async () => {
    const ended = await bash(`profiles ${SEND} --json > /dev/full`);
    expect(ended.code, ended.stderr).toBe(1);
    expect(ended.stderr).toContain('✓ completed');
    expect(sentences(ended.stderr)).toEqual([`profiles: stdout cannot be written: ${FULL}`]);
    const last = JSON.parse(ended.stderr.trimEnd().split('\n').at(-1)!);
    expect(last.error).toMatchObject({ code: 'output', message: `stdout cannot be written: ${FULL}` });
    expect((await machine.runs())[0]).toMatchObject({ status: 'completed' });
  });

  test.each([
    '--version',
    '--help',
    'runs --help',
    'completion bash',
    `${SEND} --dry-run`,
    'runs --json',
    'help exit-codes',
  ])('%s', async (line) => {
    const ended = await bash(`profiles ${line} > /dev/full`);
    expect(ended.code, ended.stderr).toBe(1);
    expect(sentences(ended.stderr)).toEqual([`profiles: stdout cannot be written: ${FULL}`]);
    expect((await bash(`profiles ${line} > /dev/full 2>&1`)).code).toBe(1);
  });
});

test('to a file on a disk with room for a part of it', async () => {
  const folder = machine.path('disk');
  mkdirSync(folder);
  let limit = '';
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', folder], { stdio: 'ignore' });
    onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  } catch {
    limit = 'ulimit -f 4; ';
  }
  const whole = await bash('profiles import --help; profiles import --help');
  const ended = await bash(`${limit}{ profiles import --help; profiles import --help; } > disk/help`);
  expect(whole.stdout.length).toBeGreaterThan(4096);
  expect(ended.code, ended.stderr).toBe(1);
  expect(ended.stderr).toMatch(/^profiles: stdout cannot be written: .* \((ENOSPC|EFBIG)\)$/m);
  expect(whole.stdout.startsWith(machine.read('disk/help'))).toBe(true);
});

describe('the file of outcomes', () => {
  test('in a folder that is gone at the end is an error of the file, with all that was sent', async () => {
    const folder = machine.path('out');
    mkdirSync(folder);
    service.during(1, () => {
      rmSync(folder, { recursive: true });
      symlinkSync('out', folder); // a loop: stat fails, too
    });
    const { code, summary, stderr } = await run(`import ${file.path} --outcomes out/o.ndjson`);
    expect([code, summary?.rows.submitted], stderr).toEqual([1, 11]);
    expect(stderr).not.toContain('bug');
    expect((await run('resume --outcomes o.ndjson')).code).toBe(0);
    expect(machine.read('o.ndjson').trimEnd().split('\n')).toHaveLength(file.ids.size);
    expect(service.ledger.arrivals).toHaveLength(1);
  });

  test.skipIf(!existsSync('/proc/self/fd'))('on a full disk: no input stays open', async ({ skip }) => {
    const folder = machine.path('small');
    mkdirSync(folder);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' });
      onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
    } catch {
      skip('only root can mount a small disk');
    }
    // More than is read at once, and outcomes enough to be written before the end of the input.
    const note = 'x'.repeat(90);
    const rows = Array.from({ length: 60_000 }, (_, i) => `${i || ''},${i % 2 ? 'DE' : 'FR'},${note}\n`);
    machine.write('a.csv', `company_id,country,note\n${rows.join('')}`);
    const full = await run('import a.csv --where country=FR --outcomes small/o.csv');
    expect([full.code, full.error!.message]).toEqual([1, expect.stringContaining('small/o.csv cannot be')]);
    expect(readdirSync(folder)).toEqual([]);
    const isOpen = (): boolean =>
      readdirSync('/proc/self/fd').some((fd) => {
        const link = `/proc/self/fd/${fd}`;
        const isThere = lstatSync(link, { throwIfNoEntry: false }) !== undefined;
        return isThere && readlinkSync(link) === machine.path('a.csv');
      });
    await expect.poll(isOpen).toBe(false);
  });
});
