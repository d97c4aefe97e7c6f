/** A disk that is full, and one that cannot be written to: sending stops at once, and a resume loses nothing (contract §4). */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { BIN, built, type ChildOptions, copyOfCommand, node, OTHER } from '../support/child.js';
import { type Outcome, outcomeOf, workspace } from '../support/workspace.js';
import { balance, type Companies } from './support.js';

const rows = Array.from({ length: 2_000 }, (_, i) => [`c-${i}`, `Company ${i}`]);
const file: Companies = {
  path: 'companies.csv',
  ids: new Map(rows.map(([id], i) => [i + 2, id!])),
  text: `company_id,name\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
};
/** A hundred requests of twenty. */
const SEND = `import ${file.path} --chunk-size 20 -o interval=1ms`;

const { service, machine, run } = workspace({ [file.path]: file.text });
beforeAll(built);

interface Disk {
  folder: string;
  run(line: string, options?: Partial<ChildOptions>): Promise<Outcome>;
  grow(): void;
}

/**
 * A state directory on a disk of so many KiB: a tmpfs of its own where this user may mount one, else a limit to
 * the size of the files that the command may write.
 */
function smallDisk(kib: number): Disk {
  const folder = machine.path('disk');
  mkdirSync(folder, { mode: 0o700 });
  let limit: { fileKib?: number } = {};
  let grow = (): void => void execFileSync('mount', ['-o', 'remount,size=50m', folder]);
  try {
    const options = `size=${kib}k,mode=700`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
    onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  } catch {
    limit = { fileKib: kib };
    grow = () => {
      limit = {};
    };
  }
  return {
    folder,
    run: async (line, { env, ...options } = {}) => {
      const all = { ...limit, ...options, env: { PROFILES_STATE_DIR: folder, ...env } };
      return outcomeOf(await machine.start(`${line} --json`, all).ended);
    },
    grow: () => grow(),
  };
}
/** With the state elsewhere: on the disk are other files. */
const elsewhere = () => ({ env: { PROFILES_STATE_DIR: machine.path('.state') } });

test('a disk that fills up in the middle of an import', async () => {
  const disk = smallDisk(300);
  const { code, error, summary, stderr } = await disk.run(SEND);
  expect([code, error?.code], stderr).toEqual([1, 'state']);
  expect(error!.message).toMatch(/cannot record (?:the import )?in .*disk/);
  expect(error!.hint).toMatch(/free some disk space, then resume|check the disk/);
  expect(summary!.status).toBe('stopped');
  expect(summary!.resume).toContain(`profiles resume ${summary!.run} `);
  const { submit } = service.seen;
  expect(submit).toBeGreaterThan(0);
  expect(submit).toBeLessThan(100);
  // The last request may have been accepted without room for its acknowledgement. No other was sent after it.
  expect(submit * 20 - summary!.rows.submitted).toBeLessThanOrEqual(20);

  // Still full, but for what the log took: no more is sent than can be recorded.
  const again = await disk.run('resume');
  expect(again.code, again.stderr).toBe(1);
  expect(service.seen.submit).toBeLessThan(100);

  disk.grow();
  machine.env.PROFILES_STATE_DIR = disk.folder;
  const last = await run('resume');
  expect(last.code, last.stderr).toBe(0);
  await balance(last.summary!, machine, service, file);
  expect(service.ledger.profiles.companies.size).toBe(2_000);
  // One for each disk that was full.
  expect(last.summary!.maybe_sent_twice.length).toBeLessThanOrEqual(2);
});

test('a disk on which stdin has no room: nothing is sent, and nothing of it is left', async () => {
  const disk = smallDisk(300);
  const { code, error, stderr } = await disk.run('import -', { stdin: file.text.repeat(20) });
  expect([code, error?.code, service.connections], stderr).toEqual([1, 'state', 0]);
  expect(error!.message).toMatch(/^cannot keep stdin in .*: E(NOSPC|FBIG)\b/);
  expect(error!.hint).toMatch(/^free some disk space .*--state$/);
  const left = readdirSync(disk.folder, { recursive: true, encoding: 'utf8' });
  expect(left.filter((name) => name.endsWith('stdin'))).toEqual([]);
});

test('a disk that has no room for rejected rows: what was sent is reported, and a resume adds the rest', async () => {
  const disk = smallDisk(1_600);
  const long = 'x'.repeat(3_000);
  machine.write(file.path, `company_id,name\n${rows.map(([id]) => `${id},${long}\n`).join('')}`);
  const refused = JSON.stringify({ errors: [{ error_code: 'invalid', message: 'no such company' }] });
  service.trouble.submit = () => async (exchange) => {
    await exchange.read();
    exchange.reply(422, refused);
  };
  const rejects = join(disk.folder, 'rejects.csv');
  const line = `import ${file.path} --chunk-size 200 -o interval=1ms --on-failure continue --rejects ${rejects}`;
  const { code, error, summary, stderr } = await disk.run(line, elsewhere());
  expect([code, error?.code], stderr).toEqual([1, 'state']);
  expect(error!.message).toMatch(/rejects\.csv: rejected rows cannot be written: E(NOSPC|FBIG)\b/);
  expect(summary!.status).toBe('stopped');
  expect(summary!.resume).toContain(`profiles resume ${summary!.run} `);
  expect(summary!.files[0]!.rejects_file).toBe(rejects);
  const { submit } = service.seen;
  expect(submit).toBeGreaterThan(1);
  expect(submit).toBeLessThan(10);
  // It ends with a whole row, and holds those that are reported as rejected.
  const inFile = (): string[] => {
    const lines = machine.read('disk/rejects.csv').split('\r\n').slice(1, -1);
    for (const line of lines) expect(line).toMatch(/^c-\d+,x{3000},\d+,.*no such company.*,$/);
    return lines.map((line) => line.split(',')[0]!);
  };
  expect(inFile()).toHaveLength(summary!.rows.rejected);
  expect(summary!.rows.rejected).toBe((submit - 1) * 200);
  expect((await machine.runs())[0]).toMatchObject({ run: summary!.run, status: 'stopped' });

  disk.grow();
  const last = await disk.run('resume', elsewhere());
  expect(last.code, last.stderr).toBe(5);
  expect(last.summary!.rows).toMatchObject({ read: 2_000, filtered: 0, rejected: 2_000 });
  expect(inFile()).toEqual(rows.map(([id]) => id));
  expect(readdirSync(disk.folder).sort()).toEqual(['rejects.csv', 'rejects.csv.json']);
});

test('a disk that has no room for a single rejected row keeps nothing of it', async () => {
  const disk = smallDisk(600);
  machine.write(file.path, `company_id,name\n${`,${'x'.repeat(900_000)}\n`.repeat(2)}`);
  const line = `${SEND} --rejects ${join(disk.folder, 'rejects.csv')}`;
  const { code, error, stderr } = await disk.run(line, elsewhere());
  expect([code, error?.code, service.connections], stderr).toEqual([1, 'state', 0]);
  expect(readdirSync(disk.folder)).toEqual([]);
});

test.each([
  [`inspect ${file.path} --write-mapping`, 'map.json'],
  [`import ${file.path} --dry-run --save-plan`, 'plan.json'],
  ['config set region sandbox --config', 'config.json'],
])('a disk that has no room for the file of %s keeps nothing of it', async (line, name) => {
  const disk = smallDisk(4);
  if (statfsSync(disk.folder).blocks > 1) return; // only a disk of its own is that small
  machine.write('disk/all', 'x'.repeat(4_096));
  const path = join(disk.folder, name);
  const { code, stderr } = await machine.start(`${line} ${path}`, elsewhere()).ended;
  const [sentence, hint, ...rest] = stderr.split('\n').filter((text) => !/^\d\d:/.test(text));
  expect([code, sentence], stderr).toEqual([1, `profiles: ${path} cannot be written: the disk is full`]);
  expect([hint, rest]).toEqual(['  make room on the disk, or send the output elsewhere', ['']]);
  expect(readdirSync(disk.folder)).toEqual(['all']);
});

test('a state directory that may not be written to: nothing is sent', async () => {
  const folder = machine.path('state');
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  chmodSync(machine.folder, 0o755);
  onTestFinished(() => chmodSync(folder, 0o755));
  // Root may write anywhere, so the command runs as nobody then.
  if (OTHER !== null) chownSync(folder, OTHER, OTHER);
  const command = OTHER === null ? BIN : copyOfCommand(machine.path('command'));
  const env = { ...machine.env, PROFILES_STATE_DIR: folder };
  const user = OTHER === null ? {} : { uid: OTHER };
  const ended = node([command, ...SEND.split(' '), '--json'], { cwd: machine.folder, env, ...user }).ended;
  const { code, error, stderr } = outcomeOf(await ended);
  expect([code, error?.code, service.connections], stderr).toEqual([1, 'state', 0]);
  expect(error!.message).toContain(folder);
  expect(error!.hint).toMatch(/^check the folder’s owner and permissions, .*--state$/);
});

test('a state directory that is a file', async () => {
  machine.write('state', '');
  const outcome = await run(SEND, { env: { PROFILES_STATE_DIR: machine.path('state') } });
  expect([outcome.code, outcome.error?.code, service.connections], outcome.stderr).toEqual([1, 'state', 0]);
});
