/** `profiles inspect <input...>`: a plan that is not sent, without a state: what an import would read (contract §1). */

import { ID_FIELD, type Rejection } from '../../engine/model.js';
import { filePlanOf, type PlannedInput, scanAll } from '../../engine/plan/plan.js';
import { shareTypes, type TypedInput } from '../../engine/plan/shared-types.js';
import type { Problem } from '../../engine/problems.js';
import * as reading from '../../engine/read/index.js';
import { type AnySource, leftOutWarnings, shownInputs } from '../../engine/run/sources.js';
import { keepFirst } from '../../engine/run/summary.js';
import { count } from '../../engine/util/numbers.js';
import { inOneLine } from '../advice/hint.js';
import { shellWord } from '../advice/shell.js';
import { warningText } from '../advice/words.js';
import type { Context } from '../context.js';
import { type Deps, type LookOptions, sourcesOf, whileReading } from '../guide/inputs.js';
import { mappingOf, saveMapping } from '../guide/mapping.js';
import * as guide from '../guide/questions.js';
import { given, OTHERS, SENDING, valuesOf } from '../options/index.js';
import { safeLine, safeMessage, tableForm, writeJson, writeOut } from '../output/terminal.js';
import { isAttended, nobodyToAsk } from '../prompts/index.js';
import type { Spec } from './command.js';
import { givenBy, readingOptions } from './import-options.js';

/** The maximum number of rejected rows listed on stderr (contract §3 "Result"). */
const SHOWN = 10;

type Inspected = ReturnType<typeof inspect>;

export const command: Spec = {
  run: async (line, context) => {
    const { words: paths, flags } = line;
    const { importDefaults } = await context.settings();
    const sources = await sourcesOf(paths, context);
    for (const warning of await leftOutWarnings(paths, sources, context)) context.warn(warning);
    const { writeMapping = null, force = false } = given(OTHERS, flags);
    const { chunkBytes } = valuesOf({ chunkBytes: SENDING.chunkBytes }, importDefaults);
    const options = await readingOptions(shownInputs(paths), flags, importDefaults, context);
    // A row is rejected if its item alone is larger than a request may be.
    const how = { ...options, chunkBytes };
    const decided = givenBy(flags);
    const save = async (mapping: reading.MappingFile): Promise<void> => {
      const path = writeMapping!;
      await saveMapping(path, mapping, { cwd: context.cwd, isReplaced: force, flag: '--write-mapping: ' });
      if (context.flags.quiet) return;
      const zones = reading.openZones(mapping);
      const places = `replace <zone> in ${count(zones.length, 'place')}: ${safeLine(zones.join(', '))}`;
      const open = zones.length === 0 ? '' : `${places} (or write it again with --zone)\n`;
      const use = `use it with --mapping ${safeLine(shellWord(path))}`;
      await writeOut(context.stderr, `wrote ${safeLine(path)}; ${use}\n${open}`);
    };
    if (decided.all && writeMapping !== null) {
      if (!isAttended(context)) throw nobodyToAsk();
      const { askMapping } = await import('./guided.js');
      const mapping = await askMapping(line, how, context);
      if (mapping && 'argv' in mapping) return mapping;
      return mapping ? save(mapping) : undefined;
    }
    const isAsked = context.flags.json === true || writeMapping !== null;
    const { inspected, found } = await look(sources, how, isAsked, context);
    await print(inspected, found, decided, context);
    if (writeMapping === null) return undefined;
    const { answers, left } = guide.suggestedAnswers(found, decided);
    for (const why of left) context.warn(why);
    const mapping = mappingOf(found, answers, context.commands);
    return save({ ...reading.writtenFacts(how), ...mapping });
  },
};

/** Opens and scans the inputs as an import would, with a guess where that would ask. */
const look = (sources: readonly AnySource[], how: LookOptions, isAsked: boolean, context: Context) =>
  whileReading({ ...how, guess: true }, context, async (inputs) => {
    await inputs.open(sources);
    const types: TypedInput[] = [];
    const scanned = await inputs.each((opened, deps) => scan(opened, how.chunkBytes, { ...deps, types }));
    shareTypes(types);
    const inspected = scanned.map((one) => inspect(one, how));
    reading.checkScanned(inspected, how);
    return { inspected, found: isAsked ? await inputs.looks(inspected) : [] };
  });

async function scan(
  opened: reading.OpenedInput,
  itemLimitBytes: number,
  deps: Deps & { types: TypedInput[] },
) {
  /** The first 20. */
  const rejected: Rejection[] = [];
  const scanning = scanAll([opened], {
    ...{ ...deps, itemLimitBytes, looks: true },
    hashKey: Buffer.alloc(0), // hashes are only compared within this file
    reject: (_, { file, line, reason }) => keepFirst(rejected, { file, line, reason }),
  });
  let next = await scanning.next();
  while (!next.done) next = await scanning.next();
  const { inputs, duplicates, warnings } = next.value;
  const [input] = inputs as [PlannedInput];
  // Those of its cells depend on other inputs, too.
  const others = warnings.slice(input.scan.warnings.length);
  return { input, rejected, others, duplicates: duplicates.get(opened.kind)?.count ?? 0 };
}

function inspect(
  { input, others, ...found }: Awaited<ReturnType<typeof scan>>,
  { paths, stated }: LookOptions,
) {
  const { path } = input.opened;
  const own = others.map((one) => ({ ...one, message: one.message.slice(path.length + 2) }));
  // The suggestions themselves are shown.
  const said = input.scan.warnings.filter(({ problem }) => problem?.code !== 'looks_typed');
  const warnings = [...askedOf(input, paths, stated), ...said, ...own, ...capitalsIn(input)];
  return { ...input, ...found, warnings };
}

const warning = (message: string, problem: Problem) => ({ message, problem });

/** What an import would ask about the kind of the rows. */
function askedOf({ opened, unclear }: PlannedInput, paths: readonly string[], stated: LookOptions['stated']) {
  const { path, kind, idColumn: column, companyIdColumn: company } = opened;
  const unclearKind = `it may contain users or companies: ${column} repeats and ${company} does not`;
  const unknown = `the kind of its rows is not known; this shows them as ${kind} by ${column || '""'}`;
  const hasRule = reading.hasIdentifierRule(stated, kind, [column, company]);
  const asked: { message: string; problem: Problem }[] = [];
  if (unclear)
    asked.push(warning(unclearKind, { code: 'kind_ambiguous', path, user: column, company: company! }));
  if (opened.guessed)
    asked.push(warning(unknown, { code: 'kind_unknown', path, paths, kind, column, company, hasRule }));
  return asked;
}

function capitalsIn({ opened: { kind, idColumn: column }, scan }: PlannedInput) {
  const id = (scan.sample as Record<string, unknown> | null)?.[ID_FIELD[kind]];
  if (typeof id !== 'string' || !id.includes('@') || id === id.toLowerCase()) return [];
  const message = `${column}: e-mail addresses with capital letters, such as ${JSON.stringify(id)}`;
  return [warning(message, { code: 'capital_emails', column })];
}

async function print(
  inspected: readonly Inspected[],
  found: readonly guide.Found[],
  given: guide.Given,
  context: Context,
): Promise<void> {
  const { stdout, stderr, flags, commands } = context;
  if (flags.json) {
    const files = inspected.map((one) => ({
      ...filePlanOf(one),
      compression: one.opened.compression,
      id: one.opened.idColumn,
      company_id: one.opened.companyIdColumn,
      duplicates: one.duplicates,
      bytes: one.scan.bytes,
      rejected: one.rejected,
      warnings: one.warnings.map((warning) => inOneLine(warningText(warning, commands))),
    }));
    const identities = guide.identityQuestions(found, given);
    const wasAsked = new Set(identities.map(({ path }) => path));
    const questions = [...identities, ...guide.mappingQuestions(found, given, wasAsked)];
    await writeJson(stdout, JSON.stringify({ files, questions }, null, 2));
  } else {
    const { filesText } = await import('../output/plan.js');
    await writeOut(stdout, filesText(inspected.map(filePlanOf), tableForm(context)));
  }
  for (const { opened, scan, warnings, rejected } of inspected) {
    for (const warning of warnings) context.warn(`${opened.path}: ${warningText(warning, commands)}`);
    const shown = rejected.slice(0, SHOWN).map(({ file, line, reason }) => `${file}:${line}: ${reason}`);
    const more = scan.rows.rejected - shown.length;
    if (more > 0) shown.push(`and ${count(more, 'more rejected row')}`);
    if (!flags.quiet) await writeOut(stderr, shown.map((line) => `${safeMessage(line)}\n`).join(''));
  }
}
