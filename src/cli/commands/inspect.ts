/** `profiles inspect <input...>`: shows what an import would read (contract §1). Sends and stores nothing. */
import { open as openFile, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { fileTrouble, noRoom } from '../../engine/file-trouble.js';
import { envelopeBytes, ID_FIELD, type Rejection } from '../../engine/model.js';
import { count, grouped } from '../../engine/numbers.js';
import type { ReadOptions } from '../../engine/options.js';
import { DuplicateFinder } from '../../engine/plan/duplicates.js';
import { EitherKind } from '../../engine/plan/either-kind.js';
import { filePlanOf, type PlannedInput } from '../../engine/plan/plan.js';
import type { Warning } from '../../engine/problems.js';
import {
  checkIdentifierKeys,
  checkOpened,
  checkScanned,
  hasIdentifierRule,
  mappingDraft,
  type OpenedInput,
  openInput,
  Pool,
  scanInput,
} from '../../engine/read/index.js';
import { replaceFile } from '../../engine/replace-file.js';
import { type AnySource, expandInputs, shownInputs } from '../../engine/run/sources.js';
import { keepFirst } from '../../engine/run/summary.js';
import { refuseForeignLink } from '../../engine/written-file.js';
import type { Commands } from '../again.js';
import type { Context } from '../context.js';
import { warningText } from '../messages.js';
import { given, INSPECT, SENDING, valuesOf } from '../options/index.js';
import { safeLine, safeMessage } from '../output/safe.js';
import { formOn } from '../output/style.js';
import { whileWaiting } from '../output/waiting.js';
import { writeJson, writeOut } from '../output/write.js';
import { shellWord } from '../shell.js';
import { examples, type Flags, stopOnSignal, type Wire } from './command.js';
import { readingOptions } from './import-options.js';
import { Spool, sourceDeps } from './inspect-spool.js';

/** The maximum number of rejected rows listed on stderr (contract §3 "Result"). */
const SHOWN = 10;

interface Options {
  reading: ReadOptions;
  sources: AnySource[];
  /** Maximum size of a request body, in bytes. A row is rejected if its item alone is larger. */
  chunkBytes: number;
  writeMapping: string | null;
  /** Whether an existing mapping file is replaced. */
  force: boolean;
}

interface Inspected extends Pick<PlannedInput, 'opened' | 'scan'> {
  duplicates: number;
  /** The first 20 (`keepFirst`). */
  rejected: Rejection[];
  warnings: Warning[];
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
  const { writeMapping = null, force = false } = given(INSPECT, flags);
  return {
    reading: await readingOptions(shownInputs(paths), flags, importDefaults, context),
    sources,
    chunkBytes: valuesOf({ chunkBytes: SENDING.chunkBytes }, importDefaults).chunkBytes,
    writeMapping,
    force,
  };
}

async function run({ writeMapping, force, ...how }: Options, context: Context): Promise<ExitCode> {
  const { stdout, stderr, env, flags } = context;
  const spool = new Spool(context);
  try {
    const opened: OpenedInput[] = [];
    const inspected: Inspected[] = [];
    const reading = <T>(path: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
      whileWaiting(`reading ${safeLine(path)}`, context, () => stopOnSignal(context, work));
    for (const source of how.sources) {
      const fetch = (signal: AbortSignal) => open(source, how.reading, spool, context, signal);
      opened.push(await reading(source.path, fetch));
    }
    checkOpened(opened, how.reading);
    checkIdentifierKeys(opened);
    for (const input of opened) {
      inspected.push(await reading(input.path, (signal) => inspect(input, how, context, signal)));
    }
    checkScanned(inspected, how.reading);
    if (flags.json) {
      await writeJson(
        stdout,
        JSON.stringify({ files: inspected.map((one) => documentOf(one, context.commands)) }, null, 2),
      );
    } else {
      const { filesText } = await import('../output/plan-text.js');
      const form = formOn(stdout, env, flags);
      await writeOut(stdout, filesText(inspected.map(filePlanOf), form));
    }
    for (const { opened, scan, warnings, rejected } of inspected) {
      for (const warning of warnings)
        warn(`${opened.path}: ${warningText(warning, context.commands)}`, context);
      if (!flags.quiet) await writeOut(stderr, rejections(rejected, scan.rows.rejected));
    }
    if (writeMapping !== null) await save(writeMapping, force, inspected, context);
    return Exit.done;
  } finally {
    await spool.remove();
  }
}

/** Prints a warning. Lines after the first are commands to paste, so unusual spaces stay as they are. */
function warn(text: string, { warn: say }: Context): void {
  say(
    text
      .split('\n')
      .map((line, index) => (index === 0 ? safeMessage(line) : safeLine(line)))
      .join('\n  '),
  );
}

async function open(
  source: AnySource,
  reading: ReadOptions,
  spool: Spool,
  context: Context,
  signal: AbortSignal,
): Promise<OpenedInput> {
  const { path, location } = await spool.fetch(source);
  return openInput(
    { ...reading, path, location, cwd: context.cwd, inputs: reading.paths, guess: true },
    signal,
  );
}

async function inspect(
  opened: OpenedInput,
  { reading, chunkBytes }: Pick<Options, 'reading' | 'chunkBytes'>,
  { cores }: Context,
  signal: AbortSignal,
): Promise<Inspected> {
  const pool = new Pool({ threads: Math.min(2, cores) });
  try {
    const rejected: Rejection[] = [];
    const finder = new DuplicateFinder();
    const kinds = new EitherKind();
    const scan = await scanInput(opened, {
      hashKey: new Uint8Array(0), // hashes are only compared within this file
      itemLimitBytes: chunkBytes - envelopeBytes(opened.kind),
      pool,
      signal,
      onRejected: ({ file, line, reason }) => keepFirst(rejected, { file, line, reason }),
      collectIds: (ids) => finder.add(ids),
      collectKinds: (part) => kinds.add(part),
    });
    const found = { opened, scan, duplicates: finder.count };
    return { ...found, rejected, warnings: warningsOf(found, kinds.unclear, reading.paths) };
  } finally {
    await pool.close();
  }
}

/** The warnings that an import would print, and what it would ask about the kind of the rows. */
function warningsOf(
  { opened, scan, duplicates }: Pick<Inspected, 'opened' | 'scan' | 'duplicates'>,
  unclear: boolean,
  paths: readonly string[],
): Warning[] {
  const { path, kind, idColumn, companyIdColumn, rules } = opened;
  // The suggestions themselves are shown.
  const warnings = scan.warnings.filter(({ problem }) => problem?.code !== 'looks_typed');
  if (opened.guessed) {
    const hasRule = hasIdentifierRule(rules, kind, [idColumn, companyIdColumn]);
    warnings.unshift({
      message: `the kind of its rows is not known; this shows them as ${kind} by ${idColumn}`,
      problem: {
        code: 'kind_unknown',
        path,
        paths,
        kind,
        column: idColumn,
        company: companyIdColumn,
        hasRule,
      },
    });
  }
  if (unclear) {
    warnings.unshift({
      message: `it may contain users or companies: ${idColumn} repeats and ${companyIdColumn} does not`,
      problem: { code: 'kind_ambiguous', path, user: idColumn, company: companyIdColumn! },
    });
  }
  const id = (scan.sample as Record<string, unknown> | null)?.[ID_FIELD[kind]];
  if (typeof id === 'string' && id.includes('@') && id !== id.toLowerCase()) {
    warnings.push({
      message: `${idColumn}: e-mail addresses with capital letters, such as ${JSON.stringify(id)}`,
      problem: { code: 'capital_emails', column: idColumn },
    });
  }
  if (duplicates > 0) {
    const rows = duplicates === 1 ? '1 row repeats' : `${grouped(duplicates)} rows repeat`;
    warnings.push({ message: `${rows} an earlier identifier` });
  }
  return warnings;
}

function documentOf(inspected: Inspected, commands: Commands): Record<string, unknown> {
  const { opened, scan, duplicates, rejected, warnings } = inspected;
  const { compression, idColumn, companyIdColumn } = opened;
  return {
    ...filePlanOf(inspected),
    compression,
    id: idColumn,
    company_id: companyIdColumn,
    duplicates,
    bytes: scan.bytes,
    rejected,
    warnings: warnings.map((warning) => warningText(warning, commands)),
  };
}

function rejections(rejected: readonly Rejection[], total: number): string {
  const shown = rejected.slice(0, SHOWN).map(({ file, line, reason }) => `${file}:${line}: ${reason}`);
  if (total > shown.length) shown.push(`and ${count(total - shown.length, 'more rejected row')}`);
  return shown.map((line) => `${safeMessage(line)}\n`).join('');
}

/** Writes the mapping file. Without `--force`, it overwrites no file, which may be somebody's work. */
async function save(
  path: string,
  force: boolean,
  inspected: readonly Inspected[],
  context: Context,
): Promise<void> {
  const draft = mappingDraft(inspected);
  const place = resolve(context.cwd, path);
  let isCreated = false;
  try {
    refuseForeignLink(force ? place : dirname(place));
    if (force) await replaceFile(place, draft);
    else {
      const file = await openFile(place, 'wx');
      isCreated = true;
      await file.writeFile(draft).finally(() => file.close());
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const exists = code === 'EEXIST';
    if (isCreated) await rm(place, { force: true }).catch(() => {}); // a part of it
    const full = noRoom(path, error);
    if (full) throw full;
    const why = code === 'ENOENT' ? 'its folder does not exist' : fileTrouble(code);
    throw new UsageError(
      `--write-mapping: ${path} ${exists ? 'already exists' : `cannot be written: ${why}`}`,
      { hint: exists ? 'choose another file, or replace this one with --force' : undefined, cause: error },
    );
  }
  if (!context.flags.quiet) {
    await writeOut(
      context.stderr,
      `wrote ${safeLine(path)}; use it with --mapping ${safeLine(shellWord(path))}\n`,
    );
  }
}
