/**
 * Every command, each way that it can go well and wrong: one table, which the tests of this folder run in every form,
 * with every source of the token, and in terminals. Words in braces stand for what a `Place` holds.
 */
import { Exit, type ExitCode } from '../../src/engine/errors.js';

export interface Invocation {
  /** The command line, as a person types it, without `profiles`. */
  line: string;
  ends: ExitCode;
  /** `--ndjson` is a form of it too. `--json` is one of all. */
  ndjson?: true;
  stdin?: string;
  /** Beyond what points at the service. */
  env?: Readonly<Record<string, string>>;
  /** Of the service, while this runs. */
  faults?: readonly string[];
  /** Ctrl-C has been pressed already. */
  stopped?: true;
  /** What went wrong is its result, on stdout. */
  failsOnStdout?: true;
  /** Its result is text by nature, whatever `--json` says. */
  textOnly?: true;
}

/** A key that the service refuses. */
export const WRONG_TOKEN = 'key-of-somebody-else-0000';
const wrong = { env: { PROFILES_TOKEN: WRONG_TOKEN } };

/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9';

function alsoNdjson(invocations: readonly Invocation[]): Invocation[] {
  return invocations.map((invocation) => ({ ...invocation, ndjson: true }));
}

const importing: Invocation[] = alsoNdjson([
  { line: 'import companies.csv', ends: Exit.done },
  { line: 'import companies.csv users.csv --chunk-size 5', ends: Exit.done },
  { line: 'import - --kind users', ends: Exit.done, stdin: 'user_id,name\nu-9,canary-zq7 Anna\n' },
  { line: 'import users.ndjson --no-wait', ends: Exit.done },
  { line: 'import companies.csv --changed-only', ends: Exit.done },
  { line: 'import companies.csv --changed-only -o refresh_after=168h', ends: Exit.done },
  { line: 'import companies.csv -o refresh_after=168h', ends: Exit.usage },
  { line: 'import companies.csv users.csv --dry-run -o check_properties=true', ends: Exit.done },
  { line: 'import header-only.csv', ends: Exit.done },
  { line: 'import companies.csv --set city=canary-zq7-Town', ends: Exit.done },
  { line: 'import companies.csv --canary 2 --outcomes outcomes.csv', ends: Exit.done },
  { line: 'import companies.csv --canary 2', ends: Exit.jobFailed, faults: ['fail-job:every=1'] },
  { line: 'import companies.csv --outcomes companies.csv', ends: Exit.usage },
  {
    line: 'import companies.csv -o retry_delay=1ms',
    ends: Exit.done,
    faults: ['503:nth=1', 'reset-after:nth=2'],
  },
  { line: 'import invalid.csv', ends: Exit.rejected },
  { line: 'import invalid.csv --dry-run', ends: Exit.rejected },
  { line: 'import invalid.csv --skip-invalid', ends: Exit.rejected },
  { line: 'import companies.csv', ends: Exit.rejected, faults: ['short-job:every=1'] },
  { line: 'import companies.csv', ends: Exit.jobFailed, faults: ['fail-job:every=1'] },
  {
    line: 'import companies.csv --wait 1s',
    ends: Exit.waiting,
    faults: ['stuck-job:every=1'],
  },
  { line: 'import companies.csv', ends: Exit.service, faults: ['422:every=1'] },
  { line: 'import companies.csv -o retries=0', ends: Exit.service, faults: ['500:every=1'] },
  {
    line: 'import - --kind users -o retries=0 --set city=canary-zq7-Town',
    ends: Exit.service,
    stdin: 'user_id,name\nu-9,canary-zq7 Anna\n',
    faults: ['500:every=1'],
  },
  { line: `import companies.csv -o retries=0 --base-url ${NOWHERE}`, ends: Exit.service },
  { line: 'import companies.csv', ends: Exit.unauthorised, ...wrong },
  { line: 'import companies.csv', ends: Exit.interrupted, stopped: true },
  { line: 'import absent.csv', ends: Exit.usage },
  { line: 'import two-quotes.csv', ends: Exit.usage },
  { line: 'import companies.csv --chunk-size none', ends: Exit.usage },
  { line: 'import companies.csv --save-plan saved.json', ends: Exit.done },
  { line: 'import companies.csv --save-plan saved.json --resume', ends: Exit.usage },
  { line: 'apply plan.json', ends: Exit.done },
  { line: 'apply plan.json', ends: Exit.usage, ...wrong },
  { line: 'apply companies.csv', ends: Exit.usage },
  { line: 'apply plan.json -o retries=0', ends: Exit.service, faults: ['500:every=1'] },
  { line: 'resume', ends: Exit.done },
  { line: 'resume {unfinished}', ends: Exit.done },
  { line: 'resume {run}', ends: Exit.usage },
  { line: 'resume', ends: Exit.usage, ...wrong },
  { line: 'resume', ends: Exit.unauthorised, faults: ['401:every=1'] },
]);

const lists: Invocation[] = alsoNdjson([
  { line: 'runs', ends: Exit.done },
  { line: 'runs --filter status=completed --columns run,files', ends: Exit.done },
  { line: 'runs --columns rnu', ends: Exit.usage },
  { line: 'history company c-1', ends: Exit.done },
  { line: 'history user nobody', ends: Exit.done },
  { line: 'history company c-1 --limit few', ends: Exit.usage },
  { line: 'jobs', ends: Exit.done },
  { line: 'jobs --refresh', ends: Exit.done },
  { line: 'jobs --refresh', ends: Exit.unauthorised, faults: ['401:every=1,on=job'] },
  { line: 'jobs --limit few', ends: Exit.usage },
  { line: 'lookups user-properties', ends: Exit.done },
  { line: 'lookups embeds --sort -title --limit 2', ends: Exit.done },
  { line: 'lookups checklists --search no-such-text', ends: Exit.done },
  { line: 'lookups embeds', ends: Exit.unauthorised, ...wrong },
  { line: 'lookups embeds', ends: Exit.service, faults: ['404:every=1,on=lookup'] },
  { line: 'lookups embds', ends: Exit.usage },
  { line: 'config list', ends: Exit.done },
  { line: 'config list --config unreadable.json', ends: Exit.usage },
]);

const others: Invocation[] = [
  { line: 'runs {run}', ends: Exit.done },
  { line: 'runs {run} --report report.html', ends: Exit.done },
  { line: 'runs --forget {run}', ends: Exit.done },
  { line: 'runs 20260101-000000-aaaa', ends: Exit.usage },
  { line: 'job {job}', ends: Exit.done },
  { line: 'job {job} {open} --watch', ends: Exit.done },
  { line: 'job {job} no-such-job', ends: Exit.service },
  { line: 'job {open} --watch --wait 1s', ends: Exit.waiting, faults: ['503:every=1,on=job'] },
  { line: 'job {failed} --watch', ends: Exit.jobFailed },
  { line: 'job {job} -o interval=1s', ends: Exit.usage },
  { line: 'job {job}', ends: Exit.unauthorised, ...wrong },
  { line: 'identify company c-100 --set motto=canary-zq7-lore', ends: Exit.done },
  { line: 'identify user u-100 --company c-100 --set motto=canary-zq7-lore', ends: Exit.done },
  { line: 'identify user u-100 --no-wait', ends: Exit.done },
  { line: 'identify user u-100', ends: Exit.jobFailed, faults: ['fail-job:every=1'], failsOnStdout: true },
  { line: 'identify company c-100', ends: Exit.service, faults: ['400:every=1,on=identify'] },
  { line: 'identify company c-100', ends: Exit.unauthorised, ...wrong },
  { line: 'identify company c-100 --metadata []', ends: Exit.usage },
  { line: 'inspect companies.csv users.csv', ends: Exit.done },
  {
    line: 'inspect - --format csv',
    ends: Exit.done,
    stdin: 'user_id,name\nu-9,canary-zq7 Anna\nu-9,canary-zq7 Anna\n,canary-zq7\n',
  },
  { line: 'inspect companies.csv --write-mapping mapping.json', ends: Exit.done },
  { line: 'inspect two-quotes.csv', ends: Exit.usage },
  { line: 'config init --region sandbox', ends: Exit.done },
  { line: 'config init --region eu --base-url ftp://files.example.com', ends: Exit.usage },
  { line: 'config get region', ends: Exit.done },
  { line: 'config get import.chunk_size', ends: Exit.usage },
  { line: 'config set region eu', ends: Exit.done },
  { line: 'config set token', ends: Exit.done, stdin: 'key-7f3b91c2d4e8a6054\n' },
  { line: 'config set token', ends: Exit.usage, stdin: '' },
  { line: `config set token ${WRONG_TOKEN}`, ends: Exit.usage },
  { line: 'config unset region', ends: Exit.done },
  { line: 'config unset regoin', ends: Exit.usage },
  { line: 'config path', ends: Exit.done },
  { line: 'config lst', ends: Exit.usage },
  { line: 'doctor', ends: Exit.done },
  { line: 'doctor', ends: Exit.unauthorised, ...wrong, failsOnStdout: true },
  { line: `doctor --base-url ${NOWHERE}`, ends: Exit.service, failsOnStdout: true },
  { line: 'state info', ends: Exit.done },
  { line: 'state check', ends: Exit.done },
  { line: 'state migrate --to sqlite:elsewhere', ends: Exit.done },
  { line: 'state migrate', ends: Exit.usage },
  { line: 'state migrate --to mysql://db/profiles', ends: Exit.usage },
  { line: 'state backup copy.db', ends: Exit.done },
  { line: 'state backup companies.csv', ends: Exit.usage },
  { line: 'state inof', ends: Exit.usage },
  { line: 'sandbox --port 0 --lookup-port 0 --eu-port 0 --memory', ends: Exit.done, stopped: true },
  { line: 'sandbox --fault 503:sometimes', ends: Exit.usage },
  { line: 'sandbox list companies', ends: Exit.done },
  { line: 'sandbox list planets', ends: Exit.usage },
  { line: 'sandbox show company acme-001', ends: Exit.done },
  { line: 'sandbox show company nobody', ends: Exit.usage },
  { line: 'sandbox reset', ends: Exit.done },
  { line: 'completion bash', ends: Exit.done },
  { line: 'completion tcsh', ends: Exit.usage },
  { line: 'help', ends: Exit.done },
  { line: 'help import', ends: Exit.done },
  { line: 'help exit-codes', ends: Exit.done },
  { line: 'help formats', ends: Exit.done },
  { line: 'help nothing', ends: Exit.usage },
  { line: '', ends: Exit.done, textOnly: true },
  { line: '--version', ends: Exit.done, textOnly: true },
  { line: 'import --help', ends: Exit.done, textOnly: true },
  { line: '--no-such-flag', ends: Exit.usage },
  { line: 'imprt companies.csv', ends: Exit.usage },
];

export const INVOCATIONS: readonly Invocation[] = [...importing, ...lists, ...others];
