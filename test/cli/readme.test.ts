/** The README's commands run as they stand there, and show what it says that they show. */
import { exec } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { built } from '../support/child.js';
import { cli, scratch } from '../support/cli.js';
import { hurried, makePlace, type Place, TOKEN } from './place.js';
import { blocks } from './readme.js';
import { saidOf } from './said.js';
import { shellWords } from './shell-words.js';

const ROOT = resolve(import.meta.dirname, '../..');

let place: Place;
beforeAll(async () => {
  place = await makePlace();
});
afterAll(() => place.stop());

/** What looks like a clone: the fixtures, and beside them exports of one's own. */
function clone(): string {
  const folder = place.folder();
  cpSync(join(ROOT, 'fixtures'), join(folder, 'fixtures'), { recursive: true });
  return folder;
}

/** Lines of a block that call the command, without their comments. */
function commandsOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) =>
      line
        .replace(/(^|\s+)#.*$/, '')
        .replace(/^npm ci && /, '')
        .trim(),
    )
    .filter((line) => line !== '' && line !== 'npm test');
}

/** The line with real things in the place of those that the reader is to fill in. */
function filledIn(line: string): string {
  return line
    .replace('<id>', place.words('{job}')[0]!)
    .replace(/(lookup_base_url) https:\/\/…/, `$1 ${place.service.lookupUrl}`)
    .replace(/(base_url) https:\/\/…/, `$1 ${place.service.url}`)
    .replace(/-port \d+/g, '-port 0');
}

// A script is run by another test, as a script.
const shell = blocks.filter(({ language, text }) => language === 'sh' && !text.startsWith('#!'));

describe('blocks of commands', () => {
  it('there are some', () => {
    expect(shell.flatMap(({ text }) => commandsOf(text)).length).toBeGreaterThan(14);
  });

  it.each(shell.map((block) => [block.line, block] as const))('README.md:%i', async (_, { text }) => {
    const cwd = clone();
    const setsUp = text.includes('profiles config');
    for (const line of commandsOf(text)) {
      expect(line).toMatch(/^(npx )?profiles /);
      const words = shellWords(filledIn(line).replace(/^npx /, ''));
      const serves = words[1] === 'sandbox' && !['show', 'reset'].includes(words[2]!);
      if (line.includes('sandbox show'))
        await cli(shellWords('import companies.csv --region sandbox'), { cwd, clock: hurried });
      const { code, stderr } = await cli(words.slice(1), {
        cwd,
        // Where it is set up step by step, nothing else may help.
        env: setsUp ? {} : { ...place.env, PROFILES_TOKEN: TOKEN },
        clock: hurried,
        stdin: TOKEN,
        ...(serves ? { stop: AbortSignal.abort('SIGINT') } : {}),
      });
      expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: saidOf({ ends: 0 }) });
    }
  });
});

const run = promisify(exec);

describe('what is shown', () => {
  beforeAll(built);
  const consoles = blocks.filter(({ language }) => language === 'console');

  it.each(consoles.map((block) => [block.line, block] as const))('README.md:%i', async (_, { text }) => {
    const folder = scratch();
    cpSync(join(ROOT, 'fixtures'), join(folder, 'fixtures'), { recursive: true });
    mkdirSync(join(folder, 'bin'));
    const command = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'bin/profiles.js')}' "$@"\n`;
    writeFileSync(join(folder, 'bin/profiles'), command, { mode: 0o755 });
    const env = { PATH: `${folder}/bin:${process.env.PATH}`, HOME: folder };
    const commands = text.match(/^\$ .*$/gm)!.map((line) => line.slice(2));
    let shown = '';
    for (const command of commands) {
      const { stdout } = await run(`${command} 2>&1`, { cwd: folder, env });
      shown += `$ ${command}\n${stdout}`;
    }
    expect(masked(shown)).toBe(masked(text));
  });
});

/** Times, ports and ids are other ones each time. */
function masked(text: string): string {
  return text
    .replace(/^\d\d:\d\d:\d\d /gm, '<time> ')
    .replace(/\b(after|in) [\d.]+m?s\b/g, '$1 <duration>')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .replace(/job:default\/[0-9a-f]{8}-\d+/g, 'job:default/<id>');
}
