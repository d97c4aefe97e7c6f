/**
 * The guided import: at a terminal, it asks what flags, mapping, and columns leave open. It looks at the inputs, asks,
 * plans without a lock, asks what the plan leaves open, and only then writes and sends. While a person thinks, nothing
 * is held.
 */

import { AuthError, InputError, NotConfirmedError, ProfilesError } from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import { isKnownLayout } from '../../engine/plan/key-checks.js';
import { type MappingFile, writtenFacts } from '../../engine/read/index.js';
import { optionsOfPlan } from '../../engine/run/plan-file.js';
import { INPUTS, type Start } from '../../engine/run/start.js';
import { count } from '../../engine/util/numbers.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { ANSWER_AGAIN, askInstead, type Last, lastFor, type Settled } from '../guide/again.js';
import { askAll, askCompany, askIdentity, invalidLines, planLines } from '../guide/ask.js';
import { type Inputs, type LookOptions, sourcesOf, whileReading } from '../guide/inputs.js';
import * as mappings from '../guide/mapping.js';
import * as questions from '../guide/questions.js';
import { unlikeText } from '../guide/shared-types.js';
import { openPrompter } from '../prompts/index.js';
import type { Prompter } from '../prompts/plain.js';
import type { Instead, Line } from './command.js';
import { whereTo } from './confirm.js';
import { givenBy, importOptions, mappingFiles } from './import-options.js';
import { rehearse, requireService } from './import-run.js';

type Found = questions.Found;

/** An import of which nothing is open any more. */
export interface Prepared {
  options: ImportOptions;
  start: Start;
  /** The same import without questions; absent if none was asked. */
  last?: Last | undefined;
  /** The mapping file that was written. */
  saved?: string | null;
  /** Warnings that were shown. */
  seen?: readonly string[] | undefined;
}

/**
 * @returns what was answered, or the command line to run instead
 * @throws InterruptedError, NotConfirmedError: nothing was sent, and nothing was written but the answers; InputError;
 * UsageError
 */
export async function guideImport(line: Line, context: Context): Promise<Prepared | Instead> {
  try {
    const options = await importOptions(line.words, line.flags, context);
    return await whileReading(options, context, (inputs) => guided(line, options, inputs, context));
  } catch (error) {
    return askInstead(error, context);
  }
}

async function guided(
  { words: paths, flags }: Line,
  options: ImportOptions,
  inputs: Inputs,
  context: Context,
): Promise<Prepared | Instead> {
  const { answered, commands, cwd } = context;
  const nothing = { mapping: null, saved: null, skipsInvalid: false, inputs: [] };
  const plain = { options, start: INPUTS, last: answered && lastFor(nothing, options, commands) };
  const sources = await sourcesOf(paths, context);
  const isOpen = mappingFiles(flags).length === 0 && answered?.mapping === undefined;
  const beside = isOpen ? mappings.mappingBeside(sources, cwd) : null;
  if (beside !== null) {
    if (await inputs.hasRejects(sources)) return plain;
    if (await (await openPrompter(context)).confirm(`Use the mapping in ${beside}?`, true)) {
      const argv = commands.argv({ plus: ['--mapping', beside] });
      return { argv, answered: { ...answered, mapping: beside } };
    }
  }
  if (!(await inputs.open(sources))) return plain;
  // Not before the inputs can be read: an answer may begin the command again.
  await requireService(options, context);
  const own = givenBy(flags);
  const given = { ...own, columns: own.columns || typeof answered?.mapping === 'string' };
  const { found, mapping } = await settle(inputs, given, context, true);
  const final = mapping === null ? options : await importOptions(paths, flags, context, mapping);
  const isInvalid = found.some(({ rejected }) => rejected > 0) && stopsAtInvalid(final);
  // Who has said how a file is read sees the plan before it is sent.
  const isDone = found.length === 0 || !(given.all || isInvalid || answered?.reading);
  if (mapping === null && isDone) return plain;
  const freeName = (): string => mappings.freeName(sources, cwd);
  return await finish(final, { mapping, inputs: inputs.opened }, freeName, context);
}

/**
 * The mapping that a person makes of some inputs, without an import. @returns null for rejects files, which need none
 * @throws as `guideImport` does
 */
export const askMapping = (
  { words: paths, flags }: Line,
  options: LookOptions,
  context: Context,
): Promise<MappingFile | Instead | null> =>
  whileReading(options, context, async (inputs) => {
    if (!(await inputs.open(await sourcesOf(paths, context)))) return null;
    return (await settle(inputs, givenBy(flags), context, false)).mapping;
  }).catch((error) => askInstead(error, context));

const stopsAtInvalid = ({ invalid, dryRun }: ImportOptions): boolean => invalid === 'none' && !dryRun;

/**
 * Asks what the inputs leave open.
 * @param isImport which has nothing to ask about files without rows, and asks of what is new to the state
 * @returns `found`: none without rows; `mapping`: null if nothing was open
 */
async function settle(
  inputs: Inputs,
  given: questions.Given,
  context: Context,
  isImport: boolean,
): Promise<{ found: Found[]; mapping: MappingFile | null }> {
  const known = (looks: Found[]) => (isImport ? withKnown(looks, context) : looks);
  let found = await known(await inputs.looks());
  if (isImport && found.every(({ rows }) => rows === 0)) {
    const unknown = found.find(({ guessed }) => guessed);
    if (unknown) throw new InputError('has no rows', { file: unknown.path });
    return { found: [], mapping: null };
  }
  const identities = questions.identityQuestions(found, given);
  for (const question of identities)
    await inputs.identify(question.path, await askIdentity(question, await openPrompter(context)));
  if (identities.length > 0) found = await known(await inputs.looks());
  const companies = questions.companyQuestions(found);
  // A rule is for all inputs of a kind, so a column of several is asked about once.
  const isCompany = new Map<string, boolean>();
  for (const question of companies) {
    const { path, id, column } = question;
    const isTheirs = isCompany.get(column) ?? (await askCompany(question, await openPrompter(context)));
    isCompany.set(column, isTheirs);
    if (isTheirs) await inputs.identify(path, { kind: 'users', id, company: column });
  }
  if (companies.length > 0) found = await known(await inputs.looks());
  const asked = identities.length + companies.length;
  const asking = questions.mappingQuestions(found, given, new Set(identities.map(({ path }) => path)));
  const canShare = mappings.canShare(found);
  if (!canShare && (asked > 0 || given.all)) throw mappings.notShared(found, context.commands);
  // If no mapping can be for all, each file says what it is.
  if (!canShare || asked + asking.length === 0) return { found, mapping: null };
  const prompter = await openPrompter(context);
  const unlike = found.flatMap((one) => one.unlike.map(unlikeText));
  if (unlike.length > 0) prompter.show(unlike);
  const answers = await askAll(asking, found, { given, prompter });
  return {
    found,
    mapping: { ...writtenFacts(inputs.options), ...mappings.mappingOf(found, answers, context.commands) },
  };
}

/** Finds out which inputs have only keys and types that the last imports of their kind had. */
async function withKnown(looks: Found[], context: Context): Promise<Found[]> {
  const scope = await context.scope().catch((error: unknown) => {
    if (error instanceof AuthError) return null; // for a dry run
    throw error;
  });
  if (scope === null) return looks;
  const { known } = await context.state();
  const found: Found[] = [];
  for (const look of looks) {
    const types = look.columns.flatMap(({ key, type }) => (key === null ? [] : [[key, type] as const]));
    found.push({ ...look, known: isKnownLayout(await known.columnTypes(scope, look.kind), { types }) });
  }
  return found;
}

/** Saves the answers. @returns null if they cannot be: the import continues, and its command has them as flags */
async function save(path: string, mapping: MappingFile, ask: Prompter, context: Context) {
  try {
    await mappings.saveMapping(path, mapping, context);
    return path;
  } catch (error) {
    if (!(error instanceof ProfilesError)) throw error;
    ask.show([error.message]);
    return null;
  }
}

/** Shows the plan, asks what it leaves open, and saves the answers under the first free name. */
async function finish(
  final: ImportOptions,
  settled: Pick<Settled, 'mapping' | 'inputs'>,
  freeName: () => string,
  context: Context,
): Promise<Prepared> {
  const ask = await openPrompter(context);
  const found = final.dryRun ? null : await rehearse(final, context);
  if (found) ask.show(planLines(found));
  // An import of nothing else says so itself.
  const isSendable = found && found.saved.totals.to_send > 0 && found.summary.status === 'planned';
  const rehearsal = isSendable ? found : null;
  const rejected = rehearsal?.saved.totals.rejected ?? 0;
  const skipsInvalid = rejected > 0 && stopsAtInvalid(final);
  if (rehearsal && skipsInvalid) {
    ask.show(invalidLines(rehearsal));
    const question = `${count(rejected, 'row')} cannot be sent. What about the others?`;
    const sendsOthers = await ask.choose(question, [
      { value: true, label: 'send the others now, and keep these in the rejects file' },
      { value: false, label: 'stop: nothing is written, and nothing is sent' },
    ]);
    if (!sendsOthers) throw new NotConfirmedError('stopped: nothing was written, and nothing was sent');
  }
  const settings = await context.settings();
  const sends = rehearsal === null || (await ask.confirm(`Send to ${whereTo(settings)}?`, settings.embedded));
  const { mapping } = settled;
  const isSaved = mapping !== null && (await ask.confirm(`Save the answers as ${freeName()}?`, true));
  // In the meantime, another import may have taken the name.
  const saved = isSaved ? await save(freeName(), mapping, ask, context) : null;
  const last = lastFor({ ...settled, saved, skipsInvalid }, final, context.commands);
  if (!sends) {
    const error = new NotConfirmedError('nothing was sent');
    throw hinted(error, last === ANSWER_AGAIN ? last : { ...last, do: 'to send it' });
  }
  const options = skipsInvalid ? { ...final, invalid: 'any' as const } : final;
  const more = { last, saved, seen: found?.summary.warnings };
  if (rehearsal === null) return { options, start: INPUTS, ...more };
  const { rejects, outcomes, waitForLockMs, invalid } = options;
  return {
    options: { ...optionsOfPlan(rehearsal.saved), rejects, outcomes, waitForLockMs, invalid },
    start: { from: 'plan', plan: rehearsal.saved, inputs: [], again: false },
    ...more,
  };
}
