/** `profiles inspect <input...>`: what an import would read from its files (contract §1). Sends and stores nothing. */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { envelopeBytes, type Rejection } from '../../engine/model.js';
import { count, grouped } from '../../engine/numbers.js';
import { NUMBERS, type ReadOptions } from '../../engine/options.js';
import { DuplicateFinder } from '../../engine/plan/duplicates.js';
import { filePlanOf, type PlannedInput } from '../../engine/plan/plan.js';
import { mappingDraft, notSpooled, openInput, Pool, scanInput } from '../../engine/read/index.js';
import {
  type AnySource,
  expandInputs,
  fetchSource,
  type Located,
  type SourceDeps,
} from '../../engine/run/sources.js';
import { keepFirst } from '../../engine/run/summary.js';
import type { Context } from '../context.js';
import { warningText } from '../messages.js';
import { given, INSPECT, SENDING, valuesOf } from '../options/index.js';
import { safeLine, safeMessage } from '../output/safe.js';
import { usesColor } from '../output/style.js';
import { terminalWidth } from '../output/terminal.js';
import { whileWaiting } from '../output/waiting.js';
import { writeJson, writeOut } from '../output/write.js';
import { shellWord } from '../shell.js';
import { examples, type Flags, type Wire } from './command.js';
import { readingOptions } from './reading.js';
import { stopOnSignal } from './stop-on-signal.js';

/** Rejected rows that are shown at a terminal (contract §3 "Result"). */
const SHOWN = 10;

interface Options {
  reading: ReadOptions;
  sources: AnySource[];
  /** Of a request's body, as an import would have it: a row whose item alone has more is rejected. */
  chunkBytes: number;
  writeMapping: string | null;
}

interface Inspected extends Pick<PlannedInput, 'opened' | 'scan'> {
  duplicates: number;
  /** The first 20. */
  rejected: Rejection[];
}

export function define(command: Command, wire: Wire): void {
  command.argument('<input...>', 'files, folders, patterns in quotes, https:// URLs; - is stdin');
  examples(command, [
    'profiles inspect companies.csv',
    'profiles inspect export.csv --kind companies --id Symbol --write-mapping mapping.json',
    'profiles inspect companies.csv users.csv --json',
  ]);
  command.action(wire(options, run));
}

async function options(paths: readonly string[], flags: Flags, context: Context): Promise<Options> {
  const { importDefaults } = await context.settings();
  const sources = await stopOnSignal(context, () => expandInputs(paths, sourceDeps(context)));
  const writeMapping = given(INSPECT, flags).writeMapping ?? null;
  if (writeMapping !== null && sources.length > 1) {
    throw new UsageError('--write-mapping takes one input, but there are several', {
      hint: 'inspect one file at a time',
    });
  }
  return {
    reading: await readingOptions(paths, flags, importDefaults, context.cwd),
    sources,
    chunkBytes: valuesOf({ chunkBytes: SENDING.chunkBytes }, importDefaults).chunkBytes,
    writeMapping,
  };
}

async function run({ writeMapping, ...how }: Options, context: Context): Promise<ExitCode> {
  const { stdout, stderr, env, flags } = context;
  const inspected: Inspected[] = [];
  for (const source of how.sources) {
    inspected.push(
      await whileWaiting(`reading ${safeLine(source.path)}`, context, () =>
        stopOnSignal(context, (signal) => inspect(source, how, context, signal)),
      ),
    );
  }
  if (flags.json) {
    await writeJson(stdout, JSON.stringify({ files: inspected.map(documentOf) }, null, 2));
  } else {
    const { filesText } = await import('../output/plan-text.js');
    const form = { width: terminalWidth(stdout), color: usesColor(stdout, env, flags) };
    await writeOut(stdout, filesText(inspected.map(filePlanOf), form));
  }
  for (const { opened, scan, duplicates, rejected } of inspected) {
    for (const warning of scan.warnings) context.warn(safeMessage(`${opened.path}: ${warningText(warning)}`));
    if (duplicates > 0) {
      const rows = duplicates === 1 ? '1 row repeats' : `${grouped(duplicates)} rows repeat`;
      context.warn(safeMessage(`${opened.path}: ${rows} an earlier identifier`));
    }
    if (!flags.quiet) await writeOut(stderr, rejections(rejected, scan.rows.rejected));
  }
  if (writeMapping !== null) await save(writeMapping, inspected[0]!, context);
  return Exit.done;
}

async function inspect(
  source: AnySource,
  { reading, chunkBytes }: Pick<Options, 'reading' | 'chunkBytes'>,
  context: Context,
  signal: AbortSignal,
): Promise<Inspected> {
  const { stateDir, timeoutMs } = await context.settings();
  const folder = join(stateDir, 'spool', `inspect-${randomUUID()}`);
  const made = source.from === 'file' ? null : folder;
  if (made !== null) {
    await mkdir(made, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw notSpooled(source.path, made, error);
    });
  }
  const pool = new Pool({ threads: Math.min(2, context.cores) });
  try {
    const fetching = fetchSource(
      source,
      { folder: () => folder, name: 'input' },
      sourceDeps(context, timeoutMs),
    );
    const { path, location } = await locatedBy(fetching, context);
    const opened = await openInput({ ...reading, path, location, cwd: context.cwd }, signal);
    const rejected: Rejection[] = [];
    const finder = new DuplicateFinder();
    const scan = await scanInput(opened, {
      hashKey: new Uint8Array(0), // hashes are compared within this file, and then forgotten
      itemLimitBytes: chunkBytes - envelopeBytes(opened.kind),
      pool,
      signal,
      onRejected: ({ file, line, reason }) => keepFirst(rejected, { file, line, reason }),
      collectIds: (ids) => finder.add(ids),
    });
    return { opened, scan, duplicates: finder.count, rejected };
  } finally {
    await pool.close();
    if (made !== null) await rm(made, { recursive: true, force: true });
  }
}

const sourceDeps = (context: Context, timeoutMs: number = NUMBERS.timeoutMs.default): SourceDeps => ({
  ...context,
  random: Math.random,
  download: { timeoutMs, proxy: context.env },
});

/** The spinner shows that something is on its way; warnings are said. */
async function locatedBy(fetching: ReturnType<typeof fetchSource>, context: Context): Promise<Located> {
  for (;;) {
    const next = await fetching.next();
    if (next.done) return next.value;
    if (next.value.type === 'warning') context.warn(next.value.message);
  }
}

function documentOf(inspected: Inspected): Record<string, unknown> {
  const { opened, scan, duplicates, rejected } = inspected;
  const { compression, idColumn, companyIdColumn } = opened;
  return {
    ...filePlanOf(inspected),
    compression,
    id: idColumn,
    company_id: companyIdColumn,
    duplicates,
    bytes: scan.bytes,
    rejected,
    warnings: scan.warnings.map(warningText),
  };
}

function rejections(rejected: readonly Rejection[], total: number): string {
  const shown = rejected.slice(0, SHOWN).map(({ file, line, reason }) => `${file}:${line}: ${reason}`);
  if (total > shown.length) shown.push(`and ${count(total - shown.length, 'more rejected row')}`);
  return shown.map((line) => `${safeMessage(line)}\n`).join('');
}

/** Never overwrites a file: it may hold somebody's work. */
async function save(path: string, { opened, scan }: Inspected, context: Context): Promise<void> {
  try {
    await writeFile(resolve(context.cwd, path), mappingDraft(opened, scan), { flag: 'wx' });
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new UsageError(
      `--write-mapping: ${path} ${exists ? 'already exists' : `cannot be written: ${(error as Error).message}`}`,
      { hint: exists ? 'choose another file, or remove this one' : undefined, cause: error },
    );
  }
  if (!context.flags.quiet) {
    await writeOut(
      context.stderr,
      `wrote ${safeLine(path)}; use it with --mapping ${safeLine(shellWord(path))}\n`,
    );
  }
}
