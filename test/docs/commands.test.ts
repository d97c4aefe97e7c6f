/** The commands in the documents run as they are written, and print what the documents show. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hurried, makePlace, type Place, TOKEN } from '../cli/place.js';
import { BIN, binIn, built, printedJson } from '../support/child.js';
import { cli, scratch } from '../support/cli.js';
import { typed, update } from '../support/page.js';
import { quoted, sh, shellWords } from '../support/sh.js';
import { type Block, blocksOf, PAGES, ROOT, read } from './documents.js';

const BLOCKS = PAGES.flatMap(blocksOf).filter(({ notRun }) => notRun === null);
const named = (blocks: readonly Block[]) =>
  blocks.map((block) => [`${block.page}:${block.line}`, block] as const);

describe('commands', () => {
  let place: Place;
  beforeAll(async () => {
    place = await makePlace();
  });
  afterAll(() => place.stop());

  /** The line with real values where the reader fills in their own, and without what only a shell does. */
  const filledIn = (line: string): string =>
    line
      .replace(/(^|\s+)#.*$/, '')
      .replace(/^npm ci && npx /, '')
      .replace(/ > \S+$/, '')
      .replace('<id>', place.words('{job}')[0]!)
      .replace(/(lookup_base_url) https:\/\/…/, `$1 ${place.service.lookupUrl}`)
      .replace(/(base_url) https:\/\/…/, `$1 ${place.service.url}`)
      .replace(/-port \d+/g, '-port 0')
      .trim();

  // A script is run by recipes.test.ts, as a script.
  const shell = BLOCKS.filter(({ language, text }) => language === 'sh' && !text.startsWith('#!'));

  it('there are some on most pages', () => {
    expect(new Set(shell.map(({ page }) => page)).size).toBeGreaterThan(3);
  });

  it.each(named(shell))('%s', async (_, { text }) => {
    const cwd = place.folder();
    cpSync(join(ROOT, 'fixtures'), join(cwd, 'fixtures'), { recursive: true });
    const setsUp = text.includes('profiles config');
    for (const line of text.split('\n').map(filledIn)) {
      if (line === '' || line === 'npm test') continue;
      const [program, ...words] = shellWords(line);
      expect(program).toBe('profiles');
      const serves = words[0] === 'sandbox' && !['show', 'list', 'reset'].includes(words[1]!);
      if (serves) words.push('--eu-port', '0', '--page-port', '0'); // whatever else listens here
      if (line.includes('sandbox show'))
        await cli(shellWords('import companies.csv --region sandbox'), { cwd, clock: hurried });
      const { code, stderr } = await cli(words, {
        cwd,
        // Where it is set up step by step, nothing else may help.
        env: setsUp ? {} : { ...place.env, PROFILES_TOKEN: TOKEN },
        clock: hurried,
        stdin: TOKEN,
        ...(serves ? { stop: AbortSignal.abort('SIGINT') } : {}),
      });
      expect({ line, code, stderr }).toMatchObject({ line, code: 0 });
    }
  });
});

/** In the table of failures to rehearse. */
const failures = [...read('docs/sandbox.md').matchAll(/^\|.*\|$/gm)].flatMap(([row]) =>
  [...row.matchAll(/`(--[^`]+)`/g)].map(([, flags]) => flags!),
);

it.each(failures)('docs/sandbox.md: profiles sandbox %s', async (flags) => {
  const words = shellWords(`sandbox ${flags} --memory --page-port 0 --eu-port 0`);
  const ports = ['--port', '0', '--lookup-port', '0'];
  const { code, stderr } = await cli([...words, ...ports], { stop: AbortSignal.abort('SIGINT') });
  expect({ code, stderr }).toMatchObject({ code: 0 });
});

/** Times, ports and ids differ from run to run. */
function masked(text: string): string {
  return text
    .replace(/^\d\d:\d\d:\d\d /gm, '<time> ')
    .replace(/\b(after|in) [\d.]+m?s\b/g, '$1 <duration>')
    .replace(/^<time> sending \w+ [\d,]+ of [\d,]+ rows completed, .*\n/gm, '')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
    .replace(/job:default\/[0-9a-f]{8}-\d+/g, 'job:default/<id>')
    .replace(/\b\d{8}-\d{6}-\w{4}\b/g, '<run>');
}

describe('what a page shows is what its commands print, one after the other in one folder', () => {
  beforeAll(built);
  const pages = PAGES.filter((page) => blocksOf(page).some(({ language }) => language === 'console'));

  it.each(pages)('%s', { timeout: 600_000 }, async (page) => {
    const folder = scratch();
    cpSync(join(ROOT, 'fixtures'), join(folder, 'fixtures'), { recursive: true });
    let env: Record<string, string> = { PATH: `${binIn(folder)}:${process.env.PATH}`, HOME: folder };
    const servers: ChildProcess[] = [];
    let now = read(page);
    try {
      for (const { language, text } of blocksOf(page)) {
        const [, serves] = /^profiles sandbox (--fail\S* .*?) *(?:#.*)?$/m.exec(text) ?? [];
        // The page says to start one, and to paste what it prints: its commands go there from now on.
        if (language === 'sh' && serves) {
          const { server, variables } = await startSandbox(serves, folder, env);
          servers.push(server);
          env = { ...env, ...variables };
        }
        if (language !== 'console') continue;
        const shown = await typed(text, (line) => output(line, folder, env));
        if (update) now = now.replace(text, () => (masked(shown) === masked(text) ? text : shown));
        else expect(masked(shown)).toBe(masked(text));
      }
    } finally {
      for (const server of servers) {
        server.kill('SIGINT');
        await once(server, 'exit');
      }
    }
    if (update) writeFileSync(join(ROOT, page), now);
  });
});

async function output(line: string, cwd: string, env: Record<string, string>): Promise<string> {
  const variables = Object.entries(env).map(([name, value]) => quoted(`${name}=${value}`));
  const { stdout } = await sh(`exec env -i ${variables.join(' ')} sh -c ${quoted(line)} 2>&1`, { cwd });
  return String(stdout);
}

/** The server of a page, and the variables that it prints. */
async function startSandbox(flags: string, cwd: string, env: Record<string, string>) {
  const ports = ['--port', '--lookup-port', '--eu-port', '--page-port'].flatMap((flag) => [flag, '0']);
  const words = [BIN, 'sandbox', ...shellWords(flags), ...ports, '--memory', '--json'];
  const server = spawn(process.execPath, words, { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const printed = (await printedJson(server.stdout)) as Record<string, string>;
  return {
    server,
    variables: {
      PROFILES_BASE_URL: printed.base_url!,
      PROFILES_LOOKUP_BASE_URL: printed.lookup_base_url!,
      PROFILES_TOKEN: 'rehearsal',
    },
  };
}
