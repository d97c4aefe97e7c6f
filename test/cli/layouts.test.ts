/** What an import says about the layout of a file, and where it says so only once. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';

test('text that looks like something else is said each time, and annotated once for a layout', async ({
  sandbox,
}) => {
  const cwd = scratch();
  const env = { ...environmentOf(sandbox), GITHUB_ACTIONS: 'true' };
  const warnings = async (text: string): Promise<{ said: number; annotated: number }> => {
    writeFileSync(join(cwd, 'a.csv'), text);
    const { code, stderr } = await cli(['import', 'a.csv', '-o', 'interval=5ms'], { cwd, env });
    expect(code, stderr).toBe(0);
    const of = (wanted: RegExp): number => stderr.match(wanted)?.length ?? 0;
    return {
      said: of(/ warning: a\.csv: (1 text column looks|size: only)/g),
      annotated: of(/^::warning::a\.csv: (1 text column looks|size: only)/gm),
    };
  };
  const rows = 'c1,$5.00,n/a\nc2,$6.00,12\nc3,$7.00,13\n';
  expect(await warnings(`company_id,price,size\n${rows}`)).toEqual({ said: 2, annotated: 2 });
  expect(await warnings(`company_id,price,size\n${rows}c4,$8.00,14\n`)).toEqual({ said: 2, annotated: 0 });
  const other = rows.replaceAll('\n', ',x\n');
  expect(await warnings(`company_id,price,size,note\n${other}`)).toEqual({ said: 2, annotated: 2 });
});
