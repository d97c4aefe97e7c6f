/** Reads an input the way an import does, scan then items, and gives what matters of it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NUMBERS } from '../../../src/engine/options.js';
import {
  buildItems,
  checkOpened,
  checkScanned,
  type InputOptions,
  itemIn,
  NO_RULES,
  type OpenedInput,
  openInput,
  Pool,
  type RejectedRecord,
  type Scan,
  scanInput,
} from '../../../src/engine/read/index.js';
import type { ScannedPart, ScanOptions } from '../../../src/engine/read/scan.js';
import { scratch } from '../../support/cli.js';

export const FIXTURES = fileURLToPath(new URL('../../../fixtures/', import.meta.url));
export const KEY = Buffer.from('a key of the tests');
/** The work stays on the calling thread. */
export const HERE = new Pool({ threads: 0 });

const DEFAULTS = { hashKey: KEY, itemLimitBytes: 4 * 1024 * 1024, pool: HERE, idRows: 100_000 };

export interface ReadOptions extends Partial<InputOptions> {
  itemLimitBytes?: number;
}

export interface Reading {
  input: OpenedInput;
  scan: Scan;
  items: unknown[];
  /** The items' JSON texts. */
  texts: string[];
  /** Of the items. */
  lines: number[];
  rejected: RejectedRecord[];
  /** `line: reason`, as the scan found them. */
  reasons: string[];
}

export async function open(path: string, options: ReadOptions = {}): Promise<OpenedInput> {
  const input = await openInput({
    path,
    location: path,
    cwd: FIXTURES,
    maxCellBytes: NUMBERS.maxCellBytes.default,
    rules: NO_RULES,
    ...options,
  });
  checkOpened([input], options);
  return input;
}

/** Scans an input to its end. */
export async function scanned(
  input: OpenedInput,
  options: Partial<ScanOptions>,
  see: (part: ScannedPart) => unknown = () => {},
): Promise<Scan> {
  const { parts, result } = scanInput(input, { ...DEFAULTS, ...options });
  for await (const part of parts) await see(part);
  return result();
}

/** Reads a file, by its path in `fixtures/` or its full path. */
export async function read(path: string, options: ReadOptions = {}): Promise<Reading> {
  const { itemLimitBytes } = { ...DEFAULTS, ...options };
  const input = await open(path, options);
  const reasons: string[] = [];
  const scan = await scanned(input, { itemLimitBytes }, ({ rejected }) => {
    reasons.push(...rejected.map(({ line, reason }) => `${line}: ${reason}`));
  });
  checkScanned([{ opened: input, scan }], options);
  const texts: string[] = [];
  const lines: number[] = [];
  const rejected: RejectedRecord[] = [];
  for await (const batch of buildItems(input, scan.schema, { hashKey: KEY, pool: HERE })) {
    for (let at = 0; at < batch.ends.length; at++) texts.push(itemIn(batch, at).toString());
    lines.push(...batch.lines);
    rejected.push(...batch.rejected);
  }
  return { input, scan, items: texts.map((text) => JSON.parse(text)), texts, lines, rejected, reasons };
}

/** Writes a file of the test's own and gives its path. */
export function file(name: string, content: string | Uint8Array): string {
  const path = join(scratch(), name);
  writeFileSync(path, content);
  return path;
}

/** Reads text as if it were a file. */
export const readText = (
  name: string,
  content: string | Uint8Array,
  options: ReadOptions = {},
): Promise<Reading> => read(file(name, content), options);
