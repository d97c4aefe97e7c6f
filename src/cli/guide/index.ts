/**
 * The guided import: at a terminal, it asks what flags, mapping, and columns leave open. It looks at the inputs, asks,
 * plans without a lock, asks what the plan leaves open, and only then writes and sends. While a person thinks, nothing
 * is held.
 */

import {
  AuthError,
  ConfigError,
  InputError,
  NotConfirmedError,
  ProfilesError,
  UsageError,
} from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import { isKnownLayout } from '../../engine/plan/key-checks.js';
import { checkOpened, type MappingFile, writtenFacts } from '../../engine/read/index.js';
import type { AnySource } from '../../engine/run/sources.js';
import { count } from '../../engine/util/numbers.js';
import { hinted } from '../advice/hint.js';
import { errorWords } from '../advice/words.js';
import type { Context } from '../context.js';
import { openPrompter } from '../prompts/index.js';
import type { Prompter } from '../prompts/plain.js';
import { ANSWER_AGAIN, type Answered, lastFor } from './again.js';
import { askAll, askIdentity, invalidLines, planLines, type Rehearsal, withZone } from './ask.js';
import { type Inputs, type LookOptions, type Reader, sourcesOf, whileReading } from './inputs.js';
import * as mappings from './mapping.js';
import { type Found, type Given, identityQuestions, mappingQuestions } from './questions.js';
import { unlikeText } from './shared-types.js';

export interface Asked {
  paths: readonly string[];
  options: ImportOptions;
  given: Given;
  /** The service, in words. */
  to: string;
  /** Whether a mapping file was named. */
  isMapped: boolean;
  /** A flag that was answered before, so that the options could be made. */
  zone: { zone?: string };
  /** Makes the options again with these flags, by name, and with rules that were answered. */
  remake(flags: Answered['flags'], mapping: MappingFile | null): Promise<ImportOptions>;
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
 * @returns null if nothing is open; `rehearsal`: the plan to send, or null to make one; `last`: the same import without
 * questions, or one that asks again if no command can say it; `reads`: mapping files that were used or saved, where
 * nothing else may be written; `seen`: warnings that were shown
 * @throws InterruptedError, NotConfirmedError: nothing was sent, and nothing was written but the answers; InputError;
 * UsageError
 */
export const guide = (asked: Asked, context: Context) =>
  looking(context, async (reader, ask) => {
    const sources = await sourcesOf(asked.paths, context);
    const beside = asked.isMapped ? null : mappings.mappingBeside(sources, context.cwd);
    if (beside !== null && (await reader(asked.options).hasRejects(sources))) return null;
    const isUsed = beside !== null && (await (await ask()).confirm(`Use the mapping in ${beside}?`, true));
    /** @returns null for a rejects file */
    const open = async (mapping: string | null) => {
      const used = mapping === null ? {} : { mapping };
      const { options, zone } =
        mapping === null ? asked : await withZone((zone) => asked.remake({ ...used, ...zone }, null), ask);
      const inputs = reader(options);
      for (const source of sources) if (!(await inputs.open(source))) return null;
      checkOpened(inputs.opened, options);
      return { options, inputs, reads: Object.values(used), flags: { ...used, ...asked.zone, ...zone } };
    };
    const opened = isUsed
      ? await open(beside).catch(async (error: unknown) => {
          await goesWithout(beside, error, await ask(), context);
          return open(null);
        })
      : await open(null);
    if (opened === null) return null;
    const { options, inputs, reads, flags } = opened;
    const given = { ...asked.given, columns: asked.given.columns || reads.length > 0 };
    const { mapping, isInvalid, isEmpty } = await settle(inputs, given, ask, context);
    const final = mapping === null ? options : await asked.remake(flags, mapping);
    const done = { flags, mapping };
    if (mapping === null && (isEmpty || !given.all) && !(isInvalid && stopsAtInvalid(final))) {
      if (Object.keys(flags).length === 0) return null;
      const last = lastFor({ ...done, saved: null, skipsInvalid: false }, final);
      return { options: final, rehearsal: null, last, reads, seen: undefined };
    }
    return await finish({ asked, sources, final, done, reads }, await ask(), context);
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
    for (const source of await sourcesOf(paths, context)) if (!(await inputs.open(source))) return null;
    checkOpened(inputs.opened, options);
    return (await settle(inputs, given, ask, null)).mapping;
  });

/** Asks whether to go on without a mapping file. @throws UsageError if not; every error that says nothing about the file */
async function goesWithout(path: string, error: unknown, ask: Prompter, { commands }: Context) {
  if (!(error instanceof InputError || error instanceof UsageError || error instanceof ConfigError))
    throw error;
  const why = `${path} does not fit: ${errorWords(error, commands).message}`;
  ask.show([why]);
  if (!(await ask.confirm('Import without it?', true))) throw new UsageError(why, { cause: error });
}

const stopsAtInvalid = ({ invalid, dryRun }: ImportOptions): boolean => invalid === 'none' && !dryRun;

/**
 * Asks what the inputs leave open.
 * @param context of an import, which has nothing to ask about files without rows; null for a mapping
 * @returns `mapping`: null if nothing was open
 */
async function settle(
  inputs: Inputs,
  given: Given,
  ask: Ask,
  context: Context | null,
): Promise<{ mapping: MappingFile | null; isInvalid: boolean; isEmpty: boolean }> {
  const known = (looks: Found[]) => (context ? withKnown(looks, context) : looks);
  let found = await known(await inputs.looks());
  if (context && found.every(({ rows }) => rows === 0)) {
    const unknown = found.find(({ guessed }) => guessed);
    if (unknown) throw new InputError('has no rows', { file: unknown.path });
    return { mapping: null, isInvalid: false, isEmpty: true };
  }
  const identities = identityQuestions(found, given);
  for (const question of identities)
    await inputs.identify(question.path, await askIdentity(question, await ask()));
  if (identities.length > 0) found = await known(await inputs.looks());
  const questions = mappingQuestions(found, given, new Set(identities.map(({ path }) => path)));
  const isInvalid = found.some(({ rejected }) => rejected > 0);
  if (!mappings.canShare(found)) {
    if (identities.length > 0 || given.all) throw mappings.notShared(found);
    return { mapping: null, isInvalid, isEmpty: false }; // each file says what it is
  }
  if (identities.length + questions.length === 0) return { mapping: null, isInvalid, isEmpty: false };
  const prompter = await ask();
  const unlike = found.flatMap((one) => one.unlike.map(unlikeText));
  if (unlike.length > 0) prompter.show(unlike);
  const answers = await askAll(questions, found, { given, prompter });
  return {
    mapping: { ...writtenFacts(inputs.options), ...mappings.mappingOf(found, answers) },
    isInvalid,
    isEmpty: false,
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

interface Finish {
  asked: Asked;
  sources: readonly AnySource[];
  final: ImportOptions;
  done: Pick<Answered, 'flags' | 'mapping'>;
  reads: readonly string[];
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
async function finish({ asked, sources, final, done, reads }: Finish, ask: Prompter, context: Context) {
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
  const isSaved = done.mapping !== null && (await ask.confirm(`Save the answers as ${freeName()}?`, true));
  // In the meantime, another import may have taken the name.
  const saved = isSaved ? await save(freeName(), done.mapping!, ask, context) : null;
  const last = lastFor({ ...done, saved, skipsInvalid }, final);
  if (!sends) {
    const error = new NotConfirmedError('nothing was sent');
    throw hinted(error, last === ANSWER_AGAIN ? last : { ...last, do: 'to send it' });
  }
  return {
    options: skipsInvalid ? { ...final, invalid: 'any' as const } : final,
    ...{ rehearsal, last, reads: saved === null ? reads : [...reads, saved] },
    seen: found?.summary.warnings,
  };
}
