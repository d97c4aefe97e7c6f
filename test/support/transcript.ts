/**
 * Transcripts: pages (`page.ts`) whose sections are sessions at a shell in a folder of its own. `profiles` runs in this
 * process, everything else in `sh`.
 *
 * Blocks named `<language> <file>` are written to that file; those above the first section are there in every section.
 * `profiles sandbox … &` serves from then on, on one port for a section, at `<base>`, `<lookups>` and `<eu>`; `sleep 2h`
 * lets time pass; `^C` at the end has been pressed already; `TYPED='y\n'` is what somebody at a terminal types. `<run>` and `<job>` are the ids that were printed
 * last, and `[5]` an exit code. A section may have variables (`<!-- env: … -->`), and real time (`<!-- clock: real -->`). `sum` leaves of what an import says how it ended, and what is wrong.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { systemClock } from '../../src/engine/util/clock.js';
import { printedJson } from './child.js';
import { cli, scratch, typing } from './cli.js';
import { fastClock } from './clock.js';
import { type Block, page, type Session, said } from './page.js';
import { freePort } from './postgres.js';
import { onOneLine } from './printed.js';
import { sh, shellWords } from './sh.js';

const FIXTURES = join(import.meta.dirname, '../../fixtures');
const SUM =
  "grep -e '^[✓✗!]' -e '^  rows' -e '^  requests' -e warning -e '^profiles:' | grep -v 'later rows win'";
/** `sql <text>` changes the state behind the program's back. */
const SQL = `'${process.execPath}' -e 'const { DatabaseSync } = require(process.argv[1]); new DatabaseSync(".state/state.db").exec(process.argv[2])' '${createRequire(import.meta.url).resolve('@photostructure/sqlite')}' "$1"`;
const PRELUDE = `FIXTURES='${FIXTURES}'; export FIXTURES; sum() { ${SUM}; }; sql() { ${SQL}; };`;

const DAYS = 20 * 86_400_000;
const recent = (time: string): boolean => Math.abs(Date.parse(time) - Date.now()) < DAYS;

/** Ids, times and ports differ from run to run. */
const masked = (text: string, folder: string): string =>
  text
    .replaceAll(folder, '~')
    .replaceAll(/ --state ~\/\.state|PROFILES_STATE_DIR=~\/\.state /g, '')
    .replace(/(^|\]: )\d\d:\d\d:\d\d (?:(?:sending|following|planning) \w+ [\d,]+|jobs?:) .*\n/gm, '$1')
    .replace(/(^|\]: )\d\d:\d\d:\d\d /gm, '$1')
    .replace(/\(digest [0-9a-f]{64}\)/g, '(digest <hash>)')
    .replace(/\btoken:[0-9a-f]{16}\b/g, 'token:<hash>')
    .replace(/\bNode \d+\.\d+\.\d+/g, 'Node <version>')
    .replace(/[\d.]+ [KMGT]iB free/g, '<size> free')
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:(?:\.\d{3})?Z| UTC)/g, (time) =>
      recent(time) ? '<time>' : time,
    )
    .replace(/(\bafter |accepted in |early \()(?:[\d.]+m?s|\d+m \d\ds|\d+h \d\dm)\b/g, '$1<duration>')
    .replace(/(x-request-id |"request_id":")[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '$1<id>')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .replace(/(<port>\/|TOKEN=|"token": ")[\w-]{24,}/g, '$1<key>')
    .replace(/urn:profiles:job:\w+\/[\w-]+/g, '<job>')
    .replace(/urn%3Aprofiles%3Ajob%3A\w+%2F[\w-]+/g, '<job>')
    .replace(/\b\d{8}T\d{6}Z-\d+\.json/g, '<time>.json')
    .replace(/(elapsed_\w+"?:? +)[\d.]+/g, '$1<duration>')
    .replace(/\b20[2-9]\d{5}-\d{6}-\w{4}/g, '<run>')
    .replace(/\u001b\[[\d;?]*[A-Za-z]/g, '')
    .replace(/^.*\r(?=.)/gm, '');

/** A shell whose `profiles` is the program in this process. */
class Shell implements Session {
  readonly folder = scratch();
  #cwd = this.folder;
  #env: Record<string, string>;
  #port = 0;
  #serving: { stop: AbortController; ended: Promise<unknown> } | undefined;
  /** What stands in a line as `<run>`, and so on. */
  #known: Record<string, string> = {};

  constructor(
    env: Record<string, string>,
    readonly clock: ReturnType<typeof fastClock>,
  ) {
    this.#env = { HOME: this.folder, PROFILES_STATE_DIR: join(this.folder, '.state'), ...env };
  }

  write({ file, text }: Block): void {
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o600 });
  }

  /** What a line prints, and its exit code if that is not 0. */
  async type(typed: string): Promise<string> {
    return masked(await this.#run(typed), this.folder);
  }

  async #run(typed: string): Promise<string> {
    const line = typed.replace(/<(run|job|base|lookups|eu)>/g, (_, name: string) => this.#known[name] ?? '');
    // Operators of the shell are not in quotes.
    const bare = line.replace(/'[^']*'|"[^"]*"/g, (quoted) => '_'.repeat(quoted.length));
    const [, passes] = /^sleep (-?\d+(?:\.\d+)?)h$/.exec(line) ?? [];
    if (passes) {
      this.clock.pass(Number(passes) * 3_600_000);
      return '';
    }
    if (line.startsWith('cd ')) {
      this.#cwd = resolve(this.folder, line.slice(3));
      return '';
    }
    const at = /(?:^|\| )((?:[A-Za-z_]+=\S* )*profiles)(?: |$)/.exec(bare);
    if (!at) return this.#shell(line);
    const before = at.index > 0 || bare.startsWith('| ') ? line.slice(0, at.index) : '';
    const rest = line.slice(before === '' ? 0 : before.length + 2);
    const end = bare.slice(line.length - rest.length).search(/ (?:[|<>&^]|2>&1)/);
    const [command, after] = end < 0 ? [rest, ''] : [rest.slice(0, end), rest.slice(end + 1)];
    const more = after.replace(/^\^C ?/, '');
    const words = shellWords(command);
    const first = words.indexOf('profiles');
    const env = Object.fromEntries(
      words.slice(0, first).map((word) => word.replace('=~/', `=${this.folder}/`).split(/=(.*)/s, 2)),
    );
    const argv = words.slice(first + 1);
    if (more === '&') return this.#serve(argv, env);
    const stdin = more.startsWith('< ')
      ? readFileSync(join(this.#cwd, more.slice(2)))
      : before && (await sh(before, { cwd: this.#cwd })).stdout;
    const { code, text, stdout, stderr } = await this.#profiles(argv, env, stdin, more !== after);
    const both = more.startsWith('2>&1 ');
    let shown = text;
    if (both) shown = await this.#shell(`cat ${more.slice(5)}`, text);
    else if (/^[|>] /.test(more)) shown = stderr + (await this.#shell(`cat ${more}`, stdout));
    return `${shown}${code === 0 ? '' : `[${code}]\n`}`;
  }

  async #profiles(argv: string[], given: Record<string, string>, stdin: Buffer | string, isStopped: boolean) {
    const { TYPED: typed, COLUMNS: width = typed === undefined ? undefined : '120', ...env } = given;
    let text = '';
    const terminal = { NO_COLOR: '1', PROFILES_PROGRESS: 'plain', TERM: 'xterm' };
    const { code, stdout, stderr } = await cli(argv, {
      cwd: this.#cwd,
      env: { ...this.#env, ...(width !== undefined && terminal), ...env },
      clock: this.clock,
      stdin: typed === undefined ? stdin : typing(typed.replaceAll('\\n', '\n')),
      ...(width !== undefined && { columns: Number(width) }),
      ...(isStopped && { stop: AbortSignal.abort('SIGINT') }),
      hear: (chunk) => {
        text += chunk;
      },
    });
    for (const [name, id] of [
      ['run', /\b\d{8}-\d{6}-\w{4}\b/g],
      ['job', /urn:profiles:job:\w+\/[\w-]+/g],
    ] as const)
      this.#known[name] = text.match(id)?.at(-1) ?? this.#known[name] ?? '';
    return { code, text: onOneLine(text), stdout, stderr };
  }

  async #serve(argv: string[], env: Record<string, string>): Promise<string> {
    await this.stop();
    this.#port ||= await freePort();
    const ports = ['--port', String(this.#port), '--lookup-port', '0', '--eu-port', '0', '--no-page'];
    const stop = new AbortController();
    const stdout = new PassThrough();
    const streams = { stdout, stderr: new PassThrough().resume() };
    const options = {
      cwd: this.folder,
      env: { PROFILES_STATE_DIR: this.#env.PROFILES_STATE_DIR, ...env },
      clock: this.clock,
      stop: stop.signal,
      streams,
    };
    const ended = cli([...argv, ...ports, '--json'], options);
    this.#serving = { stop, ended };
    const printed = (await printedJson(Readable.from(stdout))) as Record<string, string>;
    const { base_url: base, lookup_base_url: lookups, eu_base_url: eu } = printed;
    Object.assign(this.#known, { base, lookups, eu });
    this.#env = {
      ...this.#env,
      PROFILES_REGION: '',
      PROFILES_BASE_URL: base!,
      PROFILES_LOOKUP_BASE_URL: lookups!,
      PROFILES_TOKEN: 'rehearsal-0123456789',
    };
    return '';
  }

  /** @param input what is filtered, if the exit code is that of the program before it */
  async #shell(line: string, input?: string): Promise<string> {
    const { stdout, status } = await sh(`${PRELUDE} exec 2>&1; ${line}`, { cwd: this.#cwd, input });
    return `${stdout}${status === 0 || input !== undefined ? '' : `[${status}]\n`}`;
  }

  async stop(): Promise<void> {
    this.#serving?.stop.abort('SIGINT');
    await this.#serving?.ended;
    this.#serving = undefined;
  }
}

/** Declares a test for each section of a page. */
export function transcript(path: string): void {
  page(path, (section) => {
    const variables = shellWords(said('env', section) ?? '').map((word) => word.split(/=(.*)/s, 2));
    const clock = said('clock', section) === 'real' ? { ...systemClock, pass: () => {} } : fastClock();
    return new Shell({ PROFILES_REGION: 'sandbox', ...Object.fromEntries(variables) }, clock);
  });
}
