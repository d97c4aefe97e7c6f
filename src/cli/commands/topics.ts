/** Help topics that belong to no single command (contract §2, §3, §7). */
import { Exit } from '../../engine/errors.js';
import { TYPES } from '../../engine/read/index.js';
import { OPTIONS as FAULT_OPTIONS, FAULTS, WHEN_HELP } from '../../sandbox/fault-spec.js';
import { OPTIONS } from '../options/index.js';
import { twoColumns, wrapTo } from '../output/width.js';
import { KEYS, sentence } from '../settings/index.js';
import { settingsPage, WIDTH } from './help-page.js';

export interface Topic {
  name: string;
  summary: string;
  /** The full text, without a line break at the end. */
  text(): string;
}

/** The meaning of each exit code. An exit code without a meaning does not compile. */
const MEANING: Record<keyof typeof Exit, string> = {
  done: 'done',
  unexpected: 'unexpected failure',
  usage: 'usage, config, or input that cannot be read',
  waiting: 'waiting timed out (--wait); the jobs continue',
  unauthorised: 'no token, or the service refused it',
  rejected: 'some rows were rejected, or a job completed fewer rows than it was sent',
  service: 'the service or the network failed after retries; continue with profiles resume',
  jobFailed: 'a job failed',
  busy: 'another import of this account and kind is running',
  held: 'held back by --max-changed; nothing was sent',
  interrupted: 'interrupted by Ctrl-C; continue with profiles resume',
  terminated: 'ended by a signal (SIGTERM); continue with profiles resume',
};

function exitCodes(): string {
  const rows = Object.entries(MEANING).map(
    ([name, meaning]) => [String(Exit[name as keyof typeof Exit]), meaning] as const,
  );
  return `Exit codes

${twoColumns(rows)}

${paragraph(`When several apply, the first of 4, 6, 7, 3, 5 is used. With --json, the last line of
stderr is the error: {"error":{"code","message","hint","status","request_id"}}.`)}

In a script:
  profiles import companies.csv --json > result.json || code=$?
  case \${code:-0} in
    0) ;;
    3|6|130|143) profiles resume ;;
    5) echo "see the rejects file" ;;
    9) echo "more rows have changed than usual: look at the plan" ;;
    *) exit "$code" ;;
  esac`;
}

export const USUAL = [
  ['NO_COLOR, FORCE_COLOR', 'turn color off, or on even in a pipe; --no-color overrides both'],
  ['CI, GITHUB_ACTIONS', 'plain progress; annotations and a step summary in GitHub Actions'],
  ['GITHUB_STEP_SUMMARY', 'file to append the step summary to'],
  ['GITHUB_OUTPUT', 'file to append outputs to: run, rows-submitted, rejects-path, resumable, next, …'],
  ['GITHUB_WORKSPACE', 'folder that paths in annotations are relative to'],
  ['TERM', 'dumb turns off animation and control sequences'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'proxies; never used for loopback'],
  ['NODE_EXTRA_CA_CERTS', 'file of additional certificates to trust'],
  ['XDG_CONFIG_HOME, XDG_STATE_HOME', 'base folders of the config file and the state'],
  ['APPDATA, LOCALAPPDATA', 'the same on Windows'],
] as const;

function environment(): string {
  return `Environment

${twoColumns(OPTIONS.filter(({ env }) => env).map(({ env = '', summary }) => [env, summary] as const))}

Standard variables that are supported:

${twoColumns(USUAL)}

${paragraph(`A flag overrides the environment, and the environment overrides the config file. An empty variable
counts as not set. A region or account chosen by a flag brings its own hosts: PROFILES_BASE_URL and
PROFILES_LOOKUP_BASE_URL are then ignored, with a warning; with --account, PROFILES_TOKEN is ignored
too. profiles config list shows each value and where it came from.`)}`;
}

function config(): string {
  const own = KEYS.filter(({ config }) => !config.startsWith('import.'));
  const rows = own.map((option) => [option.config, sentence(option)] as const);
  return `Config file

${paragraph(`A JSON file: --config, else $PROFILES_CONFIG, else $XDG_CONFIG_HOME/profiles/config.json
(~/.config/profiles/config.json; on Windows %APPDATA%\\profiles\\config.json). It is written with
mode 0600. A file that holds a token and that other users can read is refused.`)}

${twoColumns([...rows, ['import.<key>', 'A setting that profiles help settings marks with C.'], ['accounts.<name>.<key>', 'Any of these for one account, chosen by --account, PROFILES_ACCOUNT, or the key account.']])}

${paragraph(`A flag overrides the environment, the environment overrides the file, and an account's key
overrides the one at the top. The token at the top is not used for a named account. The region
sandbox needs no keys. A host without https:// is taken as https://.`)}

${paragraph(`accounts.<name>.base_url and lookup_base_url are for one region: that in the account's key region,
else in the key region at the top, else default. There, they override the hosts under regions. In
another region, chosen by --region or PROFILES_REGION, they are not used.`)}

${paragraph(`token_command is run when a token is needed and no other one is set: without a shell, with nothing
on stdin, and for at most 60 s. The first line of its output is the token. A program with a slash in
its name is searched for from the folder of the config file, any other one on the PATH. Do not put a
secret into its arguments. A section holds either token or token_command.`)}

  profiles config init                 create it by answering questions
  profiles config list                 each value, and where it came from
  profiles config set token < file     never put a token on the command line
  profiles config set token_command '["pass","show","profiles"]'
  profiles config set regions.eu.base_url https://api.example.com

profiles config --help lists its commands.`;
}

const AUTO = ['auto', 'decided over the whole column, which is the default'] as const;

const DATE_TOKENS: readonly (readonly [token: string, text: string])[] = [
  ['yyyy, yy', 'year; two digits up to 60 are 20xx'],
  ['MM, M, MMM, MMMM', 'month: 03, 3, Mar, March (English)'],
  ['dd, d', 'day: 09, 9'],
  ['EEE, EEEE', 'weekday: Sun, Sunday'],
  ['HH, H, hh, h, a', 'hour up to 23; up to 12 with AM or PM'],
  ['mm, ss, SSS', 'minute, second, digits after the second'],
  ['ZZ', 'offset: +02:00, +0200, Z'],
  ["'T'", 'letters that stand for themselves'],
];

function types(): string {
  return `Types

${paragraph(`A column of a CSV has one type, decided over the whole file: integer, number, or text. Other
types are read where you ask for them, with --type <column>=<type> or in a mapping file. They also apply
to text in JSON. profiles inspect names the columns whose every value would fit one, with the flag to
paste.`)}

${twoColumns([...TYPES.flatMap(({ examples }) => examples), AUTO])}

Tokens of a date pattern:

${twoColumns(DATE_TOKENS)}

${paragraph(`A value that does not fit rejects its row, and the reason names the characters in the way. An empty
cell stays empty. A number with more digits than a double holds exactly is rejected.`)}

Examples:
  profiles import crm.csv --type 'Revenue=money' --type 'Win Rate=percent'
  profiles import crm.csv --type 'Created=datetime:M/d/yyyy H:mm@Asia/Tokyo'`;
}

function faults(): string {
  const what = Object.entries(FAULTS).map(([name, { help }]) => {
    return [name === 'status' ? '<status>' : name, help] as const;
  });
  const options = Object.entries(FAULT_OPTIONS).map(([name, [, help]]) => [name, help] as const);
  return `A fault is <what>:<when>[,<option>…], such as 503:first=3,retry-after=2.

What:
${twoColumns(what)}

When (requests of that kind are counted; for faults of jobs, accepted jobs):
${twoColumns(WHEN_HELP)}

Options:
${twoColumns(options)}`;
}

function formats(): string {
  return `Formats and inputs

${paragraph(`The format is found by the content, then by the file name; --format overrides both. gzip and
zstd (in versions of Node that have it) are unpacked.`)}

${twoColumns([
  ['csv, tsv', 'one row per record, with a header'],
  ['json', 'an array of objects, or a body of the service: {"companies":[...]}'],
  ['ndjson', 'one JSON object per line'],
  ['xlsx', 'one sheet of an Excel workbook; --sheet names it'],
  ['parquet', 'a Parquet file'],
])}

An input is:

${twoColumns([
  ['a file', 'read as it is named, whatever characters its name has'],
  ['-', 'stdin'],
  ['a folder', 'its files of these formats in name order; not its subfolders'],
  ["'exports/**/*.csv'", 'a pattern in quotes: *, ?, [abc], {a,b}, and ** for any folders'],
  ['archive.zip', 'the only file in a zip archive'],
  ['archive.zip:a.csv', 'one of its files'],
  ['https://...', 'a file on a web server; #a.csv after a zip names a file in it'],
])}

${paragraph(`Folders and patterns leave out hidden files and rejects files. Zip members, downloads, and
stdin are copied to the state folder, and stay there until the run has finished: resume reads the
copy. Your token is never sent to a web server. What follows ? in an address may be secret,
so it is not printed or stored. A broken download continues where it stopped if the server allows it.`)}

${paragraph(`Text is UTF-8, or UTF-16 with a byte order mark; --encoding names another encoding, such as
windows-1252. If bytes are not valid, the error shows how the line reads in the likely ones.`)}

  profiles inspect companies.csv       shows format, encoding, and columns
  profiles import exports --dry-run    plans all files of a folder`;
}

export const TOPICS: readonly Topic[] = [
  { name: 'exit-codes', summary: 'what each exit code means', text: exitCodes },
  { name: 'environment', summary: 'environment variables', text: environment },
  { name: 'config', summary: 'where the config file is, its keys, and what overrides them', text: config },
  {
    name: 'settings',
    summary: 'every setting: its unit, its default, and where it may stand',
    text: settingsPage,
  },
  { name: 'types', summary: 'types of columns: numbers, money, percentages, booleans, dates', text: types },
  {
    name: 'faults',
    summary: 'what the sandbox can do wrong: profiles sandbox --fault',
    text: faults,
  },
  { name: 'formats', summary: 'what can be imported, and from where', text: formats },
];

/** Wraps a text. Its own line breaks count as spaces. */
const paragraph = (text: string): string => wrapTo(text.replace(/\s+/g, ' ').trim(), WIDTH).join('\n');
