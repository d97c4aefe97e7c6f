/** `profiles inspect <input...>`: shows what an import would read (contract §1). Sends and stores nothing. */
import type { Command } from 'commander';
import { Exit, type ExitCode } from '../../engine/errors.js';
import { envelopeBytes, ID_FIELD, type Rejection } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';
import type { ReadOptions } from '../../engine/options.js';
import { DuplicateFinder, repeatWarning } from '../../engine/plan/duplicates.js';
import { EitherKind } from '../../engine/plan/either-kind.js';
import { lookAt } from '../../engine/plan/look.js';
import { filePlanOf, type PlannedInput } from '../../engine/plan/plan.js';
import type { Warning } from '../../engine/problems.js';
import {
  checkIdentifierKeys,
  checkOpened,
  checkScanned,
  hasIdentifierRule,
  type MappingFile,
  type OpenedInput,
  openInput,
  openZones,
  Pool,
  scanInput,
  writtenFacts,
} from '../../engine/read/index.js';
import { type AnySource, expandInputs, shownInputs } from '../../engine/run/sources.js';
import { keepFirst } from '../../engine/run/summary.js';
import type { Commands } from '../advice/commands.js';
import { inOneLine } from '../advice/hint.js';
import { shellWord } from '../advice/shell.js';
import { warningText } from '../advice/words.js';
import type { Context } from '../context.js';
import { saveMapping } from '../guide/files.js';
import { mappingOf } from '../guide/mapping.js';
import {
  type Found,
  type Given,
  identityQuestions,
  mappingQuestions,
  suggestedAnswers,
} from '../guide/questions.js';
import { Spool, sourceDeps } from '../guide/spool.js';
import { given, INSPECT, SENDING, valuesOf } from '../options/index.js';
import { safeLine, safeMessage } from '../output/safe.js';
import { formOn } from '../output/style.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { writeJson, writeOut } from '../output/write.js';
import { isAttended, nobodyToAsk } from '../prompts/index.js';
import { examples, type Flags, type Wire } from './command.js';
import { givenBy, readingOptions } from './import-options.js';

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
  given: Given;
  /** The mapping of the answers; null if nothing is asked. */
  ask: (() => Promise<MappingFile | null>) | null;
}

interface Inspected extends Pick<PlannedInput, 'opened' | 'scan'> {
  /** Whether the rows may be users or companies. */
  unclear: boolean;
  duplicates: number;
  /** The first 20 (`keepFirst`). */
  rejected: Rejection[];
  warnings: Warning[];
}

export function define(command: Command, wire: Wire): void {
  command.argument('<input...>', 'a file, folder, quoted pattern, zip:member, https:// URL, or - (stdin)');
  examples(command, [
    'profiles inspect companies.csv',
    'profiles inspect export.csv -k companies --id Symbol --write-mapping m.json',
    'profiles inspect companies.csv users.csv --json',
  ]);
  command.action(wire(options, run));
}

async function options(paths: readonly string[], flags: Flags, context: Context): Promise<Options> {
  const { importDefaults } = await context.settings();
  const sources = await stopOnSignal(context, () => expandInputs(paths, sourceDeps(context)));
  const { writeMapping = null, force = false } = given(INSPECT, flags);
  const { chunkBytes } = valuesOf({ chunkBytes: SENDING.chunkBytes }, importDefaults);
  const read = (more: Flags = {}) =>
    readingOptions(shownInputs(paths), { ...flags, ...more }, importDefaults, context);
  const reading = await read();
  const known = givenBy(flags);
  const ask = async (): Promise<MappingFile | null> => {
    const { askMapping } = await import('../guide/index.js');
    const remake = async (more: Flags) => ({ ...(await read(more)), chunkBytes });
    return askMapping({ paths, given: known, options: { ...reading, chunkBytes }, remake }, context);
  };
  const isAsked = known.all && writeMapping !== null;
  if (isAsked && !isAttended(context)) throw nobodyToAsk();
  return { reading, sources, chunkBytes, writeMapping, force, given: known, ask: isAsked ? ask : null };
}

async function run(
  { writeMapping, force, given, ask, ...how }: Options,
  context: Context,
): Promise<ExitCode> {
  const { stdout, stderr, env, flags } = context;
  if (ask && writeMapping !== null) {
    const mapping = await ask();
    if (mapping) await save(writeMapping, mapping, force, context);
    return Exit.done;
  }
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
    const found: Found[] = [];
    for (const one of flags.json || writeMapping !== null ? inspected : []) {
      const { path } = one.opened;
      found.push({ ...(await reading(path, (signal) => lookAt(one.opened, one, signal))), known: false });
    }
    if (flags.json) {
      const files = inspected.map((one) => documentOf(one, context.commands));
      const identities = identityQuestions(found, given);
      const asked = new Set(identities.map(({ path }) => path));
      const questions = [...identities, ...mappingQuestions(found, given, asked)];
      await writeJson(stdout, JSON.stringify({ files, questions }, null, 2));
    } else {
      const { filesText } = await import('../output/plan.js');
      const form = formOn(stdout, env, flags);
      await writeOut(stdout, filesText(inspected.map(filePlanOf), form));
    }
    for (const { opened, scan, warnings, rejected } of inspected) {
      for (const warning of warnings)
        context.warn(`${opened.path}: ${warningText(warning, context.commands)}`);
      if (!flags.quiet) await writeOut(stderr, rejections(rejected, scan.rows.rejected));
    }
    if (writeMapping !== null) {
      const mapping = mappingOf(found, suggestedAnswers(found, given));
      await save(writeMapping, { ...writtenFacts(how.reading), ...mapping }, force, context);
    }
    return Exit.done;
  } finally {
    await spool.remove();
  }
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
      collectIds: (ids, lines) => finder.add(ids, lines && { path: opened.path, lines }),
      collectKinds: (part) => kinds.add(part),
    });
    const found = { opened, scan, unclear: kinds.unclear };
    const warnings = [...warningsOf(found, reading.paths), ...repeatWarning(finder, [found])];
    return { ...found, rejected, warnings, duplicates: finder.count };
  } finally {
    await pool.close();
  }
}

/** The warnings that an import would print, and what it would ask about the kind of the rows. */
function warningsOf(
  { opened, scan, unclear }: Pick<Inspected, 'opened' | 'scan' | 'unclear'>,
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
    warnings: warnings.map((warning) => inOneLine(warningText(warning, commands))),
  };
}

function rejections(rejected: readonly Rejection[], total: number): string {
  const shown = rejected.slice(0, SHOWN).map(({ file, line, reason }) => `${file}:${line}: ${reason}`);
  if (total > shown.length) shown.push(`and ${count(total - shown.length, 'more rejected row')}`);
  return shown.map((line) => `${safeMessage(line)}\n`).join('');
}

/** Writes the mapping file, and says what to do with it. */
async function save(
  path: string,
  mapping: MappingFile,
  isReplaced: boolean,
  context: Context,
): Promise<void> {
  await saveMapping(path, mapping, { cwd: context.cwd, isReplaced, flag: '--write-mapping: ' });
  if (context.flags.quiet) return;
  const zones = openZones(mapping);
  const open =
    zones.length === 0
      ? ''
      : `replace <zone> in ${count(zones.length, 'place')}: ${safeLine(zones.join(', '))} (or write it again with --zone)\n`;
  await writeOut(
    context.stderr,
    `wrote ${safeLine(path)}; use it with --mapping ${safeLine(shellWord(path))}\n${open}`,
  );
}
