import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expandInput } from '../../../../src/engine/read/index.js';
import { scratch } from '../../../support/cli.js';
import { zip } from '../../../support/zip.js';

/** A folder with these files, empty where nothing is said. */
function folderWith(files: readonly (string | [name: string, content: Uint8Array])[]): string {
  const cwd = scratch();
  for (const file of files) {
    const [name, content] = typeof file === 'string' ? [file, ''] : file;
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), content);
  }
  return cwd;
}

const named = async (cwd: string, path: string): Promise<string[]> =>
  (await expandInput(path, { cwd, windows: false })).map((source) => {
    if (source.from === 'zip') return `zip ${source.path} ${source.member ?? '(only)'}`;
    if (source.from === 'file') expect(source.location).toBe(join(cwd, source.path.replace(cwd, '')));
    return source.path;
  });

const ZIP = zip([{ name: 'a.csv' }]);
const OUTCOMES = Buffer.from('file,line,id,outcome,request,job_id,reason\n');
const OUTCOME_LINES = Buffer.from(
  '{"file":"a.csv","line":2,"id":"c1","outcome":"completed","request":1,"job_id":"j","reason":null}\n',
);
const CWD = folderWith([
  'exports/b.csv',
  'exports/a.csv',
  'exports/A.CSV',
  'exports/c.tsv.gz',
  'exports/d.jsonl',
  'exports/.hidden.csv',
  'exports/b.rejects.csv',
  'exports/b.rejects-2.csv',
  'exports/d.rejects.ndjson',
  'exports/README.md',
  ['exports/e.zip', ZIP],
  'exports/2026/q1/deep.csv',
  'exports/2026/q1/deep.rejects.csv',
  'exports/2026/q1/.git/config.csv',
  'empty/README.md',
  'only/a.rejects.csv',
  ['with/a.csv', Buffer.from('file,line,id,outcome,request,job_id,reason,more\n')],
  ['with/b.ndjson', Buffer.from('{"file":"a.csv","line":2,"id":"c1"}\n')],
  ['with/outcomes.csv', OUTCOMES],
  ['with/edited.csv', Buffer.concat([Buffer.from('\ufeff'), OUTCOMES.subarray(0, -1), Buffer.from('\r\n')])],
  ['with/outcomes.ndjson', OUTCOME_LINES],
  ['with/plan.json', Buffer.from('{\n  "version": 1,\n  "totals": {\n    "read": 2\n  }\n}\n')],
  'with/a.mapping.json',
  'with/z.rejects.csv',
  ['outcomes/a.csv', OUTCOMES],
  'odd/a*b.csv',
  'odd/axb.csv',
  'odd/[1].csv',
  'odd/archive.zip:a.csv',
  ['odd/archive.zip', ZIP],
  ['odd/x.zip:y.zip', ZIP],
]);

describe('what an input names', () => {
  it.each<[path: string, expected: string[]]>([
    ['-', ['-']],
    ['missing.csv', ['missing.csv']],
    ['exports/b.csv', ['exports/b.csv']],
    ['exports', ['A.CSV', 'a.csv', 'b.csv', 'c.tsv.gz', 'd.jsonl'].map((name) => `exports/${name}`)],
    ['exports/', ['A.CSV', 'a.csv', 'b.csv', 'c.tsv.gz', 'd.jsonl'].map((name) => `exports/${name}`)],
    ['exports/*.csv', ['exports/a.csv', 'exports/b.csv']],
    ['./exports/*.csv', ['exports/a.csv', 'exports/b.csv']],
    ['exports/**/*.csv', ['exports/2026/q1/deep.csv', 'exports/a.csv', 'exports/b.csv']],
    ['exports/{a,c}.*', ['exports/a.csv', 'exports/c.tsv.gz']],
    ['exports/[bd].*', ['exports/b.csv', 'exports/d.jsonl']],
    ['with', ['with/a.csv', 'with/b.ndjson']],
    ['with/*', ['with/a.csv', 'with/b.ndjson']],
    ['with/outcomes.csv', ['with/outcomes.csv']],
    ['exports/?.zip', ['zip exports/e.zip (only)']],
    ['exports/e.zip', ['zip exports/e.zip (only)']],
    ['exports/e.zip:a.csv', ['zip exports/e.zip a.csv']],
    ['exports/e.zip:b/c:d.csv', ['zip exports/e.zip b/c:d.csv']],
    ['nowhere.zip:a.csv', ['nowhere.zip:a.csv']],
    // What exists is meant as it is called.
    ['odd/a*b.csv', ['odd/a*b.csv']],
    ['odd/[1].csv', ['odd/[1].csv']],
    ['odd/archive.zip:a.csv', ['odd/archive.zip:a.csv']],
    ['odd/archive.zip:b.csv', ['zip odd/archive.zip b.csv']],
    ['odd/x.zip:y.zip:z.csv', ['zip odd/x.zip:y.zip z.csv']],
  ])('%s', async (path, expected) => expect(await named(CWD, path)).toEqual(expected));

  it('by a pattern from the root', async () => {
    expect(await named(CWD, join(CWD, 'exports/*.csv'))).toEqual([
      join(CWD, 'exports/a.csv'),
      join(CWD, 'exports/b.csv'),
    ]);
  });

  it('by a pattern of Windows', async () => {
    const found = await expandInput('exports\\*.csv', { cwd: CWD, windows: true });
    expect(found.map(({ path }) => path)).toEqual(['exports/A.CSV', 'exports/a.csv', 'exports/b.csv']);
  });

  it.skipIf(process.platform === 'win32')('through links, without going round in circles', async () => {
    const cwd = folderWith(['real/a.csv', 'in/b.csv']);
    symlinkSync(join(cwd, 'real/a.csv'), join(cwd, 'in/link.csv'));
    symlinkSync(cwd, join(cwd, 'in/loop'));
    expect(await named(cwd, 'in')).toEqual(['in/b.csv', 'in/link.csv']);
    expect(await named(cwd, 'in/*.csv')).toEqual(['in/b.csv', 'in/link.csv']);
    expect((await named(cwd, '**/*.csv')).length).toBeLessThan(50);
  });
});

describe('nothing is named by', () => {
  it.each([
    ['', 'the name of an input is empty', /\. is this folder/],
    [
      'empty',
      'empty: the folder contains no file of a known format',
      /searched for \.parquet, .*'empty\/\*\*\/\*\.csv'/,
    ],
    ['only', 'only: the folder contains no file of a known format', /searched for/],
    ['exports/*.parquet', 'exports/*.parquet: no file matches', /check the folder/],
    ['outcomes', 'outcomes: the folder contains only files that imports wrote', /the rows are in/],
    [
      'with/{o,e}*',
      'with/{o,e}*: only files that imports wrote match, and a pattern leaves those out',
      /if it is a rejects file/,
    ],
    [
      'only/*',
      'only/*: only files that imports wrote match, and a pattern leaves those out',
      /name the file/,
    ],
  ])('%s', async (path, message, hint) => {
    const error = await named(CWD, path).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message, exit: 2 });
    expect((error as { hint: string }).hint).toMatch(hint);
  });
});

it('an archive that is damaged is refused where it is named', async () => {
  const cwd = folderWith([['a.zip', ZIP.subarray(0, 20)]]);
  await expect(named(cwd, 'a.zip')).rejects.toThrow('a.zip: the zip data is damaged or cut off');
});
