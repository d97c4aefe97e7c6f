/** How files are read, said at the top of a mapping file: each key does what its flag does. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { environmentOf, test } from '../support/sandbox.js';
import { workbook } from '../support/workbook.js';

type Content = string | Buffer;

const SHEET = workbook([
  ['company_id', 'name'],
  ['c1', 'A'],
]);

/** Inspects a file, with flags or with a mapping file of this content. */
async function inspected(name: string, content: Content, flags: string[], mapping?: object, config = {}) {
  const cwd = scratch({ [name]: content, 'config.json': JSON.stringify(config) });
  if (mapping) writeFileSync(join(cwd, 'm.json'), JSON.stringify(mapping));
  const plus = mapping ? ['--mapping', 'm.json'] : [];
  const words = ['inspect', name, '--json', '--config', 'config.json', ...flags, ...plus];
  const { code, stdout, stderr } = await cli(words, { cwd });
  const file = stdout === '' ? null : JSON.parse(stdout).files[0];
  return { code, stderr, ...(file && { format: file.format, rows: file.rows, sample: file.sample }) };
}

const KEYS: [key: string, value: unknown, flags: string[], name: string, content: Content][] = [
  ['format', 'tsv', ['--format', 'tsv'], 'in.txt', 'company_id\tname,x\nc1\tA,B\n'],
  ['delimiter', '#', ['--delimiter', '#'], 'in.csv', 'company_id#name\nc1#A\n'],
  ['sheet', 'None', ['--sheet', 'None'], 'in.xlsx', SHEET],
  [
    'encoding',
    'windows-1252',
    ['--encoding', 'windows-1252'],
    'in.csv',
    Buffer.from('company_id,name\nc1,Büro\n', 'latin1'),
  ],
  ['quote', "'", ['--quote', "'"], 'in.csv', "company_id,name\nc1,'A,B'\n"],
  ['escape', '\\', ['--escape', '\\'], 'in.csv', 'company_id,name\nc1,"A \\"B\\", C"\n'],
  ['comment', '#', ['--comment', '#'], 'in.csv', 'company_id,name\n#c0,Z\nc1,A\n'],
  ['skip_lines', 1, ['--skip-lines', '1'], 'in.csv', 'A title\ncompany_id,name\nc1,A\n'],
  ['lenient_quotes', true, ['--lenient-quotes'], 'in.csv', 'company_id,name\nc1,"A" B\n'],
  ['short_rows', 'pad', ['--short-rows', 'pad'], 'in.csv', 'company_id,name,city\nc1,A\n'],
  ['excel_text', true, ['--excel-text'], 'in.csv', 'company_id,zip\nc1,="0012"\n'],
  ['rename_duplicates', true, ['--rename-duplicates'], 'in.csv', 'company_id,name,name\nc1,A,B\n'],
  [
    'json_path',
    'data.items',
    ['--json-path', 'data.items'],
    'in.json',
    '{"data":{"items":[{"company_id":"c1"}]}}',
  ],
  ['round_numbers', true, ['--round-numbers'], 'in.json', '[{"company_id":"c1","n":12345678901234567890}]'],
];

describe('a fact of a file in a mapping file', () => {
  it.each(KEYS)('%s does what its flag does', async (key, value, flags, name, content) => {
    const plain = await inspected(name, content, []);
    const flagged = await inspected(name, content, flags);
    const mapped = await inspected(name, content, [], { [key]: value });
    expect(mapped).toEqual(flagged);
    expect(mapped).not.toEqual(plain);
  });

  it.each(KEYS)('%s is not for one kind', async (key, value, _flags, name, content) => {
    const { code, stderr } = await inspected(name, content, [], { companies: { [key]: value } });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`m.json: companies.${key}: this holds for all inputs, not for one kind`),
    ]);
    expect(stderr).toContain(`move \\"${key}\\" to the top of the file`);
  });

  it.each<[what: string, mapping: object, message: string]>([
    ['a quote of two characters', { quote: 'ab' }, 'm.json: quote: \\"ab\\" is not one character'],
    ['a line end as delimiter', { delimiter: '\n' }, 'm.json: delimiter: \\"\\\\n\\" cannot separate cells'],
    [
      'an unknown encoding',
      { encoding: 'klingon' },
      'm.json: encoding: \\"klingon\\" is not a known encoding',
    ],
    ['an empty name in a path', { json_path: 'a..b' }, 'm.json: json_path: \\"a..b\\" must be names'],
    ['lines less than none', { skip_lines: -1 }, 'm.json: skip_lines: must be 0 or more'],
    ['an unknown format', { format: 'xls' }, 'm.json: format: Invalid option: expected one of'],
  ])('%s is refused', async (_, mapping, message) => {
    const { code, stderr } = await inspected('in.csv', 'company_id,name\nc1,A\n', [], mapping);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('is overridden by a flag and by -o, and overrides the config file', async () => {
    const text = 'company_id;name#x\nc1;A#B\n';
    const config = { import: { delimiter: '#' } };
    const read = (flags: string[], mapping: object) => inspected('in.csv', text, flags, mapping, config);
    const meant = { company_id: 'c1', metadata: { 'name#x': 'A#B' } };
    expect((await read(['--id', 'company_id;name'], {})).sample).toMatchObject({ company_id: 'c1;A' });
    expect((await read([], { delimiter: ';' })).sample).toEqual(meant);
    expect((await read(['--delimiter', ';'], { delimiter: '|' })).sample).toEqual(meant);
    expect((await read(['-o', 'delimiter=;'], { delimiter: '|' })).sample).toEqual(meant);
    const lenient = 'company_id,name\nc1,"A" B\n';
    const rejected = await inspected('in.csv', lenient, ['-o', 'lenient_quotes=false'], {
      lenient_quotes: true,
    });
    expect(rejected.rows).toMatchObject({ rejected: 1 });
  });

  it('must be the same in all mapping files of an import', async () => {
    const cwd = scratch({
      'c.csv': 'title\ncompany_id\nc1\n',
      'u.csv': 'user_id\nu1\n',
      'c.json': '{"kind":"companies","skip_lines":1}',
      'u.json': '{"kind":"users"}',
    });
    const words = ['inspect', 'c.csv', 'u.csv', '--mapping', 'c.json', '--mapping', 'u.json'];
    const { code, stderr } = await cli(words, { cwd });
    expect([code, stderr]).toEqual([
      2,
      'profiles: the mapping files differ in skip_lines, which holds for all inputs\n  write the same in each of them, or import their inputs one by one\n',
    ]);
  });
});

describe('--mapping alone', () => {
  const German = Buffer.from(
    'Kunden 2024\r\nKundennr;Straße;Größe\r\n1;Hauptstraße;5\r\n;Büroweg;6\r\n',
    'latin1',
  );
  const reading = ['--encoding', 'windows-1252', '--delimiter', ';', '--skip-lines', '1'];

  test('reads a German export as inspect wrote it down, and the rows that were rejected', async ({
    sandbox,
  }) => {
    const cwd = scratch({ 'k.csv': German });
    const run = (...words: string[]) => cli(words, { cwd, env: environmentOf(sandbox) });
    const rules = ['--kind', 'companies', '--id', 'Kundennr'];
    expect((await run('inspect', 'k.csv', ...reading, ...rules, '--write-mapping', 'k.json')).code).toBe(0);
    const saved = JSON.parse(readFileSync(join(cwd, 'k.json'), 'utf8'));
    expect(saved).toMatchObject({
      encoding: 'windows-1252',
      delimiter: ';',
      skip_lines: 1,
      kind: 'companies',
    });
    const { code, stderr } = await run('import', 'k.csv', '--mapping', 'k.json', '--skip-invalid');
    expect(code, stderr).toBe(5);
    expect(sandbox.show('companies', '1')?.metadata).toEqual({ Straße: 'Hauptstraße', Größe: 5 });

    const path = join(cwd, 'k.rejects.csv');
    writeFileSync(path, readFileSync(path, 'utf8').replace('\r\n;', '\r\n2;'));
    const again = await run('import', 'k.rejects.csv', '--mapping', 'k.json');
    expect(again.code, again.stderr).toBe(0);
    expect(sandbox.show('companies', '2')?.metadata).toEqual({ Straße: 'Büroweg', Größe: 6 });
  });

  test('reads a sheet of a workbook, and the rows that were rejected', async ({ sandbox }) => {
    const book = workbook([
      ['company_id', 'name'],
      ['c1', 'A'],
      ['', 'B'],
    ]);
    const cwd = scratch({ 'in.xlsx': book, 'm.json': '{"sheet":"S"}' });
    const run = (...words: string[]) => cli(words, { cwd, env: environmentOf(sandbox) });
    const first = await run('import', 'in.xlsx', '--mapping', 'm.json', '--skip-invalid');
    expect(first.code, first.stderr).toBe(5);
    expect(sandbox.show('companies', 'c1')?.metadata).toEqual({ name: 'A' });

    const path = join(cwd, 'in.rejects.csv');
    writeFileSync(path, readFileSync(path, 'utf8').replace('\r\n,', '\r\nc2,'));
    const again = await run('import', 'in.rejects.csv', '--mapping', 'm.json');
    expect(again.code, again.stderr).toBe(0);
    expect(sandbox.show('companies', 'c2')?.metadata).toEqual({ name: 'B' });
  });

  test('reads an array inside a JSON file, and the items that were rejected', async ({ sandbox }) => {
    const text = '{"data":{"items":[{"company_id":"c1","n":1},{"company_id":"","n":2}]}}';
    const cwd = scratch({ 'in.json': text, 'm.json': '{"format":"json","json_path":"data.items"}' });
    const run = (...words: string[]) => cli(words, { cwd, env: environmentOf(sandbox) });
    const first = await run('import', 'in.json', '--mapping', 'm.json', '--skip-invalid');
    expect(first.code, first.stderr).toBe(5);
    const path = join(cwd, 'in.rejects.ndjson');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"company_id":""', '"company_id":"c2"'));
    const again = await run('import', 'in.rejects.ndjson', '--mapping', 'm.json');
    expect(again.code, again.stderr).toBe(0);
    expect(sandbox.show('companies', 'c2')?.metadata).toEqual({ n: 2 });
  });
});
