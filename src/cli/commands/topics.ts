/** Help about what no single command owns: exit codes, environment, config file (contract §2, §7). */
import { Exit } from '../../engine/errors.js';
import { OPTIONS } from '../options/index.js';
import { KEYS, sentence } from '../settings/keys.js';

export interface Topic {
  name: string;
  summary: string;
  /** The whole text, without a line end. */
  text(): string;
}

/** One meaning for each code there is: a code without one does not compile. */
export const MEANING: Record<keyof typeof Exit, string> = {
  done: 'done',
  unexpected: 'unexpected failure',
  usage: 'usage, config or input that cannot be read',
  waiting: 'waiting timed out (--wait-timeout); the jobs continue',
  unauthorised: 'there is no token, or it was refused',
  rejected: 'some rows were rejected, or are short in a job',
  service: 'the service or the network failed after retries; continue with profiles resume',
  jobFailed: 'a job failed',
  busy: 'another import of this account and kind is running',
  interrupted: 'interrupted by Ctrl-C; continue with profiles resume',
  terminated: 'ended by a signal (SIGTERM); continue with profiles resume',
};

function exitCodes(): string {
  const rows = Object.entries(MEANING).map(
    ([name, meaning]) => [String(Exit[name as keyof typeof Exit]), meaning] as const,
  );
  return `Exit codes

${twoColumns(rows)}

${paragraph(`Where several apply, the first of 4, 6, 7, 3, 5 is given. With --json, the last line of
stderr is the error: {"error":{"code","message","hint","status","request_id"}}.`)}

In a script:
  profiles import companies.csv --json > result.json || code=$?
  case \${code:-0} in
    0) ;;
    3|6|130|143) profiles resume ;;
    5) echo "see the rejects file" ;;
    *) exit "$code" ;;
  esac`;
}

export const USUAL = [
  ['NO_COLOR, FORCE_COLOR', 'no color at all; color in a pipe too. --no-color goes before both'],
  ['CI, GITHUB_ACTIONS', 'plain progress; annotations and a step summary in GitHub Actions'],
  ['GITHUB_STEP_SUMMARY', 'the file that the step summary is added to'],
  ['GITHUB_WORKSPACE', 'the folder that paths in annotations count from'],
  ['TERM', 'dumb: no animation and no control sequence'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'proxies. Loopback never goes through one'],
  ['NODE_EXTRA_CA_CERTS', 'a file with certificates to trust besides the built-in ones'],
  ['XDG_CONFIG_HOME, XDG_STATE_HOME', 'where the config file and the state are by default'],
  ['APPDATA, LOCALAPPDATA', 'the same on Windows'],
] as const;

function environment(): string {
  return `Environment

${twoColumns(OPTIONS.filter(({ env }) => env).map(({ env = '', summary }) => [env, summary] as const))}

Usual ones that are supported:

${twoColumns(USUAL)}

${paragraph(`A flag goes before the environment, the environment before the config file. A variable that is
set to nothing counts as absent. A region or account chosen by a flag brings its own hosts:
PROFILES_BASE_URL and PROFILES_LOOKUP_BASE_URL are then ignored, with a warning; with --account
PROFILES_TOKEN too. profiles config list shows what is in effect, and from where.`)}`;
}

function config(): string {
  const rows = KEYS.map((option) => [option.config, sentence(option)] as const);
  return `Config file

${paragraph(`It is JSON, at --config, else $PROFILES_CONFIG, else $XDG_CONFIG_HOME/profiles/config.json
(~/.config/profiles/config.json; on Windows %APPDATA%\\profiles\\config.json). It is written with
mode 0600; one that holds a token and that others can read is refused.`)}

${twoColumns([...rows, ['accounts.<name>.<key>', 'Any of these for one account, chosen by --account, PROFILES_ACCOUNT or the key account.']])}

${paragraph(`A flag goes before the environment, the environment before the file, an account's key before
the one at the top. The token at the top is not used for a named account. The region sandbox
needs no key at all.`)}

  profiles config init                 write it, asking at a terminal
  profiles config list                 each value, and where it came from
  profiles config set token < file     a token never stands on the command line
  profiles config set regions.eu.base_url https://api.example.com

profiles config --help shows all its commands.`;
}

export const TOPICS: readonly Topic[] = [
  { name: 'exit-codes', summary: 'what each exit code means', text: exitCodes },
  { name: 'environment', summary: 'the variables that are read', text: environment },
  { name: 'config', summary: 'the config file: its place, its keys, and what goes before it', text: config },
];

const WIDTH = 80;

/** A text as lines; the line breaks that it has count as spaces. */
const paragraph = (text: string): string => wrap(text.replace(/\s+/g, ' ').trim(), WIDTH).join('\n');

/** Terms on the left, padded to the longest; a long description goes on below itself. */
export function twoColumns(rows: readonly (readonly [term: string, text: string])[]): string {
  const left = Math.max(...rows.map(([term]) => term.length)) + 2;
  const indent = `\n${' '.repeat(left + 2)}`;
  return rows
    .map(([term, text]) => `  ${term.padEnd(left)}${wrap(text, WIDTH - left - 2).join(indent)}`)
    .join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
