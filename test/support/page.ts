/**
 * Pages of tests: sections, each a session of its own, whose `console` blocks have lines that are typed (`$ …`) and what
 * they print. `UPDATE_DOCS=1` writes into a page what they print now.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';

/** A file to write. */
export interface Block {
  language: string;
  file: string;
  text: string;
}

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
  stop?(): Promise<void>;
}

/** What a comment `<!-- name: … -->` of a section says, or of its page. */
export const said = (name: string, { preamble, text }: Section): string | undefined => {
  const comment = new RegExp(`<!-- ${name}: (.*) -->`);
  return (comment.exec(text) ?? comment.exec(preamble))?.[1];
};

const FENCE = /^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm;

/** A `console` block, with what its lines print now. */
export async function typed(text: string, type: Session['type']): Promise<string> {
  let now = '';
  for (const [line] of text.matchAll(/^\$ .*$/gm)) now += `${line}\n${await type(line.slice(2))}`;
  return now;
}

/** A part of a page, with what its lines print now. */
async function played(part: string, session: Session): Promise<string> {
  let now = '';
  let end = 0;
  for (const { 0: fence, 1: language, 2: file, 3: text, index } of part.matchAll(FENCE)) {
    if (file) session.write!({ language: language!, file, text: text! });
    if (language !== 'console') continue;
    now += `${part.slice(end, index)}\`\`\`console\n${await typed(text!, (line) => session.type(line))}\`\`\``;
    end = index + fence.length;
  }
  return now + part.slice(end);
}

export const update = process.env.UPDATE_DOCS === '1';

/** Declares a test for each section of a page. */
export function page(path: string, open: (section: Section) => Session | Promise<Session>): void {
  const [preamble = '', ...sections] = readFileSync(path, 'utf8').split(/^(?=## )/m);
  const now = [preamble, ...sections];
  describe(preamble.split('\n')[0]!.replace(/^# /, ''), () => {
    test.each(sections.map((text, at) => [text.slice(3, text.indexOf('\n')), text, at + 1] as const))(
      '%s',
      async (_, text, at) => {
        const session = await open({ preamble, text });
        try {
          now[0] = await played(preamble, session);
          now[at] = await played(text, session);
          if (!update) expect(now[0] + now[at]).toBe(preamble + text);
        } finally {
          await session.stop?.();
        }
      },
    );
  });
  afterAll(() => {
    if (update) writeFileSync(path, now.join(''));
  });
}
