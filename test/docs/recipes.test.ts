/**
 * The recipes for CI, cut out of its text and run as scripts. What the CI system does around them (its cache,
 * its variables) is done here: the folder is kept from one run to the next.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect } from 'vitest';
import type { Summary } from '../../src/engine/model.js';
import { binIn, built } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { acceptedBy, environmentOf, ManualClock, test } from '../support/sandbox.js';
import { blocksOf, ROOT } from './documents.js';

/** A recipe as a shell script, and the variables that it sets itself. */
interface Recipe {
  script: string;
  env: Record<string, string>;
  /** Folders that its CI system keeps. */
  kept: string[];
}

const block = (mark: string): string => {
  const found = blocksOf('docs/ci.md').find(({ text }) => text.includes(mark));
  if (!found) throw new Error(`docs/ci.md has no block with ${mark}`);
  return found.text;
};

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found]) => found!);

/** Secrets and variables of the CI system come from `outside`. */
function gitHub(outside: Record<string, string>): Recipe {
  const text = block('actions/cache');
  const set = [...text.matchAll(/^ {4}(PROFILES_\w+): (.*)$/gm)].map(([, name, value]) => {
    const secret = /^\$\{\{ (?:secrets|vars)\.(\w+) \}\}$/.exec(value!)?.[1];
    return [name!, secret === undefined ? value! : outside[secret]!];
  });
  return {
    script: all(text, /^- run: (.*)$/gm).join('\n'),
    env: { ...Object.fromEntries(set), GITHUB_ACTIONS: 'true' },
    kept: all(text, /^ {4}path: (.*)$/gm),
  };
}

function gitLab(outside: Record<string, string>): Recipe {
  const text = block('artifacts:');
  const [name = '', value = ''] = /variables: \{ (\w+): (\S+) \}/.exec(text)?.slice(1) ?? [];
  return {
    script: all(text, /^ {4}- (.*)$/gm).join('\n'),
    env: { ...outside, [name]: value },
    kept: all(text, /cache: \{.*paths: \[([^\]]*)\]/g),
  };
}

/** Its config file lies in the user's home, which is the folder itself. */
function cron(outside: Record<string, string>, folder: string): Recipe {
  const {
    PROFILES_BASE_URL: base_url,
    PROFILES_LOOKUP_BASE_URL: lookup_base_url,
    PROFILES_TOKEN: token,
  } = outside;
  mkdirSync(join(folder, '.config/profiles'), { recursive: true, mode: 0o700 });
  writeFileSync(
    join(folder, '.config/profiles/config.json'),
    JSON.stringify({ token, regions: { default: { base_url, lookup_base_url } } }),
    { mode: 0o600 },
  );
  const script = block('#!/bin/sh')
    .replace('/srv/export', folder)
    .replace('PATH=/usr/local/bin', `PATH=${folder}/bin:${dirname(process.execPath)}`);
  return { script, env: { PATH: '/usr/bin:/bin' }, kept: ['.local/state'] };
}

const RECIPES = { 'GitHub Actions': gitHub, 'GitLab CI': gitLab, cron } as const;

/** A folder with two exports, and the command where a script looks for it. */
function workspace(): string {
  const folder = scratch();
  for (const file of ['companies.csv', 'users.csv']) {
    // Every import warns of a column of text that looks like numbers.
    const text = readFileSync(join(ROOT, 'fixtures', file), 'utf8').replaceAll('%', ' percent');
    writeFileSync(join(folder, file), text);
  }
  const npx = `#!/bin/sh\n[ "$1 $2" = "--no-install profiles" ] && shift 2 && exec profiles "$@"\n`;
  writeFileSync(join(binIn(folder), 'npx'), npx, { mode: 0o755 });
  return folder;
}

interface Run {
  child: ChildProcess;
  ended: Promise<{ code: number | null; output: string }>;
}

/** Runs it as CI systems do: bash, which ends at the first failure. */
function start({ script, env }: Recipe, folder: string): Run {
  writeFileSync(join(folder, 'script.sh'), `set -euo pipefail\n${script}\n`);
  const child = spawn('bash', ['script.sh'], {
    cwd: folder,
    env: {
      PATH: `${folder}/bin:${process.env.PATH}`,
      HOME: folder,
      GITHUB_STEP_SUMMARY: join(folder, 'summary.md'),
      ...env,
    },
    // A group of its own, to be killed as one.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => {
      output += text;
    });
  }
  child.stdin.end();
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return { child, ended };
}

const document = (folder: string): Summary | null => {
  const file = join(folder, 'import.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Summary) : null;
};

/** Lines with the time, of which none is a warning or a retry, then the totals; an error would be without. */
const PROGRESS = /^(?:\d\d:\d\d:\d\d (?!warning:|retry:).*\n)+totals: .*\n$/;

beforeAll(built);

describe.each(Object.entries(RECIPES))('%s', (name, recipeOf) => {
  const quiet = name === 'cron';

  test('the second run sends nothing: what is kept is the memory', async ({ sandbox }) => {
    const folder = workspace();
    const recipe = recipeOf(environmentOf(sandbox), folder);
    expect(recipe.script).toMatch(/profiles import companies\.csv users\.csv/);
    if (recipe.env.PROFILES_STATE_DIR)
      expect(new Set(recipe.kept)).toEqual(new Set([recipe.env.PROFILES_STATE_DIR]));

    const first = await start(recipe, folder).ended;
    expect(first).toEqual({ code: 0, output: quiet ? '' : expect.stringMatching(PROGRESS) });
    expect(acceptedBy(sandbox)).toEqual(['12 companies', '12 users']);
    if (!quiet)
      expect(document(folder)).toMatchObject({ status: 'completed', rows: { read: 24, completed: 24 } });
    expect(existsSync(join(folder, recipe.kept[0]!))).toBe(true);

    const second = await start(recipe, folder).ended;
    expect(second.code).toBe(0);
    expect(acceptedBy(sandbox)).toHaveLength(2);
    if (!quiet)
      expect(document(folder)).toMatchObject({ status: 'completed', rows: { read: 24, unchanged: 24 } });
  });

  test('a run that was killed is continued: nothing is sent twice', async ({ start: startSandbox }) => {
    // Its jobs do not move until the first run is dead.
    const clock = new ManualClock();
    const sandbox = await startSandbox({ clock });
    const folder = workspace();
    const recipe = recipeOf(environmentOf(sandbox), folder);
    const killed = start(recipe, folder);
    // Once it asks for the job it has noted that the request was accepted.
    await expect.poll(() => sandbox.ledger().map(({ operation }) => operation)).toContain('job');
    process.kill(-killed.child.pid!, 'SIGKILL');
    await killed.ended;
    expect(acceptedBy(sandbox)).toEqual(['12 companies']);

    const time = setInterval(() => clock.advance(1_000), 10);
    const { code, output } = await start(recipe, folder).ended;
    clearInterval(time);
    expect({ code, output }).toEqual({
      code: 0,
      output: quiet ? '' : expect.stringMatching(PROGRESS),
    });
    expect(acceptedBy(sandbox)).toEqual(['12 companies', '12 users']);
    if (!quiet) {
      expect(document(folder)).toMatchObject({ status: 'completed', rows: { read: 24, completed: 24 } });
      expect(document(folder)?.maybe_sent_twice).toEqual([]);
    }
  });

  test('a row that is rejected fails the step, and says which', async ({ sandbox }) => {
    const folder = workspace();
    writeFileSync(join(folder, 'users.csv'), 'user_id,name\nu-1,Anna\n,Nobody\n');
    const { code, output } = await start(recipeOf(environmentOf(sandbox), folder), folder).ended;
    expect(code).toBe(5);
    expect(output).toContain('users.rejects.csv');
    expect(acceptedBy(sandbox)).toEqual([]);
    if (name === 'GitHub Actions') {
      expect(output).toContain('::error file=users.csv,line=3::');
      expect(readFileSync(join(folder, 'summary.md'), 'utf8')).toMatch(
        /^\| users\.csv \| .* 1 row is empty; line 3 \| 1 \|/m,
      );
    }
  });
});
