import { expect, test } from 'vitest';
import { stepOutputs } from '../../../src/cli/output/step-outputs.js';
import { aSummary } from '../../support/runs.js';

test('a value of several lines cannot set another output', () => {
  const rejects_file = 'a\nrun=forged\nend\n.rejects.csv';
  const summary = aSummary({
    run: 'r-1',
    files: [{ path: 'a', kind: 'users', rows: { read: 1, rejected: 1 }, rejects_file } as never],
  });
  const text = stepOutputs(summary, '/work');
  const end = /^run<<(end-[0-9a-f-]{36})\nr-1\n\1\n/.exec(text)?.[1];
  expect(end).toBeDefined();
  expect(text).toContain(`rejects-path<<${end}\n/work/${rejects_file}\n${end}\n`);
  // Six more, each closed, with an end of their own every time.
  expect(text.split(`${end}\n`)).toHaveLength(15);
  expect(stepOutputs(summary, '/work')).not.toContain(end);
});
