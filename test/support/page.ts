/**
 * Pages of tests: sections, each a session of its own, whose `console` blocks have lines that are typed (`$ …`) and what
 * they print. `UPDATE_DOCS=1` writes into a page what they print now.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';

export interface Block {
  language: string;
  /** Of a file to write. */
  file: string | undefined;
  text: string;
}

const FENCE = /^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm;
const blocksOf = (text: string): Block[] =>
  [...text.matchAll(FENCE)].map(([, language, file, block]) => ({ language: language!, file, text: block! }));

/** A section, with what is above the first one of its page. */
export interface Section {
  preamble: string;
  text: string;
}

export interface Session {
  /** What a line prints. */
  type(line: string): Promise<string>;
  /** Takes a block named `<language> <file>`. */
  write?(block: Block): void;
  stop(): Promise<void>;
}

/** What a comment `<!-- name: … -->` of a section says, or of its page. */
export const said = (name: string, { preamble, text }: Section): string | undefined => {
  const comment = new RegExp(`<!-- ${name}: (.*) -->`);
  return (comment.exec(text) ?? comment.exec(preamble))?.[1];
};

const update = process.env.UPDATE_DOCS === '1';

/** Declares a test for each section of a page. */
export function page(path: string, open: (section: Section) => Session | Promise<Session>): void {
  const all = readFileSync(path, 'utf8');
  const [preamble = '', ...sections] = all.split(/^(?=## )/m);
  const written = new Map<string, string>();
  describe(preamble.split('\n')[0]!.replace(/^# /, ''), () => {
    test.each(sections.map((text) => [text.slice(3, text.indexOf('\n')), text]))('%s', async (_, text) => {
      const session = await open({ preamble, text });
      try {
        for (const block of [...blocksOf(preamble), ...blocksOf(text)]) {
          if (block.file) session.write!(block);
          if (block.language !== 'console') continue;
          let shown = '';
          for (const [line] of block.text.matchAll(/^\$ .*$/gm))
            shown += `${line}\n${await session.type(line.slice(2))}`;
          if (update) written.set(block.text, shown);
          else expect(shown).toBe(block.text);
        }
      } finally {
        await session.stop();
      }
    });
  });
  afterAll(() => {
    if (!update) return;
    const now = all.replace(FENCE, (fence, _language, _file, block) =>
      fence.replace(`\n${block}`, () => `\n${written.get(block) ?? block}`),
    );
    writeFileSync(path, now);
  });
}
