/**
 * Pages of inputs, with what is read of them. `$ read <file> {options}` prints each item behind its line, each rejected row
 * with its reason, how many rows were filtered, and the warnings; `$ columns` what the plan says of the columns; `$ originals`
 * what rejected rows were. Rules of columns stand beside the other options, pairs of them as an object. Files are those of
 * the section, else those in `fixtures`; a block of `xlsx` has a row of a workbook on each line.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ProfilesError } from '../../../src/engine/errors.js';
import type { ColumnPlan } from '../../../src/engine/model.js';
import { NO_RULES } from '../../../src/engine/read/index.js';
import { scratch } from '../../support/cli.js';
import { type Block, page, type Session } from '../../support/page.js';
import { workbook } from '../../support/workbook.js';
import { FIXTURES, type Reading, type ReadOptions, read } from './reading.js';

const PAGES = join(import.meta.dirname, 'pages');
const RULES = new Set([...Object.keys(NO_RULES), 'keys', 'nulls', 'trim', 'allowIds']);
const PAIRS = new Set(['map', 'set', 'types']);

class Reader implements Session {
  readonly #folder = scratch();

  write({ language, file, text }: Block): void {
    const rows = (): unknown[] =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    writeFileSync(join(this.#folder, file), language === 'xlsx' ? workbook(rows() as never) : text);
  }

  async type(line: string): Promise<string> {
    const [, command, name, json = '{}'] = /^(\w+) (\S+)(?: (\{.*\}))?$/.exec(line) ?? [];
    const cwd = existsSync(join(this.#folder, name!)) ? this.#folder : FIXTURES;
    try {
      const reading = await read(name!, { cwd, ...optionsOf(JSON.parse(json)) });
      if (command === 'columns') return columnsOf(reading);
      if (command === 'originals') return originalsOf(reading);
      return rowsOf(reading);
    } catch (error) {
      if (!(error instanceof ProfilesError)) throw error;
      const { message, hint, exit } = error;
      return `${said(message)}\n${hint === undefined ? '' : `  ${said(hint).replaceAll('\n', '\n  ')}\n`}[${exit}]\n`;
    }
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

/** What Node and libraries say differs between their versions. */
const said = (text: string): string => text.replace(/(is not valid JSON: )[A-Z].*|(is damaged: ).*/, '$1$2…');

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
    ...scan.warnings.map(({ message }) => `warning: ${message}`),
    '',
  ].join('\n');
}

const originalsOf = ({ rejected }: Reading): string =>
  rejected.map(({ line, original }) => `${line} ${JSON.stringify(original)}\n`).join('');

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
    ...scan.warnings.map(({ message }) => `warning: ${message}`),
    '',
  ].join('\n');
}

for (const name of readdirSync(PAGES)) page(join(PAGES, name), () => new Reader());

it('every fixture has its section', () => {
  const files = readdirSync(join(FIXTURES, 'input')).filter((name) => !name.startsWith('.'));
  const named = readFileSync(join(PAGES, 'fixtures.md'), 'utf8').matchAll(/^## (\S+)$/gm);
  expect(Array.from(named, ([, name]) => name).sort()).toEqual(files.sort());
});
