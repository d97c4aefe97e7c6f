/** The built command is killed right before and right after its commits: a resume brings everything there, once. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { built } from '../support/child.js';
import { COMPLETED, FaultServer, type Trouble } from '../support/fault-server.js';
import { onPostgres } from '../support/state.js';
import { Machine, type Outcome } from '../support/workspace.js';
import { FAULTS, fates, status } from './faults.js';
import {
  balance,
  type Companies,
  crashAt,
  elevenCompanies,
  resumeToTheEnd,
  submittedIn,
  type Told,
} from './support.js';

beforeAll(built);

interface Case {
  name: string;
  file: Companies;
  flags: string;
  trouble(service: FaultServer): Trouble;
  /** Which commits: from this one, each so many. Until one that the import does not reach. */
  from: number;
  step: number;
  /** The import has more commits than these. */
  commits: number;
  /** How the last command ends, and what it counts. */
  exit: number;
  rows: object;
  /** Ids that are rejected. */
  rejected: string[];
  /** What is reported as submitted is not sent again. Not so where rows at fault are looked for. */
  once: boolean;
}

const companies = (ids: readonly string[], names = ids): Companies => ({
  path: 'companies.csv',
  ids: new Map(ids.map((id, i) => [i + 2, id])),
  text: `company_id,name\n${ids.map((id, i) => `${id},"${names[i]}"\n`).join('')}`,
});
const names = ['one', 'one, renamed', 'nobody', 'two', 'three', 'four', 'five'];

/** Everything that is recorded: invalid rows, duplicates, a refused request, one that is too large, a lost answer. */
const everything: Omit<Case, 'name' | 'from' | 'step' | 'commits'> = {
  // Two to a request, but for the row that is invalid.
  file: companies(['c-0', 'c-0', '', 'refused', 'c-1', 'large', 'lost'], names),
  flags: '--chunk-size 2 --skip-invalid --on-failure continue -o retry_delay=1ms',
  trouble: () => {
    let lost = 0;
    return {
      submit: () => async (exchange) => {
        const { ids } = await exchange.read();
        if (ids.includes('refused')) return status(422)(exchange);
        if (ids.includes('large') && ids.length > 1) return status(413)(exchange);
        if (ids.includes('lost') && lost++ === 0) return FAULTS['reset after acceptance'](exchange);
        return exchange.acknowledge();
      },
    };
  },
  exit: 5,
  rows: { read: 7, filtered: 0, rejected: 3, merged: 1, submitted: 3 },
  rejected: ['', 'refused', 'c-1'],
  once: true,
};
const plain = { trouble: () => ({}), exit: 0, rejected: [], once: true };
const eleven = { ...plain, file: elevenCompanies(), rows: { read: 12, merged: 1, submitted: 11 } };

const CASES: Case[] = [
  { ...everything, name: 'odd commits', from: 1, step: 2, commits: 20 },
  { ...everything, name: 'even commits', from: 2, step: 2, commits: 20 },
  {
    ...eleven,
    name: 'without waiting for jobs',
    flags: '--chunk-size 4 --no-wait',
    from: 1,
    step: 1,
    commits: 8,
  },
  {
    name: 'a search for a row at fault',
    file: companies(['a', 'b', 'c', 'd', 'bad', 'e', 'f']),
    flags: '--chunk-size 3 --on-failure isolate -o retry_delay=1ms',
    trouble: ({ ledger }) => ({
      fate: (job) =>
        ledger.arrivals.filter(({ accepted }) => accepted)[job - 1]!.ids.includes('bad')
          ? fates.failed
          : COMPLETED,
    }),
    from: 8,
    step: 3,
    commits: 30,
    exit: 5,
    rows: { read: 7, rejected: 1, submitted: 6, completed: 6 },
    rejected: ['bad'],
    once: false,
  },
];
/** More than any import has. */
const ENOUGH = 80;

const machineOf = async ({ file, trouble }: Pick<Case, 'file' | 'trouble'>) => {
  const service = await new FaultServer().start();
  onTestFinished(() => service.stop());
  service.trouble = trouble(service);
  const machine = new Machine(service.url);
  machine.write(file.path, file.text);
  return { service, machine };
};

interface Killed {
  /** Requests before its death, or null if it did not die. */
  arrived: number | null;
  /** Events of requests that it reported as submitted. */
  told: number;
}

/** Kills an import, and holds against the ledger what a user gets who then goes on. */
async function killAt(at: string, given: Omit<Case, 'from' | 'step' | 'commits'>): Promise<Killed> {
  const { service, machine } = await machineOf(given);
  const send = `import ${given.file.path} ${given.flags} -o interval=1ms`;
  const killed = await machine.start(`${send} --ndjson`, { env: crashAt(at) }).ended;
  expect(killed, at).toMatchObject(killed.signal ? { signal: 'SIGKILL' } : { code: given.exit });
  const arrived = service.ledger.arrivals.length;
  const last = await resumeToTheEnd(machine, await goOn(machine, send, given.exit));
  expect(last.code, `${at}\n${last.stderr}`).toBe(given.exit);
  const { summary } = last;
  if (given.once) await balance(summary!, machine, service, given.file);
  expect(summary!.rows, at).toMatchObject(given.rows);
  expect(summary!.rows.unsent).toBeUndefined();
  const good = new Set([...given.file.ids.values()].filter((id) => !given.rejected.includes(id)));
  for (const id of good) expect(service.ledger.profiles.companies.has(id), `${at}: ${id}`).toBe(true);
  if (given.file === everything.file)
    expect(service.held('companies', 'c-0')).toEqual({ name: 'one, renamed' });
  // The file that the report names holds every rejected row.
  const rejects = summary!.files[0]!.rejects_file;
  const lines = rejects ? machine.read(rejects).trimEnd().split('\r\n').slice(1) : [];
  expect(new Set(lines.map((line) => line.split(',')[0])), at).toEqual(new Set(given.rejected));
  const told = submittedIn(killed);
  if (given.once) notAgain(told, given.file, service, arrived, at);
  await service.stop();
  return { arrived: killed.signal === null ? null : arrived, told: told.length };
}

/** What a killed process has reported does not arrive again. @param arrived requests before that */
function notAgain(
  told: readonly Told[],
  file: Companies,
  service: FaultServer,
  arrived: number,
  at: string,
): void {
  const again = new Set(service.ledger.arrivals.slice(arrived).flatMap(({ ids }) => ids));
  for (const { first_line, last_line } of told) {
    const ids = [...file.ids].filter(
      ([line, id]) => first_line <= line && line <= last_line && again.has(id),
    );
    expect(ids, `${at}: reported as submitted, and sent again`).toEqual([]);
  }
}

/** What a user does: resume if there is something to resume, else look whether it was done, else import. */
async function goOn(machine: Machine, send: string, exit: number): Promise<Outcome> {
  const [run] = await machine.runs();
  if (run?.resume) return machine.run('resume');
  return run ? { code: exit, summary: run.summary, error: null, stderr: '' } : machine.run(send);
}

test.for(CASES)('killed right before and after commits: $name', { timeout: 600_000 }, async (given) => {
  for (const moment of ['before', 'after']) {
    let nth = given.from;
    let told = 0;
    for (;;) {
      const killed = await killAt(`${moment}:${nth}`, given);
      if (killed.arrived === null) break;
      told += killed.told;
      nth += given.step;
      expect(nth, 'commits of an import').toBeLessThan(ENOUGH);
    }
    expect(nth, 'commits of an import').toBeGreaterThan(given.commits);
    expect(told, 'requests reported as submitted before a kill').toBeGreaterThan(3);
  }
});

/** A run that rejected a row, and had one refused, sends the latter again, and is killed. @returns whether it was */
async function killRetry(at: string): Promise<boolean> {
  const { service, machine } = await machineOf(everything);
  const first = await machine.run(`import companies.csv ${everything.flags} -o interval=1ms`);
  const { run, files } = first.summary!;
  service.trouble = {};
  const { signal } = await machine.start(`resume ${run} --failed`, { env: crashAt(at) }).ended;
  const requests = await machine.requests(run!);
  const again = new Set(requests.map(({ parent }) => parent));
  const refused = requests.filter(({ state, seq }) => state === 'rejected' && !again.has(seq));
  const inFile = machine.read(files[0]!.rejects_file!);
  for (const { first_line } of refused) expect(inFile, at).toContain(everything.file.ids.get(first_line));
  await service.stop();
  return signal !== null;
}

test('killed at commits of resume --failed: the rejects file has the rows that count as rejected', {
  timeout: 600_000,
}, async () => {
  let nth = 1;
  for (; await killRetry(`before:${nth}`); nth++) expect(nth, 'commits of a resume').toBeLessThan(ENOUGH);
  expect(nth).toBeGreaterThan(5);
});

test.skipIf(onPostgres)(
  'a backup that is taken in the middle of an import, and restored in place of a lost state, names what was in flight',
  async () => {
    const { service, machine } = await machineOf(eleven);
    let backup: { code: number | null; stderr: string } | undefined;
    service.during(2, async () => {
      backup = await machine.start('state backup copy.db').ended;
      child.kill('SIGKILL');
    });
    const child = machine.start('import companies.csv --chunk-size 4 -o interval=1ms');
    expect((await child.ended).signal).toBe('SIGKILL');
    expect(backup?.code, backup?.stderr).toBe(0);
    service.trouble = {};
    mkdirSync(machine.path('restored'), { mode: 0o700 });
    copyFileSync(machine.path('copy.db'), machine.path('restored/state.db'));
    machine.env.PROFILES_STATE_DIR = machine.path('restored');
    const last = await machine.run('resume');
    expect(last.code, last.stderr).toBe(0);
    expect(last.summary!.maybe_sent_twice).toMatchObject([{ first_line: 6, last_line: 9, rows: 4 }]);
    await balance(last.summary!, machine, service, eleven.file);
    expect(service.seen.submit).toBe(4);
  },
);
