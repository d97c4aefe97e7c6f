import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  annotate,
  annotationCommands,
  stepSummary,
  workspacePath,
} from '../../../src/cli/output/annotations.js';
import { scratch } from '../../support/cli.js';
import { aSummary, withRejections } from '../../support/runs.js';
import { sink } from '../../support/sink.js';

describe('annotationCommands', () => {
  test.each([
    ['plain', 'a.csv', 'no company_id', '::error file=a.csv,line=7::no company_id'],
    ['per cent', 'a.csv', '100% wrong', '::error file=a.csv,line=7::100%25 wrong'],
    ['line breaks', 'a.csv', 'a\r\nb', '::error file=a.csv,line=7::a%0D%0Ab'],
    [
      'a comma and a colon in the path',
      'c:/a,b%.csv',
      'x: y, z',
      '::error file=c%3A/a%2Cb%25.csv,line=7::x: y, z',
    ],
    [
      'a second command hidden in the text',
      'a.csv',
      'x\n::stop-commands::t',
      '::error file=a.csv,line=7::x%0A::stop-commands::t',
    ],
    ['an escape sequence', 'a.csv', '\u001b[31m', '::error file=a.csv,line=7::\\x1b[31m'],
  ])('%s', (_name, file, reason, command) => {
    expect(annotationCommands([{ file, line: 7, reason }])).toBe(`${command}\n`);
  });

  test('no more than ten', () => {
    expect(annotationCommands(withRejections(20).rejected).match(/^::error/gm)).toHaveLength(10);
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

describe('stepSummary', () => {
  test('rows by what became of them, and the rejected ones', () => {
    expect(stepSummary(withRejections(22))).toMatch(
      /^### Import companies: partial\n\n\| read \| rejected \| merged \| unchanged \| submitted \| completed \|\n\|( ---: \|){6}\n\| 1,019 \| 22 \| 0 \| 0 \| 997 \| 997 \|\n\n\| file \| line \| reason \|\n\| --- \| ---: \| --- \|\n\| companies\.csv \| 17 \| reason 0 \|\n/,
    );
    expect(stepSummary(withRejections(22))).toContain('\nand 2 more rows\n');
    expect(stepSummary(aSummary())).not.toContain('| file |');
  });

  test('text of a file stays text: no column, no line, no markup of its own', () => {
    const rejected = [{ file: 'a|b.csv', line: 1, reason: 'x\n| y | <img> `z` [l](u)' }];
    const row = stepSummary(withRejections(1, { rejected }))
      .split('\n')
      .find((line) => line.includes('y'));
    expect(row).toBe('| a&#124;b.csv | 1 | x &#124; y &#124; &#60;img&#62; &#96;z&#96; &#91;l&#93;(u) |');
  });
});

describe('annotate', () => {
  test('appends to the step summary, keeping what is there', async () => {
    const file = join(scratch(), 'summary.md');
    writeFileSync(file, '# before\n');
    const stderr = sink();
    await annotate(withRejections(1), { GITHUB_STEP_SUMMARY: file }, '/', stderr);
    expect(stderr.text()).toBe('::error file=companies.csv,line=17::reason 0\n');
    expect(readFileSync(file, 'utf8')).toMatch(/^# before\n### Import companies: partial\n/);
  });

  test('names files as the repository does', async () => {
    const stderr = sink();
    await annotate(withRejections(1), { GITHUB_WORKSPACE: '/w' }, '/w/data', stderr);
    expect(stderr.text()).toBe('::error file=data/companies.csv,line=17::reason 0\n');
  });

  test('a summary file that cannot be written is a warning', async () => {
    const stderr = sink();
    const env = { GITHUB_STEP_SUMMARY: join(scratch(), 'missing', 'summary.md') };
    await annotate(aSummary(), env, '/', stderr);
    expect(stderr.text()).toMatch(/^warning: GITHUB_STEP_SUMMARY: ENOENT.*\n$/);
  });
});
