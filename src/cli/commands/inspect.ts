/** `profiles inspect <input...>`: shows what an import would read (contract §1). Sends and stores nothing. */
import { envelopeBytes, ID_FIELD, type Rejection } from '../../engine/model.js';
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
import { count } from '../../engine/util/numbers.js';
import type { Commands } from '../advice/commands.js';
import { inOneLine } from '../advice/hint.js';
import { shellWord } from '../advice/shell.js';
import { warningText } from '../advice/words.js';
import type { Context } from '../context.js';
import { Spool, saveMapping, sourceDeps } from '../guide/files.js';
import { mappingOf } from '../guide/mapping.js';
import {
  type Found,
  type Given,
  identityQuestions,
  mappingQuestions,
  suggestedAnswers,
} from '../guide/questions.js';
import { given, INSPECT, SENDING, valuesOf } from '../options/index.js';
import { stopOnSignal, whileWaiting } from '../output/display.js';
import { safeLine, safeMessage } from '../output/safe.js';
import { formOn } from '../output/terminal.js';
import { writeJson, writeOut } from '../output/write.js';
import { isAttended, nobodyToAsk } from '../prompts/index.js';
import { type Flags, spec } from './command.js';
import { givenBy, readingOptions } from './import-options.js';

/** The maximum number of rejected rows listed on stderr (contract §3 "Result"). */
const SHOWN = 10;

interface Options {
  paths: readonly string[];
  reading: ReadOptions;
  sources: AnySource[];
  /** Maximum size of a request body, in bytes. A row is rejected if its item alone is larger. */
  chunkBytes: number;
  writeMapping: string | null;
  /** Whether an existing mapping file is replaced. */
  force: boolean;
  given: Given;
  /** Reads the options again, with flags that were answered. */
  remake(more: Flags): Promise<ReadOptions & { chunkBytes: number }>;
}

interface Inspected extends Pick<PlannedInput, 'opened' | 'scan'> {
  /** Whether the rows may be users or companies. */
  unclear: boolean;
  duplicates: number;
  /** The first 20 (`keepFirst`). */
  rejected: Rejection[];
  warnings: Warning[];
}

export const command = spec({
  words: { '<input...>': 'a file, folder, quoted pattern, zip:member, https:// URL, or - (stdin)' },
  examples: [
    'profiles inspect companies.csv',
    'profiles inspect export.csv -k companies --id Symbol --write-mapping m.json',
    'profiles inspect companies.csv users.csv --json',
  ],
  options: async (paths, flags, context): Promise<Options> => {
    const { importDefaults } = await context.settings();
    const sources = await stopOnSignal(context, () => expandInputs(paths, sourceDeps(context)));
    const { writeMapping = null, force = false } = given(INSPECT, flags);
    const { chunkBytes } = valuesOf({ chunkBytes: SENDING.chunkBytes }, importDefaults);
    const remake = async (more: Flags) => {
      const all = { ...flags, ...more };
      return { ...(await readingOptions(shownInputs(paths), all, importDefaults, context)), chunkBytes };
    };
    const reading = await remake({});
    return { paths, reading, sources, chunkBytes, writeMapping, force, given: givenBy(flags), remake };
  },
  run: async (asked, context) => {
    const { paths, writeMapping, given, remake, reading, chunkBytes } = asked;
    if (!given.all || writeMapping === null) return run(asked, context);
    if (!isAttended(context)) throw nobodyToAsk();
    const { askMapping } = await import('../guide/index.js');
    const options = { ...reading, chunkBytes };
    const mapping = await askMapping({ paths, given, options, remake }, context);
    if (mapping) await save(mapping, asked, context);
  },
});

async function run(asked: Options, context: Context): Promise<void> {
  const { reading, writeMapping, given } = asked;
  const { stdout, stderr, env, flags, commands } = context;
  const spool = new Spool(context);
  const waiting = <T>(path: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    whileWaiting(`reading ${safeLine(path)}`, context, () => stopOnSignal(context, work));
  try {
    const opened: OpenedInput[] = [];
    for (const source of asked.sources) {
      const input = await waiting(source.path, async (signal) => {
        const { path, location } = await spool.fetch(source);
        const where = { path, location, cwd: context.cwd, inputs: reading.paths, guess: true };
        return openInput({ ...reading, ...where }, signal);
      });
      opened.push(input);
    }
    checkOpened(opened, reading);
    checkIdentifierKeys(opened);
    const inspected: Inspected[] = [];
    for (const input of opened) {
      inspected.push(await waiting(input.path, (signal) => inspect(input, asked, context, signal)));
    }
    checkScanned(inspected, reading);
    const found: Found[] = [];
    for (const one of flags.json || writeMapping !== null ? inspected : []) {
      const look = await waiting(one.opened.path, (signal) => lookAt(one.opened, one, signal));
      found.push({ ...look, known: false });
    }
    if (flags.json) {
      const files = inspected.map((one) => documentOf(one, commands));
      const identities = identityQuestions(found, given);
      const isAsked = new Set(identities.map(({ path }) => path));
      const questions = [...identities, ...mappingQuestions(found, given, isAsked)];
      await writeJson(stdout, JSON.stringify({ files, questions }, null, 2));
    } else {
      const { filesText } = await import('../output/plan.js');
      await writeOut(stdout, filesText(inspected.map(filePlanOf), formOn(stdout, env, flags)));
    }
    for (const { opened, scan, warnings, rejected } of inspected) {
      for (const warning of warnings) context.warn(`${opened.path}: ${warningText(warning, commands)}`);
      if (!flags.quiet) await writeOut(stderr, rejections(rejected, scan.rows.rejected));
    }
    if (writeMapping === null) return;
    const mapping = mappingOf(found, suggestedAnswers(found, given));
    await save({ ...writtenFacts(reading), ...mapping }, asked, context);
  } finally {
    await spool.remove();
  }
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
  mapping: MappingFile,
  { writeMapping, force: isReplaced }: Pick<Options, 'writeMapping' | 'force'>,
  { cwd, flags, stderr }: Context,
): Promise<void> {
  const path = writeMapping!;
  await saveMapping(path, mapping, { cwd, isReplaced, flag: '--write-mapping: ' });
  if (flags.quiet) return;
  const zones = openZones(mapping);
  const places = `replace <zone> in ${count(zones.length, 'place')}: ${safeLine(zones.join(', '))}`;
  const open = zones.length === 0 ? '' : `${places} (or write it again with --zone)\n`;
  const use = `use it with --mapping ${safeLine(shellWord(path))}`;
  await writeOut(stderr, `wrote ${safeLine(path)}; ${use}\n${open}`);
}
