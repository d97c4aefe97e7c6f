/** Links lead somewhere, pages can be found, and what the text says of commands and flags is true. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUILT_IN, OPTIONS, pathOf } from '../../src/cli/options/index.js';
import { allCommands } from '../cli/reference-text.js';
import { codeOf, DOCUMENTS, PAGES, ROOT, read } from './documents.js';

/** Of links and pictures: the text, and where it leads. */
const linksOf = (page: string): { text: string; target: string }[] => {
  const prose = read(page).replace(/^( *)```[\s\S]*?^\1```$/gm, '');
  return [...prose.matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, text, target]) => ({
    text: text!,
    target: target!,
  }));
};

/** As GitHub makes anchors of headings; and those that are written out. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>();
  const headings = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, title]) => {
    const slug = title!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-');
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
  return [...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!)];
}

/** What a link leads to, from the root; null for another site. */
const fileOf = (page: string, target: string): string | null => {
  if (/^\w+:/.test(target)) return null;
  const [path = ''] = target.split('#');
  return path === '' ? join(ROOT, page) : resolve(ROOT, dirname(page), path);
};

describe('links', () => {
  it.each(DOCUMENTS)('%s', (page) => {
    const dead = linksOf(page).filter(({ target }) => {
      const file = fileOf(page, target);
      if (file === null) return !(URL.canParse(target) && target.startsWith('https://'));
      if (!existsSync(file)) return true;
      const [, anchor] = target.split('#');
      return anchor !== undefined && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor);
    });
    expect(dead).toEqual([]);
  });

  it('a picture says what it shows', () => {
    const pictures = DOCUMENTS.flatMap((page) => [...read(page).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)]);
    expect(pictures.length).toBeGreaterThan(5);
    for (const [, text, target] of pictures)
      expect([target, text]).toEqual([target, expect.stringMatching(/\w+ \w+ \w+/)]);
  });

  it('the index leads to every page, and every picture is on one', () => {
    const index = linksOf('docs/README.md').map(({ target }) => fileOf('docs/README.md', target));
    const linked = new Set(
      DOCUMENTS.flatMap((page) => linksOf(page).map(({ target }) => fileOf(page, target))),
    );
    const pages = PAGES.filter((page) => !page.endsWith('README.md')).map((page) => join(ROOT, page));
    expect(pages.filter((page) => !index.includes(page))).toEqual([]);
    const pictures = readdirSync(join(ROOT, 'docs')).filter((name) => /\.(?:png|svg)$/.test(name));
    expect(pictures.filter((name) => !linked.has(join(ROOT, 'docs', name)))).toEqual([]);
  });
});

/** Flags of other programs, and what flags begin with. */
const FOREIGN = [
  '--disable-wasm-trap-handler',
  '--test',
  '--retryAttempts',
  '--no-',
  '--global',
  '--ignore-scripts',
  '--no-install',
  '--max-old-space-size',
];

describe('what is named in the text', async () => {
  const commands = (await allCommands()).map(pathOf);
  const builtIn = Object.keys(BUILT_IN).map((name) => `--${name}`);
  const known = (path: string): string[] =>
    OPTIONS.filter((option) => option.commands.includes('*') || option.commands.includes(path))
      .flatMap(({ long, type, config, off }) => [
        long,
        ...((type.kind === 'flag' && config) || off ? [long.replace('--', '--no-')] : []),
      ])
      .concat(builtIn);
  const everywhere = new Set(commands.flatMap(known));
  const variables = new Set(OPTIONS.flatMap(({ env = [] }) => env));
  const pages = [...PAGES, 'SECURITY.md'];

  it.each(pages)('flags and commands of %s', (page) => {
    for (const code of codeOf(page)) {
      const flags = code.match(/(?<![\w-])--[a-zA-Z][\w-]*/g) ?? [];
      const [, line] = /^profiles (.+)$/.exec(code) ?? [];
      if (line === undefined || /^(?:help|<)/.test(line)) {
        const unknown = flags.filter((flag) => !everywhere.has(flag) && !FOREIGN.includes(flag));
        expect({ code, unknown }).toEqual({ code, unknown: [] });
        continue;
      }
      // `company|user` stands for either.
      const words = line.replaceAll(/(\w+)\|\w+/g, '$1').split(' ');
      const path = [words.slice(0, 2).join(' '), words[0]!].find((name) => commands.includes(name));
      if (path === undefined) {
        expect({ code, first: words[0] }).toEqual({ code, first: expect.stringMatching(/^--/) });
        continue;
      }
      const unknown = flags.filter((flag) => !known(path).includes(flag));
      expect({ code, unknown }).toEqual({ code, unknown: [] });
    }
    const named = read(page).match(/\bPROFILES_[A-Z_]+\b/g) ?? [];
    expect(named.filter((name) => !variables.has(name))).toEqual([]);
  });
});

it('the tests that SECURITY.md names are there', () => {
  const lists = [...read('SECURITY.md').matchAll(/\[([a-z/-]+(?:, [a-z/-]+)*)\](?!\()/g)];
  const named = lists.flatMap(([, list]) => list!.split(', '));
  expect(named.length).toBeGreaterThan(20);
  const isThere = (name: string): boolean =>
    ['.test.ts', '.md'].some((end) => existsSync(join(ROOT, `test/${name}${end}`)));
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});
