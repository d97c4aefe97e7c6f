import { expect, test } from 'vitest';
import { stepOutputs } from '../../../src/cli/output/github.js';
import { aSummary, factsAbout } from '../../support/runs.js';

test('no name of a file sets another output, or reads as another path', () => {
  const names = [
    'run=forged.rejects.csv',
    'a\nrun=forged\nend\n.rejects.csv',
    'b\r/etc/passwd',
    'c.rejects.csv',
  ];
  const files = names.map((rejects_file) => ({
    path: 'a',
    kind: 'users',
    rows: { read: 1, rejected: 1 },
    rejects_file,
  }));
  const facts = factsAbout(aSummary({ run: 'r-1', files: files as never }));
  const text = stepOutputs(facts, '/work');
  const end = /^run<<(end-[0-9a-f-]{36})\nr-1\n\1\n/.exec(text)?.[1];
  expect(end).toBeDefined();
  expect(text).toContain(`rejects-path<<${end}\n/work/${names[0]}\n/work/${names[3]}\n${end}\n`);
  // Six more, each closed, with an end of their own every time.
  expect(text.split(`${end}\n`)).toHaveLength(15);
  expect(stepOutputs(facts, '/work')).not.toContain(end);
});
