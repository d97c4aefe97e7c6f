/** Columns as parquet-wasm reads them, held against hyparquet; and its thread, which a damaged file may end. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ArrowFile, formOf } from '../../../src/engine/read/parquet/arrow.js';
import { type FileColumn, openParquet, type ParquetFile } from '../../../src/engine/read/parquet/file.js';
import { ColumnPages } from '../../../src/engine/read/parquet/pages.js';
import { scratch } from '../../support/cli.js';
import { FIXTURES, open } from './reading.js';

const FOLDER = `${FIXTURES}columnar`;
const UNREADABLE = ['cut-off.parquet', 'hollow.parquet', 'not-utf-8.parquet'];
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.parquet') && !UNREADABLE.includes(name));
const SCRIPT = new URL('../../../dist/arrow-worker.cjs', import.meta.url);

const shown = (value: unknown): string => {
  if (value instanceof Uint8Array) return `text ${Buffer.from(value)}`;
  return Object.is(value, -0) ? '-0' : String(value);
};

async function byArrow(arrow: ArrowFile, { name, node }: FileColumn): Promise<string[]> {
  const found: string[] = [];
  for await (const { count, isNull, value } of arrow.values(name, node.element))
    for (let row = 0; row < count; row++) found.push(isNull?.(row) ? 'null' : shown(value(row)));
  return found;
}

async function byPages(file: ParquetFile, column: FileColumn): Promise<string[]> {
  const found: string[] = [];
  for (const group of file.groups) {
    const pages = new ColumnPages(file, column, group);
    for (let first = 0; first < Number(group.num_rows); ) {
      const { count, value } = await pages.from(first);
      for (let row = 0; row < count; row++) found.push(shown(value(row)));
      first += count;
    }
  }
  return found;
}

it('both libraries read the same values, and of each type that both have', async () => {
  const types = new Set<string>();
  for (const name of FILES) {
    const file = await openParquet(await open(name, { cwd: FOLDER, kind: 'companies', id: 'company_id' }));
    const arrow = new ArrowFile(join(FOLDER, name), SCRIPT);
    for (const column of file.columns.filter(({ isFlat, node }) => isFlat && formOf(node.element))) {
      const found = await byArrow(arrow, column);
      if (found.length === 0) continue; // another form, such as a decimal
      expect([name, column.name, found]).toEqual([name, column.name, await byPages(file, column)]);
      const { logical_type, type } = column.node.element;
      types.add(`${type} ${logical_type?.type ?? ''}`.trim());
    }
    await arrow.close();
    await file.close();
  }
  expect([...types].sort()).toEqual([
    ...['BOOLEAN', 'BYTE_ARRAY', 'BYTE_ARRAY STRING', 'DOUBLE', 'FLOAT', 'INT32', 'INT32 DATE', 'INT64'],
    ...['INT64 TIME', 'INT64 TIMESTAMP'],
  ]);
}, 60_000);

it('a thread that ends leaves the values to hyparquet', async () => {
  const script = join(scratch(), 'ends.cjs');
  writeFileSync(
    script,
    'require("node:worker_threads").parentPort.once("message", () => { throw new Error(); })',
  );
  const file = await openParquet(await open('steps.parquet', { cwd: FOLDER }));
  onTestFinished(() => file.close());
  const arrow = new ArrowFile(join(FOLDER, 'steps.parquet'), new URL(`file://${script}`));
  for (const column of file.columns) expect(await byArrow(arrow, column)).toEqual([]);
  await arrow.close();
});
