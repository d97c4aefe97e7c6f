/** The reference of the library is made from the declarations that are published; `npm run reference:api` writes it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { built } from '../support/child.js';
import { ROOT } from './documents.js';

const { href } = new URL('../../scripts/reference-api.mjs', import.meta.url);
const { API_PAGES, fingerprint } = (await import(href)) as {
  API_PAGES: { page: string; types: string }[];
  fingerprint(page: string, types: string): string;
};

describe.each(API_PAGES)('$page', ({ page, types }) => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  let declared: string;
  beforeAll(async () => {
    await built();
    declared = readFileSync(join(ROOT, 'dist', types), 'utf8');
  });

  it('is up to date (npm run reference:api writes it)', () => {
    const [, mark] = /^<!-- (\w+): npm run reference:api -->\n$(?![\s\S])/m.exec(text) ?? [];
    expect(mark).toBe(fingerprint(page, declared));
  });

  it('names everything that is exported, with a description', () => {
    const exported = [
      ...declared.matchAll(
        /(?:^\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^export (?:declare )?(?:abstract )?(?:type|interface|class|const|function) (\w+)/gm,
      ),
    ].map(([, comment = '', name]) => ({ name: name!, comment }));
    expect(exported.length).toBeGreaterThan(10);
    const shown = exported.filter(({ comment }) => !comment.includes('@internal'));
    for (const { name, comment } of shown) {
      expect(text).toMatch(new RegExp(`^### (?:\`abstract\` )?${name}(?:\\(\\))?$`, 'm'));
      expect([name, comment]).toEqual([name, expect.stringMatching(/\w/)]);
    }
  });
});
