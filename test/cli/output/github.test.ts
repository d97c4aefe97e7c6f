import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  annotate,
  annotationCommands,
  markdown,
  stepOutputs,
  workspacePath,
} from '../../../src/cli/output/github.js';
import type { FileRange, Plan, RunJob } from '../../../src/engine/model.js';
import { scratch } from '../../support/cli.js';
import { aCause, aJob, aStep, aSummary, type Ended, factsAbout, withRejections } from '../../support/runs.js';
import { sink } from '../../support/sink.js';

const plan = { files: [{ columns: [{ column: 'tier', key: 'tier' }] }] } as Plan;
const commands = (over: Partial<Ended>, form: 'full' | 'shared' = 'shared'): string[] =>
  annotationCommands(factsAbout(aSummary(over), { plan }), form, { env: {}, cwd: '/' })
    .split('\n')
    .slice(0, -1);

describe('annotationCommands', () => {
  test.each([
    ['line breaks', 'a.csv', 'a\r\nb', '::error file=a.csv,line=7::2 rows: a%0D%0Ab; e.g. line 7'],
    [
      'a second command hidden in the text',
      'a.csv\n::add-mask::x',
      'x\n::stop-commands::t',
      '::error file=a.csv%0A%3A%3Aadd-mask%3A%3Ax,line=7::2 rows: x%0A::stop-commands::t; e.g. line 7',
    ],
    [
      'an escape sequence',
      'a.csv',
      '\u001b[31m',
      '::error file=a.csv,line=7::2 rows: \\x1b[31m; e.g. line 7',
    ],
  ])('%s', (_name, file, reason, command) => {
    expect(commands({ causes: [aCause({ file, first_line: 7, reason, rows: 2 })] })).toEqual([command]);
  });

  test('cells are shown only on request', () => {
    const causes = [
      aCause({ column: 'r', reason: 'contains "$"', example: '"$1"', hint: '--type r=money reads them' }),
      aCause({ reason: 'the service says: "secret" is no tier' }),
    ];
    const warnings = ['tier: line 3: "1.90" becomes 1.9', '"tier" is now string'];
    const hidden = commands({ causes, warnings });
    expect(hidden).toEqual([
      '::error file=companies.csv,line=17::r: 1 row contains "$"; line 17. --type r=money reads them',
      '::error file=companies.csv,line=17::1 row: the service says: "…" is no tier; line 17',
      '::warning::tier: line 3: "…" becomes another',
      '::warning::"tier" is now string',
    ]);
    expect(commands({ causes, warnings }, 'full').join()).toMatch(/"\$1".*"secret".*"1\.90" becomes 1\.9,/);
  });

  test('no more than ten, failed jobs first and once a file, and ten warnings', () => {
    const failed = Array.from({ length: 30 }, (_, i) =>
      aJob({ job_id: `j${i}`, status: 'failed', total_rows: 10 }),
    );
    const causes = withRejections(20).causes;
    const all = commands({ jobs: failed, causes, warnings: Array.from({ length: 30 }, (_, i) => `w${i}`) });
    expect(all[0]).toBe(
      '::error file=companies.csv,line=2::30 jobs failed, with 300 rows: j0, j1, j2, j3, j4, and 25 more',
    );
    expect(all.filter((line) => line.startsWith('::error'))).toHaveLength(10);
    expect(all.filter((line) => line.startsWith('::warning'))).toHaveLength(10);
  });

  test('the reason of a failed job stands beside it, without cells that it quotes', () => {
    const jobs = [aJob({ job_id: 'j', status: 'failed', message: 'no plan "gold"' })];
    expect(commands({ jobs })).toEqual([
      '::error file=companies.csv,line=2::1 job failed, with 997 rows: j (no plan "…")',
    ]);
  });

  test('a failed job with rows of several files is annotated where its rows begin', () => {
    const { file, first_line, last_line, ...job } = aJob({ status: 'failed' }) as RunJob & FileRange;
    const ranges = [
      { file: 'b.csv', first_line: 5, last_line: 9 },
      { file, first_line, last_line },
    ];
    expect(commands({ jobs: [{ ...job, ranges }] })[0]).toMatch(/^::error file=b\.csv,line=5::1 job failed/);
  });
});

describe('workspacePath', () => {
  test.each([
    ['in the workspace', 'a.csv', '/w', '/w', 'a.csv'],
    ['below it', 'a.csv', '/w/data', '/w', 'data/a.csv'],
    ['beside the folder of the step', '../x/a.csv', '/w/data', '/w', 'x/a.csv'],
    ['by its absolute path', '/w/data/a.csv', '/elsewhere', '/w', 'data/a.csv'],
    ['with a name that begins with dots', '..a.csv', '/w', '/w', '..a.csv'],
    ['outside of it', '../a.csv', '/w', '/w', '../a.csv'],
    ['in a folder of a like name', '/wide/a.csv', '/w', '/w', '/wide/a.csv'],
    ['stdin', '-', '/w/data', '/w', '-'],
    ['no workspace', 'a.csv', '/w/data', undefined, 'a.csv'],
  ])('%s', (_where, file, cwd, workspace, path) => {
    expect(workspacePath(file, cwd, workspace)).toBe(path);
  });
});

describe('the step summary', () => {
  const write = (over: Partial<Ended>, maxBytes = 900 * 1024): string =>
    markdown(factsAbout(aSummary(over)), 'shared', maxBytes);

  test('text of a file stays text: no column, no line, no markup, no link, no mention', () => {
    const reason = 'x\n| y | <img> `z` [l](u) @user https://evil www.evil ![i](j) ~~s~~ $x$';
    const [row] = write({ causes: [aCause({ file: 'a|b.csv', reason })] })
      .split('\n')
      .filter((line) => line.includes('y'));
    expect(row).toMatch(/^\| a&#124;b\.csv \| 1 row&#58; x &#124; y &#124; /);
    expect(row!.match(/(?<!\\)\|/g)).toHaveLength(5);
    expect(row).not.toMatch(/[<`[\]@!~$]|https:|www\./);
  });

  test('a command cannot end the block that it is in', () => {
    const text = write({ next: [aStep("profiles resume 'a``` # b'")] });
    expect(text).toContain("\n````\n# continue with\nprofiles resume 'a``` # b'\n````\n");
  });

  test.each([900 * 1024, 20_000, 2_000])('is cut at a row, below %i bytes, and says so', (maxBytes) => {
    const causes = Array.from({ length: 200 }, (_, i) => aCause({ reason: 'ä'.repeat(300), rows: i }));
    const jobs = Array.from({ length: 20_000 }, (_, i) => aJob({ job_id: `job-${i}` }));
    const text = write({ causes, jobs, next: [aStep('profiles resume run-1')] }, maxBytes);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
    expect(Buffer.byteLength(text)).toBeGreaterThan(maxBytes * 0.6);
    expect(text).toMatch(/\nand [\d,]+ more (jobs|causes)\n/);
    expect(text).toContain('# continue with\nprofiles resume run-1');
    for (const line of text.split('\n')) if (line.startsWith('|')) expect(line).toMatch(/\|$/);
  });

  test('without room, there is no summary', () => {
    expect(write({}, 10)).toBe('');
  });
});

test('what is in the step summary already counts', async () => {
  const file = join(scratch(), 'summary.md');
  writeFileSync(file, 'x'.repeat(900 * 1024 - 50));
  const context = { env: { GITHUB_STEP_SUMMARY: file }, cwd: '/', stderr: sink() };
  await annotate(factsAbout(withRejections(1)), 'shared', context);
  expect(statSync(file).size).toBe(900 * 1024 - 50);
});

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
