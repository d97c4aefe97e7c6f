/** A disk that is full, and one that cannot be written to: sending stops at once, and a resume loses nothing (contract §4). */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { BIN, built, type Ended, node, profiles } from '../support/child.js';
import { FaultServer } from '../support/fault-server.js';
import { copyOfCommand, OTHER } from '../support/other-user.js';
import { balance, type Companies, Machine } from './support.js';

const rows = Array.from({ length: 2_000 }, (_, i) => [`c-${i}`, `Company ${i}`]);
const file: Companies = {
  path: 'companies.csv',
  ids: new Map(rows.map(([id], i) => [i + 2, id!])),
  text: `company_id,name\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
};
/** A hundred requests of twenty. */
const SEND = ['import', file.path, '--chunk-size', '20', '-o', 'interval=1ms', '--json'];

let service: FaultServer;
let machine: Machine;
beforeAll(built);
beforeEach(async () => {
  service = await new FaultServer().start();
  machine = new Machine(service.url);
  machine.write(file.path, file.text);
});
afterEach(() => service.stop());

/**
 * A state directory on a disk of so many KiB: a tmpfs of its own where this user may mount one, else a limit to
 * the size of the files that the command may write.
 */
function smallDisk(kib: number): {
  folder: string;
  run(argv: string[], stdin?: string, env?: Record<string, string>): Promise<Ended>;
  grow(): void;
} {
  const folder = join(machine.folder, 'disk');
  mkdirSync(folder, { mode: 0o700 });
  const start = (
    argv: string[],
    { env, ...more }: { stdin: string; fileKib?: number; env: Record<string, string> | undefined },
  ): Promise<Ended> => {
    const all = { ...machine.env, PROFILES_STATE_DIR: folder, ...env };
    return profiles(argv, { cwd: machine.folder, env: all, ...more }).ended;
  };
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k,mode=700`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
  } catch {
    let limit: number | null = kib;
    return {
      folder,
      run: (argv, stdin = '', env) =>
        start(argv, limit === null ? { stdin, env } : { stdin, env, fileKib: limit }),
      grow: () => {
        limit = null;
      },
    };
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  return {
    folder,
    run: (argv, stdin = '', env) => start(argv, { stdin, env }),
    grow: () => void execFileSync('mount', ['-o', 'remount,size=50m', folder]),
  };
}

test('a disk that fills up in the middle of an import', async () => {
  const disk = smallDisk(300);
  const full = await disk.run(SEND);
  expect(full.code, full.stderr).toBe(1);
  const error = JSON.parse(full.stderr.trimEnd().split('\n').at(-1)!) as { error: Record<string, string> };
  expect(error.error.code).toBe('state');
  expect(error.error.message).toMatch(/cannot record (?:the import )?in .*disk/);
  expect(error.error.hint).toMatch(/free some disk space, then resume|check the disk/);
  const summary = JSON.parse(full.stdout);
  expect(summary).toMatchObject({
    status: 'stopped',
    resume: expect.stringContaining(`profiles resume ${summary.run} `),
  });
  const { submit } = service.seen;
  expect(submit).toBeGreaterThan(0);
  expect(submit).toBeLessThan(100);
  // The last request may have been accepted without room for its acknowledgement. No other was sent after it.
  expect(submit * 20 - summary.rows.submitted).toBeLessThanOrEqual(20);

  // Still full, but for what the log took: no more is sent than can be recorded.
  const again = await disk.run(['resume', '--json']);
  expect(again.code, again.stderr).toBe(1);
  expect(service.seen.submit).toBeLessThan(100);

  disk.grow();
  machine.env.PROFILES_STATE_DIR = disk.folder;
  const last = await machine.run(['resume']);
  expect(last.code, last.stderr).toBe(0);
  await balance(last.summary!, machine, service, file);
  expect(service.ledger.profiles.companies.size).toBe(2_000);
  // One for each disk that was full.
  expect(last.summary!.maybe_sent_twice.length).toBeLessThanOrEqual(2);
});

test('a disk on which stdin has no room: nothing is sent, and nothing of it is left', async () => {
  const disk = smallDisk(200);
  const ended = await disk.run(['import', '-', '--json'], file.text.repeat(20));
  const { error } = JSON.parse(ended.stderr.trimEnd().split('\n').at(-1)!);
  expect([ended.code, error.code], ended.stderr).toEqual([1, 'state']);
  expect(error.message).toMatch(/^cannot keep stdin in .*: E(NOSPC|FBIG)\b/);
  expect(error.hint).toMatch(/^free some disk space .*--state$/);
  expect(service.connections).toBe(0);
  const left = readdirSync(disk.folder, { recursive: true, encoding: 'utf8' });
  expect(left.filter((name) => name.endsWith('stdin'))).toEqual([]);
});

test('a disk that has no room for rejected rows: what was sent is reported, and a resume adds the rest', async () => {
  const disk = smallDisk(1_600);
  const long = 'x'.repeat(3_000);
  machine.write(file.path, `company_id,name\n${rows.map(([id]) => `${id},${long}\n`).join('')}`);
  const refused = JSON.stringify({ errors: [{ error_code: 'invalid', message: 'no such company' }] });
  service.trouble = {
    submit: () => async (exchange) => {
      await exchange.read();
      exchange.reply(422, refused);
    },
  };
  const rejects = join(disk.folder, 'rejects.csv');
  const env = { PROFILES_STATE_DIR: join(machine.folder, '.state') };
  const full = await disk.run(
    [...SEND, '--chunk-size', '200', '--on-failure', 'continue', '--rejects', rejects],
    '',
    env,
  );
  expect(full.code, full.stderr).toBe(1);
  const { error } = JSON.parse(full.stderr.trimEnd().split('\n').at(-1)!);
  expect(error.code).toBe('state');
  expect(error.message).toMatch(/rejects\.csv: rejected rows cannot be written: E(NOSPC|FBIG)\b/);
  const summary = JSON.parse(full.stdout);
  expect(summary).toMatchObject({
    status: 'stopped',
    resume: expect.stringContaining(`profiles resume ${summary.run} `),
  });
  expect(summary.files[0].rejects_file).toBe(rejects);
  const { submit } = service.seen;
  expect(submit).toBeGreaterThan(1);
  expect(submit).toBeLessThan(10);
  // It ends with a whole row, and holds those that are reported as rejected.
  const inFile = (): string[] =>
    readFileSync(rejects, 'utf8')
      .split('\r\n')
      .slice(1, -1)
      .map((line) => {
        expect(line).toMatch(/^c-\d+,x{3000},\d+,.*no such company.*,$/);
        return line.split(',')[0]!;
      });
  expect(inFile()).toHaveLength(summary.rows.rejected);
  expect(summary.rows.rejected).toBe((submit - 1) * 200);
  expect((await machine.runs())[0]).toMatchObject({ run: summary.run, status: 'stopped' });

  disk.grow();
  const last = await disk.run(['resume', '--json'], '', env);
  expect(last.code, last.stderr).toBe(5);
  expect(JSON.parse(last.stdout).rows).toMatchObject({ read: 2_000, filtered: 0, rejected: 2_000 });
  expect(inFile()).toEqual(rows.map(([id]) => id));
  expect(readdirSync(disk.folder).sort()).toEqual(['rejects.csv', 'rejects.csv.json']);
});

test('a disk that has no room for a single rejected row keeps nothing of it', async () => {
  const disk = smallDisk(600);
  const rejects = join(disk.folder, 'rejects.csv');
  machine.write(file.path, `company_id,name\n${`,${'x'.repeat(900_000)}\n`.repeat(2)}`);
  const env = { PROFILES_STATE_DIR: join(machine.folder, '.state') };
  const ended = await disk.run([...SEND, '--rejects', rejects], '', env);
  const { error } = JSON.parse(ended.stderr.trimEnd().split('\n').at(-1)!);
  expect([ended.code, error.code, service.connections], ended.stderr).toEqual([1, 'state', 0]);
  expect(readdirSync(disk.folder)).toEqual([]);
});

test.each([
  [['inspect', file.path, '--write-mapping'], 'map.json'],
  [['import', file.path, '--dry-run', '--save-plan'], 'plan.json'],
  [['config', 'set', 'region', 'sandbox', '--config'], 'config.json'],
])('a disk that has no room for the file of %j keeps nothing of it', async (argv, name) => {
  const disk = smallDisk(4);
  if (statfsSync(disk.folder).blocks > 1) return; // only a disk of its own is that small
  writeFileSync(join(disk.folder, 'all'), 'x'.repeat(4_096));
  const path = join(disk.folder, name);
  const state = { PROFILES_STATE_DIR: join(machine.folder, '.state') };
  const { code, stderr } = await disk.run([...argv, path], '', state);
  const [sentence, hint, ...rest] = stderr.split('\n').filter((line) => !/^\d\d:/.test(line));
  expect([code, sentence], stderr).toEqual([1, `profiles: ${path} cannot be written: the disk is full`]);
  expect([hint, rest]).toEqual(['  make room on the disk, or send the output elsewhere', ['']]);
  expect(readdirSync(disk.folder)).toEqual(['all']);
});

test('a state directory that may not be written to: nothing is sent', async () => {
  const folder = join(machine.folder, 'state');
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  chmodSync(machine.folder, 0o755);
  onTestFinished(() => chmodSync(folder, 0o755));
  // Root may write anywhere, so the command runs as nobody then.
  if (OTHER !== null) chownSync(folder, OTHER, OTHER);
  const env = { ...machine.env, PROFILES_STATE_DIR: folder };
  const command = OTHER === null ? BIN : copyOfCommand(join(machine.folder, 'command'));
  const ended = await node([command, ...SEND], {
    cwd: machine.folder,
    env,
    ...(OTHER !== null && { uid: OTHER }),
  }).ended;
  const { error } = JSON.parse(ended.stderr.trimEnd().split('\n').at(-1)!);
  expect([ended.code, error.code], ended.stderr).toEqual([1, 'state']);
  expect(error.message).toContain(folder);
  expect(error.hint).toMatch(/^check the folder’s owner and permissions, .*--state$/);
  expect(service.connections).toBe(0);
});

test('a state directory that is a file', async () => {
  const folder = join(machine.folder, 'state');
  writeFileSync(folder, '');
  onTestFinished(() => rmSync(folder));
  const outcome = await machine.run(SEND.slice(0, -1), { env: { PROFILES_STATE_DIR: folder } });
  expect([outcome.code, outcome.error?.code, service.connections], outcome.stderr).toEqual([1, 'state', 0]);
});
