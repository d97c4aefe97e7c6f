import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../../src/engine/errors.js';
import type { RejectedRow } from '../../../src/engine/model.js';
import { type MappingRules, NO_RULES } from '../../../src/engine/read/index.js';
import { markOf, RejectsFile } from '../../../src/engine/run/rejects-file.js';
import { formOf, type RejectsInput, rejectsName } from '../../../src/engine/run/rejects-form.js';
import { scratch } from '../../support/cli.js';
import { times } from '../../support/times.js';
import { workbook } from '../../support/workbook.js';
import { writeCsv } from '../read/csv-writer.js';
import { file, open, type ReadOptions, read } from '../read/reading.js';

const CSV: RejectsInput = { path: 'in.csv', format: 'csv', delimiter: ',', columns: ['company_id', 'name'] };
const LINES: RejectsInput = { path: 'in.json', format: 'json', delimiter: null, columns: [] };

const RUN = '20261120-101500-x7k2';

const rejectsOf = (input: RejectsInput, cwd: string, name = rejectsName(input)): RejectsFile =>
  new RejectsFile(formOf(input, RUN), { cwd, name, tag: RUN, mayReplace: () => false });

const row = (line: number, reason: string, ...cells: string[]): RejectedRow => ({
  file: 'in.csv',
  line,
  reason,
  original: { cells },
});
const item = (line: number, reason: string, text: string): RejectedRow => ({
  file: 'in.json',
  line,
  reason,
  original: { item: text },
});

async function written(input: RejectsInput, rows: readonly RejectedRow[], cwd = scratch()): Promise<string> {
  const rejects = rejectsOf(input, cwd);
  for (const each of rows) rejects.add(each);
  const path = rejects.flush();
  return readFileSync(join(cwd, path!), 'utf8');
}

describe('a CSV', () => {
  it('has the cells as they stood, then line, error and surplus', async () => {
    const text = await written(CSV, [
      row(3, 'company_id is empty', '', 'Åsa, "AB"'),
      row(7, 'has 4 cells, the header has 2', 'c1', '=1+1', 'x', 'y,z'),
      row(9, 'has 1 cell, the header has 2', 'two\nlines'),
    ]);
    expect(text).toBe(
      [
        '\ufeffcompany_id,name,_profiles_line,_profiles_error,_profiles_run,_profiles_extra\r\n',
        ',"Åsa, ""AB""",3,company_id is empty,20261120-101500-x7k2,\r\n',
        'c1,=1+1,7,"has 4 cells, the header has 2",20261120-101500-x7k2,"x,""y,z"""\r\n',
        '"two\nlines",,9,"has 1 cell, the header has 2",20261120-101500-x7k2,\r\n',
      ].join(''),
    );
  });

  it("has the input's delimiter", async () => {
    const text = await written({ ...CSV, delimiter: ';' }, [row(2, 'because', 'a;b', 'c,d')]);
    expect(text.split('\r\n')[1]).toBe('"a;b";c,d;2;because;20261120-101500-x7k2;');
  });

  it('of a rejects file has its columns once', async () => {
    const columns = ['company_id', '_profiles_line', 'name', '_profiles_error', '_profiles_extra'];
    const text = await written({ ...CSV, columns }, [row(2, 'new', 'c1', '17', 'A', 'old', 'x')]);
    expect(text).toBe(
      '\ufeffcompany_id,name,_profiles_line,_profiles_error,_profiles_run,_profiles_extra\r\nc1,A,2,new,20261120-101500-x7k2,x\r\n',
    );
  });
});

describe('JSON Lines', () => {
  it('have the item as it stood, then line and error', async () => {
    const text = await written(LINES, [
      item(1, 'too "large"', '{"company_id": "c1", "n": 9007199254740993, "__proto__": 1}'),
      item(2, 'why', '{\n  "company_id": "c2",\n  "s": "a\\nb"\n}'),
      item(3, 'empty', '{ }'),
      item(4, 'is an integer, not an object', '5'),
    ]);
    expect(text.split('\n')).toEqual([
      '{"company_id": "c1", "n": 9007199254740993, "__proto__": 1,"_profiles_line":1,"_profiles_error":"too \\"large\\"","_profiles_run":"20261120-101500-x7k2"}',
      '{ "company_id": "c2", "s": "a\\nb","_profiles_line":2,"_profiles_error":"why","_profiles_run":"20261120-101500-x7k2"}',
      '{"_profiles_line":3,"_profiles_error":"empty","_profiles_run":"20261120-101500-x7k2"}',
      '{"_profiles_value":5,"_profiles_line":4,"_profiles_error":"is an integer, not an object","_profiles_run":"20261120-101500-x7k2"}',
      '',
    ]);
  });

  it('of a rejects file have its fields once', async () => {
    const [first] = (await written(LINES, [item(1, 'why \\ "so"', '{"company_id":"c1"}')])).split('\n');
    const [second] = (await written(LINES, [item(5, 'again', first!)])).split('\n');
    expect(second).toBe(
      '{"company_id":"c1","_profiles_line":5,"_profiles_error":"again","_profiles_run":"20261120-101500-x7k2"}',
    );
  });
});

describe('its file', () => {
  it.each([
    ['companies.csv', 'csv', 'companies.rejects.csv'],
    ['folder/companies.csv.gz', 'csv', 'companies.rejects.csv'],
    ['/full/path/users.tsv', 'tsv', 'users.rejects.csv'],
    ['users.json', 'json', 'users.rejects.ndjson'],
    ['users.jsonl', 'ndjson', 'users.rejects.ndjson'],
    ['-', 'csv', 'stdin.rejects.csv'],
    ['export.2025.csv', 'csv', 'export.2025.rejects.csv'],
    ['companies.rejects-2.csv', 'csv', 'companies.rejects.csv'],
    ['noextension', 'csv', 'noextension.rejects.csv'],
  ] as const)('of %s (%s) is %s, in the working directory', async (path, format, name) => {
    const cwd = scratch();
    const rejects = rejectsOf({ ...CSV, path, format }, cwd);
    rejects.add(row(2, 'x', 'a', 'b'));
    expect(rejects.flush()).toBe(name);
    expect(readdirSync(cwd)).toEqual([name]);
    expect(statSync(join(cwd, name)).mode & 0o777).toBe(0o600);
  });

  it('is made with the first row, and not before', async () => {
    const cwd = scratch();
    const rejects = rejectsOf(CSV, cwd);
    expect([rejects.flush(), readdirSync(cwd)]).toEqual([null, []]);
  });

  it.each([
    ['my.rejected.csv', 'my.rejected-2.csv', 'my.rejected-3.csv'],
    ['./rejects', './rejects-2', './rejects-3'],
    ['out.d/rejects', 'out.d/rejects-2', 'out.d/rejects-3'],
    ['out.d/.rejects', 'out.d/.rejects-2', 'out.d/.rejects-3'],
  ])('never replaces another: %s', async (...paths) => {
    const cwd = scratch();
    mkdirSync(join(cwd, 'out.d'));
    const names: (string | null)[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const rejects = rejectsOf(CSV, cwd, paths[0]);
      rejects.add(row(turn, 'x', 'a', 'b'));
      names.push(rejects.flush());
    }
    expect(names).toEqual(paths);
    expect(readFileSync(join(cwd, paths[0]), 'utf8')).toContain('a,b,0,x,');
  });

  it.each(['.', 'out.d', '..'])('is no folder: %s', (path) => {
    const cwd = scratch();
    mkdirSync(join(cwd, 'out.d'));
    const rejects = rejectsOf(CSV, cwd, path);
    expect(() => rejects.add(row(2, 'x', 'a', 'b'))).toThrow(`${path}: `);
    expect(readdirSync(cwd)).toEqual(['out.d']);
  });

  it.each([
    ['is replaced by a whole one', () => {}, 'in.rejects.csv'],
    [
      'that somebody edited, is left alone',
      (path: string) => writeFileSync(path, 'mine'),
      'in.rejects-2.csv',
    ],
    ['that is gone, is made again', (path: string) => rmSync(path), 'in.rejects.csv'],
  ])('of an earlier session %s', (_, meanwhile, name) => {
    const cwd = scratch();
    const first = rejectsOf(CSV, cwd);
    first.add(row(2, 'x', 'a', 'b'));
    const before = join(cwd, first.flush()!);
    const { mark } = first.written!;
    first.close();
    meanwhile(before);
    const mayReplace = (path: string) => markOf(path)?.sha256 === mark.sha256;
    const place = { cwd, name: 'in.rejects.csv', tag: RUN, mayReplace };
    const second = new RejectsFile(formOf(CSV, RUN), place);
    second.add(row(3, 'x', 'c', 'd'));
    expect(second.flush()).toBe(name);
    expect(readFileSync(join(cwd, name), 'utf8')).toMatch(/^\ufeffcompany_id,name,.*\r\nc,d,3,x,.*\r\n$/);
    if (name !== 'in.rejects.csv') expect(readFileSync(before, 'utf8')).toBe('mine');
  });

  it('holds what was added once it was flushed, and all of many rows', async () => {
    const cwd = scratch();
    const rejects = rejectsOf(CSV, cwd);
    rejects.add(row(2, 'x', 'a', 'b'));
    expect(rejects.flush()).toBe('in.rejects.csv');
    expect(readFileSync(join(cwd, 'in.rejects.csv'), 'utf8')).toContain('a,b,2,x,');
    for (let line = 3; line < 10_003; line++) rejects.add(row(line, 'x', 'a', 'b'));
    rejects.flush();
    expect(readFileSync(join(cwd, 'in.rejects.csv'), 'utf8').split('\r\n')).toHaveLength(10_003);
  });

  it.each([
    ['nowhere/my.csv', 'its folder does not exist'],
    [`${'x'.repeat(250)}.csv`, 'the name is too long'],
  ])('that cannot be made is an error that names it: %s', (name, why) => {
    const rejects = rejectsOf(CSV, scratch(), name);
    const add = (): void => rejects.add(row(2, 'x', 'a', 'b'));
    expect(add).toThrow(InputError);
    expect(add).toThrow(`${name}: rejected rows cannot be written (${why})`);
  });
});

describe('reject, fix, import', () => {
  const COLUMNS = ['company_id', 'a', 'b', 'n'];
  const cell = fc.string({
    unit: fc.constantFrom('a', 'é', '😀', ' ', ',', ';', '\t', '"', '\n', '\r', '0', '='),
  });
  const clean = fc
    .array(fc.tuple(cell, cell, fc.integer()), { minLength: 1, maxLength: 10 })
    .map((rows) => rows.map(([a, b, n], index) => [`c${index}`, a, b, String(n)]));
  const damage = fc.constantFrom('none', 'none', 'no id', 'long', 'short', 'no number');
  const damages = fc.array(damage, { minLength: 10, maxLength: 10 });

  const damaged = (cells: readonly string[], how: string): string[] => {
    const [id = '', a = '', b = '', n = ''] = cells;
    if (how === 'no id') return ['', a, b, n];
    if (how === 'long') return [id, a, b, n, 'surplus', 'cells'];
    if (how === 'short') return [id, a];
    if (how === 'no number') return [id, a, b, 'n/a'];
    return [...cells];
  };
  // Types are decided over a file; the rows that come back alone get those of the whole.
  const rules: MappingRules = {
    ...NO_RULES,
    types: COLUMNS.slice(1).map((column) => [column, column === 'n' ? 'integer' : 'string']),
  };

  it('gives exactly the profiles of a clean file', async () => {
    await fc.assert(
      fc.asyncProperty(clean, damages, fc.constantFrom(',', ';', '\t', '|'), async (rows, how, delimiter) => {
        const options: ReadOptions = { rules, delimiter };
        const dialect = { delimiter, ends: ['\r\n'] };
        const whole = await read(file('clean.csv', writeCsv([COLUMNS, ...rows], dialect).text), options);
        expect(whole.reasons).toEqual([]);

        const broken = writeCsv([COLUMNS, ...rows.map((cells, at) => damaged(cells, how[at]!))], dialect);
        const first = await read(file('in.csv', broken.text), options);
        const cwd = scratch();
        const rejects = rejectsOf(first.input, cwd);
        for (const each of first.rejected) rejects.add(each);
        const path = rejects.flush();
        let items = first.items;
        if (path !== null) {
          // As a person would: each row is found by its line, and its cells are put right.
          const fixed = (parse(readFileSync(join(cwd, path)), { bom: true, delimiter }) as string[][]).map(
            (cells, at) => {
              if (at === 0) return cells;
              const original = rows[broken.lines.indexOf(Number(cells[COLUMNS.length])) - 1]!;
              return [...original, ...cells.slice(COLUMNS.length)];
            },
          );
          writeFileSync(join(cwd, path), writeCsv(fixed, dialect).text);
          const second = await read(join(cwd, path), options);
          expect(second.reasons).toEqual([]);
          items = [...items, ...second.items];
        }
        const byId = (list: unknown[]): unknown[] => [...list].sort((x, y) => (idOf(x) < idOf(y) ? -1 : 1));
        expect(byId(items)).toEqual(byId(whole.items));
      }),
      { numRuns: times(12) },
    );
  });

  const idOf = (profile: unknown): string => (profile as { company_id: string }).company_id;

  it('of JSON, a number keeps its digits until it is quoted', async () => {
    const first = await read('input/seventeen-digits.json');
    const cwd = scratch();
    const rejects = rejectsOf(first.input, cwd);
    for (const each of first.rejected) rejects.add(each);
    const path = join(cwd, rejects.flush()!);
    writeFileSync(path, readFileSync(path, 'utf8').replace('12345678901234567', '"12345678901234567"'));
    expect((await read(path)).items).toEqual([{ company_id: 'c1', metadata: { n: '12345678901234567' } }]);
  });

  it('saved as a workbook, it is refused, whatever its identifier', async () => {
    const rows = parse(await written(CSV, [row(2, 'why', 'c1', 'A')]), { bom: true }) as string[][];
    const path = join(scratch(), 'in.xlsx');
    for (const id of ['company_id', 'Nr']) {
      writeFileSync(path, workbook([[id, ...rows[0]!.slice(1)], ...rows.slice(1)]));
      const rejects = () => Promise.reject(new Error('is read'));
      await expect(open(path, { rejects })).rejects.toThrow('is a rejects file, but not as it was written');
    }
  });

  it('not fixed, it is rejected again, and no column of ours is sent', async () => {
    const first = await read('input/empty-identifier.csv');
    const cwd = scratch();
    const rejects = rejectsOf(first.input, cwd);
    for (const each of first.rejected) rejects.add(each);
    const second = await read(join(cwd, rejects.flush()!));
    expect(second.items).toEqual([]);
    expect(second.reasons).toEqual(['2: company_id is empty']);
  });
});

describe('rows of another dialect', () => {
  const cells = fc.array(
    fc.tuple(
      fc.constant(''),
      fc.string({ unit: fc.constantFrom(...`a'"|,;#\\ =\n\r`, '\x01', '¦'), minLength: 1 }),
    ),
    { minLength: 1, maxLength: 6 },
  );
  const dialects = fc.constantFrom<ReadOptions>(
    { delimiter: '||', quote: "'" },
    { delimiter: '\\x01' },
    { delimiter: '^', quote: "'" },
    { delimiter: '¦' },
    { delimiter: ';', skipLines: 1 },
  );

  it('come back from the rejects file as they are, also with the options of the file that they came from', async () => {
    await fc.assert(
      fc.asyncProperty(cells, dialects, async (rows, options) => {
        const { quote = '"', skipLines = 0 } = options;
        const delimiter = options.delimiter === '\\x01' ? '\x01' : options.delimiter!;
        const line = (row: readonly string[]): string =>
          `${row.map((cell) => quote + cell.replaceAll(quote, quote + quote) + quote).join(delimiter)}\n`;
        const text = 'a title\n'.repeat(skipLines) + [['company_id', 'name'], ...rows].map(line).join('');
        const { input, rejected } = await read(file('in.csv', text), options);
        expect(rejected.map(({ original }) => 'cells' in original && original.cells)).toEqual(rows);
        const again = await written(input, rejected);
        for (const how of [{}, options]) {
          const back = await read(file('in.rejects.csv', again), { ...how, kind: 'companies' });
          expect(back.input.columns.slice(0, 2)).toEqual(['company_id', 'name']);
          expect(
            back.rejected.map(({ original }) => 'cells' in original && original.cells.slice(0, 2)),
          ).toEqual(rows);
        }
      }),
      { numRuns: times(12) },
    );
  });
});
