/**
 * The guided import: at a terminal, it asks what flags, mapping, and columns leave open. It looks at the inputs, asks,
 * plans without a lock, asks what the plan leaves open, and only then writes and sends. While a person thinks, nothing
 * is held.
 */

import { AuthError, InputError, NotConfirmedError, ProfilesError } from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import { isKnownLayout } from '../../engine/plan/key-checks.js';
import { type MappingFile, writtenFacts } from '../../engine/read/index.js';
import type { AnySource } from '../../engine/run/sources.js';
import { count } from '../../engine/util/numbers.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { openPrompter } from '../prompts/index.js';
import type { Prompter } from '../prompts/plain.js';
import { ANSWER_AGAIN, type Instead, lastFor } from './again.js';
import { askAll, askCompany, askIdentity, invalidLines, planLines, type Rehearsal } from './ask.js';
import { type Inputs, type LookOptions, type Reader, sourcesOf, whileReading } from './inputs.js';
import * as mappings from './mapping.js';
import {
  companyQuestions,
  type Found,
  type Given,
  identityQuestions,
  mappingQuestions,
} from './questions.js';
import { unlikeText } from './shared-types.js';

export interface Asked {
  paths: readonly string[];
  options: ImportOptions;
  given: Given;
  /** The service, in words. */
  to: string;
  /** Whether a mapping file was named. */
  isMapped: boolean;
  /** Checks what sending needs. Not before the inputs can be read: an answer may begin the command again. */
  requireService(): Promise<void>;
  /** Makes the options again with rules that were answered. */
  remake(mapping: MappingFile): Promise<ImportOptions>;
  /** Plans without a lock, and writes nothing. */
  rehearse(options: ImportOptions): Promise<Rehearsal>;
}

/** Prompts, which are opened with the first question. */
type Ask = () => Promise<Prompter>;

const looking = <T>(context: Context, work: (reader: Reader, ask: Ask) => Promise<T>): Promise<T> =>
  whileReading(context, (reader) => {
    let prompter: Promise<Prompter> | undefined;
    return work(reader, () => (prompter ??= openPrompter(context)));
  });

/**
 * @returns null if nothing is open; or the command line with the mapping file beside the inputs; or what was answered.
 * `rehearsal`: the plan to send, or null to make one; `last`: the same import without questions; `saved`: the mapping
 * file that was written; `seen`: warnings that were shown
 * @throws InterruptedError, NotConfirmedError: nothing was sent, and nothing was written but the answers; InputError;
 * UsageError
 */
export const guide = (asked: Asked, context: Context) =>
  looking(context, async (reader, ask) => {
    const { options } = asked;
    const { answered = {}, commands, cwd } = context;
    const sources = await sourcesOf(asked.paths, context);
    const inputs = reader(options);
    const isOpen = !asked.isMapped && answered.mapping === undefined;
    const beside = isOpen ? mappings.mappingBeside(sources, cwd) : null;
    if (beside !== null) {
      if (await inputs.hasRejects(sources)) return null;
      if (await (await ask()).confirm(`Use the mapping in ${beside}?`, true)) {
        const argv = commands.argv({ plus: ['--mapping', beside] });
        return { argv, answered: { ...answered, mapping: beside } } satisfies Instead;
      }
    }
    if (!(await inputs.open(sources))) return null;
    await asked.requireService();
    const given = { ...asked.given, columns: asked.given.columns || typeof answered.mapping === 'string' };
    const { found, mapping } = await settle(inputs, given, ask, context);
    const final = mapping === null ? options : await asked.remake(mapping);
    const isInvalid = found.some(({ rejected }) => rejected > 0) && stopsAtInvalid(final);
    // Who has said how a file is read sees the plan before it is sent.
    const isDone = found.length === 0 || !(given.all || isInvalid || answered.reading);
    if (mapping === null && isDone) return null;
    return await finish({ asked, sources, final, mapping, inputs }, await ask(), context);
  });

/**
 * The mapping that a person makes of some inputs, without an import. @returns null for rejects files, which need none
 * @throws as `guide` does
 */
export const askMapping = (
  { paths, given, options }: Pick<Asked, 'paths' | 'given'> & { options: LookOptions },
  context: Context,
): Promise<MappingFile | null> =>
  looking(context, async (reader, ask) => {
    const inputs = reader(options);
    if (!(await inputs.open(await sourcesOf(paths, context)))) return null;
    return (await settle(inputs, given, ask, null)).mapping;
  });

const stopsAtInvalid = ({ invalid, dryRun }: ImportOptions): boolean => invalid === 'none' && !dryRun;

/**
 * Asks what the inputs leave open.
 * @param context of an import, which has nothing to ask about files without rows; null for a mapping
 * @returns `found`: none without rows; `mapping`: null if nothing was open
 */
async function settle(
  inputs: Inputs,
  given: Given,
  ask: Ask,
  context: Context | null,
): Promise<{ found: Found[]; mapping: MappingFile | null }> {
  const known = (looks: Found[]) => (context ? withKnown(looks, context) : looks);
  let found = await known(await inputs.looks());
  if (context && found.every(({ rows }) => rows === 0)) {
    const unknown = found.find(({ guessed }) => guessed);
    if (unknown) throw new InputError('has no rows', { file: unknown.path });
    return { found: [], mapping: null };
  }
  const identities = identityQuestions(found, given);
  for (const question of identities)
    await inputs.identify(question.path, await askIdentity(question, await ask()));
  if (identities.length > 0) found = await known(await inputs.looks());
  const companies = companyQuestions(found);
  // A rule is for all inputs of a kind, so a column of several is asked about once.
  const isCompany = new Map<string, boolean>();
  for (const question of companies) {
    const { path, id, column } = question;
    const isTheirs = isCompany.get(column) ?? (await askCompany(question, await ask()));
    isCompany.set(column, isTheirs);
    if (isTheirs) await inputs.identify(path, { kind: 'users', id, company: column });
  }
  if (companies.length > 0) found = await known(await inputs.looks());
  const asked = identities.length + companies.length;
  const questions = mappingQuestions(found, given, new Set(identities.map(({ path }) => path)));
  const canShare = mappings.canShare(found);
  if (!canShare && (asked > 0 || given.all)) throw mappings.notShared(found);
  // If no mapping can be for all, each file says what it is.
  if (!canShare || asked + questions.length === 0) return { found, mapping: null };
  const prompter = await ask();
  const unlike = found.flatMap((one) => one.unlike.map(unlikeText));
  if (unlike.length > 0) prompter.show(unlike);
  const answers = await askAll(questions, found, { given, prompter });
  return { found, mapping: { ...writtenFacts(inputs.options), ...mappings.mappingOf(found, answers) } };
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

interface Finish {
  asked: Asked;
  sources: readonly AnySource[];
  final: ImportOptions;
  mapping: MappingFile | null;
  inputs: Inputs;
}

/** Saves the answers. @returns null if they cannot be: the import goes on, and its command has them as flags */
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

/** Shows the plan, asks what it leaves open, and saves the answers. */
async function finish({ asked, sources, final, mapping, inputs }: Finish, ask: Prompter, context: Context) {
  const found = final.dryRun ? null : await asked.rehearse(final);
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
  const { embedded } = await context.settings();
  const sends = rehearsal === null || (await ask.confirm(`Send to ${asked.to}?`, embedded));
  const freeName = (): string => mappings.freeName(sources, context.cwd);
  const isSaved = mapping !== null && (await ask.confirm(`Save the answers as ${freeName()}?`, true));
  // In the meantime, another import may have taken the name.
  const saved = isSaved ? await save(freeName(), mapping, ask, context) : null;
  const last = lastFor({ mapping, saved, skipsInvalid, inputs: inputs.opened }, final, context.commands);
  if (!sends) {
    const error = new NotConfirmedError('nothing was sent');
    throw hinted(error, last === ANSWER_AGAIN ? last : { ...last, do: 'to send it' });
  }
  return {
    options: skipsInvalid ? { ...final, invalid: 'any' as const } : final,
    ...{ rehearsal, last, saved },
    seen: found?.summary.warnings,
  };
}
