/**
 * Pages of inputs, with what is read of them. `$ read <file> {options}` prints each item behind its line, each rejected row
 * with its reason, how many rows were filtered, and the warnings; `$ columns` what the plan says of the columns; `$ originals`
 * what rejected rows were, and their causes; `$ causes` what
 * is said of them; `$ cells <type> […]` a column `at` of these cells, and what is sent if it is something else;
 * `$ mapping {…}` what a mapping file says. Rules of columns stand beside the other options, pairs of them as an object. Files are those of
 * the section, else those in `fixtures`; a block of `xlsx` has a row of a workbook on each line.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ProfilesError } from '../../../src/engine/errors.js';
import type { ColumnPlan } from '../../../src/engine/model.js';
import { NO_RULES, unpackMember } from '../../../src/engine/read/index.js';
import { readMapping } from '../../../src/engine/read/mapping/mapping-file.js';
import { CauseTotals } from '../../../src/engine/run/causes.js';
import { scratch } from '../../support/cli.js';
import { type Block, page, type Session } from '../../support/page.js';
import { workbook } from '../../support/workbook.js';
import { zip } from '../../support/zip.js';
import { FIXTURES, type Reading, type ReadOptions, read } from './reading.js';

const PAGES = join(import.meta.dirname, 'pages');
const RULES = new Set([...Object.keys(NO_RULES), 'keys', 'nulls', 'trim', 'allowIds']);
const PAIRS = new Set(['map', 'set', 'types']);

class Reader implements Session {
  readonly #folder = scratch();

  write({ language, file, text }: Block): void {
    const rows = () => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    const content: Record<string, () => Uint8Array> = {
      xlsx: () => workbook(rows()),
      zip: () => zip(rows()),
      hex: () => Buffer.from(text, 'hex'),
    };
    writeFileSync(join(this.#folder, file), content[language]?.() ?? text);
  }

  async type(line: string): Promise<string> {
    const [, command, name = '', json = '{}'] = /^(\w+) (.*?) ?([[{].*)?$/.exec(line) ?? [];
    try {
      if (command === 'mapping') return await this.#mapping(json);
      if (command === 'cells') return await this.#cells(line);
      if (command === 'unpack') return await this.#unpack(name, JSON.parse(json));
      if (command === 'causes' && line.endsWith(']')) return causesOf(await this.#column(line));
      const cwd = existsSync(join(this.#folder, name)) ? this.#folder : FIXTURES;
      const reading = await read(name, { cwd, ...optionsOf(JSON.parse(json)) });
      if (command === 'columns') return columnsOf(reading);
      if (command === 'originals') return originalsOf(reading);
      if (command === 'causes') return causesOf(reading);
      return rowsOf(reading);
    } catch (error) {
      if (!(error instanceof ProfilesError)) throw error;
      const { hint, exit } = error;
      const advice = hint === undefined ? '' : `  ${said(hint).replaceAll('\n', '\n  ')}\n`;
      return `${said(withProblem(error))}\n${advice}[${exit}]\n`;
    }
  }

  async #mapping(text: string): Promise<string> {
    writeFileSync(join(this.#folder, 'm.json'), text);
    return (await readMapping('m.json', this.#folder)).map((one) => `${JSON.stringify(one)}\n`).join('');
  }

  async #unpack(name: string, { member = null }: { member?: string | null }): Promise<string> {
    const to = join(this.#folder, 'member');
    rmSync(to, { force: true });
    const how = { path: name, member, join: (one: string) => `${name}:${one}` };
    await unpackMember(join(this.#folder, name), to, how).finally(() => {
      // For nobody else to read; nothing of it is left where it is refused.
      if (existsSync(to)) expect(statSync(to).mode & 0o777).toBe(0o600);
    });
    return `${readFileSync(to, 'utf8')}\n`;
  }

  async #cells(line: string): Promise<string> {
    const reading = await this.#column(line);
    rowsOf(reading);
    const metadata = reading.items.map((item) => (item as { metadata?: object }).metadata ?? {});
    const values = metadata.map((one) => (Object.keys(one).join() === 'at' ? Object.values(one)[0] : one));
    const isSent = values.some((value, at) => `${value}` !== this.#given[at]);
    const sent = JSON.stringify(values.slice(0, 9)).slice(1, -1) + (values.length > 9 ? ', …' : '');
    return [
      ...(isSent ? [`sent: ${sent}`] : []),
      ...reading.reasons.map((reason) => `rejected ${reason}`),
      '',
    ]
      .join('\n')
      .concat(columnsOf(reading).split('\n').slice(2).join('\n'));
  }

  #given: string[] = [];

  /** Reads a column `at` of these cells. */
  async #column(line: string): Promise<Reading> {
    const [, given = '', list] = /^\w+ (\{.*\}|.*?) ?(\[.*\])$/.exec(line)!;
    this.#given = (JSON.parse(list!) as string[]).flatMap((cell) => {
      const [, text, times] = /^(.*) × (\d+)$/.exec(cell) ?? [null, cell, 1];
      return Array.from({ length: Number(times) }, () => text!);
    });
    const options = given.startsWith('{') ? JSON.parse(given) : given && { types: { at: given } };
    const rows = this.#given.map((cell, at) => `c${at},"${cell.replaceAll('"', '""')}"\n`);
    writeFileSync(join(this.#folder, 'a.csv'), `company_id,at\n${rows.join('')}`);
    return read('a.csv', { cwd: this.#folder, ...optionsOf(options || {}) });
  }
}

function optionsOf(given: Record<string, unknown>): ReadOptions {
  const rules = Object.entries(given).filter(([name]) => RULES.has(name));
  const others = Object.entries(given).filter(([name]) => !RULES.has(name));
  const pairs = rules.map(([name, value]) => [
    name,
    PAIRS.has(name) ? Object.entries(value as object) : value,
  ]);
  return { ...Object.fromEntries(others), rules: { ...NO_RULES, ...Object.fromEntries(pairs) } };
}

/** A message, and below it what programs are told. */
const withProblem = ({ message, problem }: { message: string; problem?: object | undefined }): string =>
  problem ? `${message}\n  ${JSON.stringify(problem)}` : message;

/** What Node and libraries say differs between their versions. */
const said = (text: string): string => text.replace(/(is not (?:valid )?JSON: |is damaged: )[A-Z].*/, '$1…');

function rowsOf({ scan, texts, lines, rejected, reasons }: Reading): string {
  expect(scan.rows).toMatchObject({ read: texts.length + reasons.length + scan.rows.filtered });
  expect(scan.rows.rejected).toBe(reasons.length);
  expect(rejected.map(({ line, reason }) => `${line}: ${reason}`)).toEqual(reasons);
  // The plan's bytes are those that are sent.
  expect(scan.bytes).toBe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  expect(scan.sample).toEqual(texts[0] === undefined ? null : JSON.parse(texts[0]));
  return [
    ...texts.map((text, at) => `${lines[at]} ${text}`),
    ...reasons.map((reason) => `rejected ${reason}`),
    ...(scan.rows.filtered === 0 ? [] : [`filtered ${scan.rows.filtered} of ${scan.rows.read}`]),
    ...scan.warnings.map((warning) => `warning: ${withProblem(warning)}`),
    '',
  ].join('\n');
}

const originalsOf = ({ rejected }: Reading): string =>
  rejected
    .map(({ line, row, original, cause }) => `${JSON.stringify({ line, row, ...original, cause })}\n`)
    .join('');

function causesOf({ input, rejected }: Reading): string {
  const totals = new CauseTotals();
  for (const each of rejected) totals.add(input, Object.assign({ file: input.path }, each));
  return totals
    .list()
    .map(
      ({ file: _, first_line: __, problem, ...cause }) =>
        `${withProblem({ message: JSON.stringify(cause), problem })}\n`,
    )
    .join('');
}

function columnsOf({ input, scan }: Reading): string {
  const { kind, format, idColumn, companyIdColumn, sheet } = input;
  const place = sheet ? ` of ${sheet.name}` : '';
  const ids = [idColumn, companyIdColumn].filter((column) => column !== null);
  const typeOf = ({ conversion, type, suggested }: ColumnPlan): string =>
    [conversion ?? type, ...(suggested ?? []).map((other) => `${other}?`)].join(' ');
  return [
    `${kind} by ${ids.join(', ')}, ${format}${place}`,
    ...scan.columns.map((column) => {
      const { column: name, key, reason, empty } = column;
      return `${name}${key === name ? '' : ` → ${key}`}: ${typeOf(column)}, ${reason}, ${empty} empty`;
    }),
    ...scan.warnings.map((warning) => `warning: ${withProblem(warning)}`),
    '',
  ].join('\n');
}

for (const name of readdirSync(PAGES)) page(join(PAGES, name), () => new Reader());

it('every fixture has its section', () => {
  const files = readdirSync(join(FIXTURES, 'input')).filter((name) => !name.startsWith('.'));
  const named = readFileSync(join(PAGES, 'fixtures.md'), 'utf8').matchAll(/^## (\S+)$/gm);
  expect(Array.from(named, ([, name]) => name).sort()).toEqual(files.sort());
});
