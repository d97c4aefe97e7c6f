/**
 * The guided import: at a terminal, it asks what flags, mapping, and columns leave open. It looks at the inputs, asks,
 * plans without a lock, asks what the plan leaves open, and only then writes and sends. While a person thinks, nothing
 * is held.
 */

import { AuthError, NotConfirmedError } from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import { isKnownLayout } from '../../engine/plan/key-checks.js';
import type { Look } from '../../engine/plan/look.js';
import { checkOpened, type MappingFile, writtenFacts } from '../../engine/read/index.js';
import { type AnySource, expandInputs } from '../../engine/run/sources.js';
import { count } from '../../engine/util/numbers.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { openPrompter } from '../prompts/index.js';
import type { Prompter } from '../prompts/plain.js';
import { askAll, askIdentity, invalidLines, planLines, type Rehearsal, withZone } from './ask.js';
import { Inputs, type LookOptions, type Reading, sourceDeps, whileReading } from './inputs.js';
import { againFor, canShare, freeName, mappingBeside, mappingOf, notShared, saveMapping } from './mapping.js';
import { type Found, type Given, identityQuestions, mappingQuestions } from './questions.js';

type Flags = Readonly<Record<string, unknown>>;

export interface Asked {
  paths: readonly string[];
  options: ImportOptions;
  given: Given;
  /** Flags that were answered before, so that the options could be made. */
  answered: Flags;
  /** The service, in words. */
  to: string;
  /** Whether a mapping file was named. */
  isMapped: boolean;
  /** Makes the options again with these flags, by name, and with rules that were answered. */
  remake(flags: Flags, mapping: MappingFile | null): Promise<ImportOptions>;
  /** Plans without a lock, and writes nothing. */
  rehearse(options: ImportOptions): Promise<Rehearsal>;
}

type Ask = () => Promise<Prompter>;

/**
 * @returns null if nothing is open; `rehearsal`: the plan to send, or null to make one; `commands`: the same import without
 * questions; `reads`: mapping files that were used or saved, where nothing else may be written
 * @throws InterruptedError, NotConfirmedError: nothing was sent, and nothing was written but the answers; InputError;
 * UsageError
 */
export const guide = (asked: Asked, context: Context) =>
  looking(context, async (how) => {
    const sources = await expandInputs(asked.paths, sourceDeps(context));
    const remake = (flags: Flags) => asked.remake({ ...asked.answered, ...flags }, null);
    const beside = asked.isMapped ? null : mappingBeside(sources, context.cwd);
    if (beside !== null && (await hasRejects(sources, asked.options, how, context))) return null;
    const isUsed =
      beside !== null && (await (await how.ask()).confirm(`Use the mapping in ${beside}?`, true));
    const used = isUsed
      ? await withZone((zone) => remake({ mapping: [beside], ...zone }), how.ask)
      : { options: asked.options, zone: {} };
    const start = { ...asked.answered, ...(isUsed && { mapping: [beside] }), ...used.zone };
    const reopen = (flags: Flags) => asked.remake({ ...start, ...flags }, null);
    const inputs = new Inputs(used.options, reopen, how, context);
    for (const source of sources) if (!(await inputs.open(source))) return null;
    checkOpened(inputs.opened, used.options);
    const given = { ...asked.given, columns: asked.given.columns || isUsed };
    const settled = await settle(inputs, given, how.ask, (looks) => withKnown(looks, context));
    const { mapping, isInvalid } = settled;
    const flags = { ...start, ...inputs.flags };
    const isChanged = mapping !== null || Object.keys(flags).length > 0;
    const final = isChanged ? await asked.remake(flags, mapping) : used.options;
    const reads = isUsed ? [beside] : [];
    const done = { flags, mapping, inputs: settled.found };
    if (mapping === null && !given.all && !(isInvalid && stopsAtInvalid(final))) {
      if (!isChanged) return null;
      const commands = againFor({ ...done, saved: null, skipsInvalid: false });
      return { options: final, rehearsal: null, commands, reads };
    }
    return await finish({ asked, sources, final, done, reads }, await how.ask(), context);
  });

interface How extends Reading {
  ask: Ask;
}

/** Gives the work what reads inputs, and prompts, which are opened with the first question. */
const looking = <T>(context: Context, work: (how: How) => Promise<T>): Promise<T> =>
  whileReading(context, (reading) => {
    let prompter: Promise<Prompter> | undefined;
    const ask: Ask = () => {
      prompter ??= openPrompter(context);
      return prompter;
    };
    return work({ ...reading, ask });
  });

/** Whether one of the files is a rejects file, whatever else is wrong with the others. */
async function hasRejects(
  sources: readonly AnySource[],
  options: LookOptions,
  how: How,
  context: Context,
): Promise<boolean> {
  const inputs = new Inputs(options, async () => options, how, context);
  for (const source of sources) {
    if (source.from === 'file' && (await inputs.isRejects(source))) return true;
  }
  return false;
}

/**
 * The mapping that a person makes of some inputs, without an import. @returns null for rejects files, which need none
 * @throws as `guide` does
 */
export const askMapping = (
  {
    paths,
    given,
    options,
    remake,
  }: Pick<Asked, 'paths' | 'given'> & {
    options: LookOptions;
    remake(flags: Flags): Promise<LookOptions>;
  },
  context: Context,
): Promise<MappingFile | null> =>
  looking(context, async (how) => {
    const inputs = new Inputs(options, remake, how, context);
    for (const source of await expandInputs(paths, sourceDeps(context))) {
      if (!(await inputs.open(source))) return null;
    }
    checkOpened(inputs.opened, options);
    const unknown = async (looks: readonly Look[]) => looks.map((look) => ({ ...look, known: false }));
    return (await settle(inputs, given, how.ask, unknown)).mapping;
  });

const stopsAtInvalid = ({ invalid, dryRun }: ImportOptions): boolean => invalid === 'none' && !dryRun;

/** Whether there is something to ask about: an import of nothing else says so itself. */
const isSendable = ({ saved, summary }: Rehearsal): boolean =>
  saved.totals.to_send > 0 && summary.status === 'planned';

/** Asks what the inputs leave open. @returns `mapping`: null if nothing was open */
async function settle(
  inputs: Inputs,
  given: Given,
  ask: Ask,
  known: (looks: readonly Look[]) => Promise<Found[]>,
): Promise<{ found: Found[]; mapping: MappingFile | null; isInvalid: boolean }> {
  let found = await known(await inputs.looks());
  const identities = identityQuestions(found, given);
  for (const question of identities) {
    await inputs.identify(question.path, await askIdentity(question, await ask()));
  }
  if (identities.length > 0) found = await known(await inputs.looks());
  const questions = mappingQuestions(found, given, new Set(identities.map(({ path }) => path)));
  const isInvalid = found.some(({ rejected }) => rejected > 0);
  if (!canShare(found)) {
    if (identities.length > 0 || given.all) throw notShared(found);
    return { found, mapping: null, isInvalid }; // each file says what it is
  }
  const isFixed = Object.keys(inputs.flags).length > 0;
  if (identities.length + questions.length === 0 && !isFixed) return { found, mapping: null, isInvalid };
  const answers = await askAll(questions, found, { given, prompter: await ask() });
  return { found, mapping: { ...writtenFacts(inputs.options), ...mappingOf(found, answers) }, isInvalid };
}

/** Finds out which inputs have only keys and types that the last imports of their kind had. */
async function withKnown(looks: readonly Look[], context: Context): Promise<Found[]> {
  const scope = await context.scope().catch((error: unknown) => {
    if (error instanceof AuthError) return null; // for a dry run
    throw error;
  });
  if (scope === null) return looks.map((look) => ({ ...look, known: false }));
  const state = await context.state();
  const types = {
    companies: await state.known.columnTypes(scope, 'companies'),
    users: await state.known.columnTypes(scope, 'users'),
  };
  return looks.map((look) => {
    const sent = look.columns.flatMap(({ key, type }) => (key === null ? [] : [[key, type] as const]));
    return { ...look, known: isKnownLayout(types[look.kind], { types: sent }) };
  });
}

/** Shows the plan, asks what it leaves open, and saves the answers. */
async function finish(
  of: {
    asked: Asked;
    sources: readonly AnySource[];
    final: ImportOptions;
    done: Pick<Parameters<typeof againFor>[0], 'flags' | 'mapping' | 'inputs'>;
    reads: readonly string[];
  },
  ask: Prompter,
  context: Context,
) {
  const { asked, sources, final, done, reads } = of;
  const { mapping } = done;
  const found = final.dryRun ? null : await asked.rehearse(final);
  if (found) ask.show(planLines(found));
  const rehearsal = found && isSendable(found) ? found : null;
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
  const sends = rehearsal === null || (await ask.confirm(`Send to ${asked.to}?`, settings.embedded));
  const name = mapping === null ? null : freeName(sources, context.cwd);
  const isSaved = name !== null && (await ask.confirm(`Save the answers as ${name}?`, true));
  // In the meantime, another import may have taken the name.
  const saved = isSaved ? freeName(sources, context.cwd) : null;
  if (saved !== null) await saveMapping(saved, mapping!, context);
  const commands = againFor({ ...done, saved, skipsInvalid });
  const [again, ...others] = commands;
  if (!sends) {
    const or = others.map((each) => ({ again: each }));
    throw hinted(new NotConfirmedError('nothing was sent'), { do: 'to send it', again, or });
  }
  return {
    options: skipsInvalid ? { ...final, invalid: 'any' as const } : final,
    rehearsal,
    commands,
    reads: saved === null ? reads : [...reads, saved],
  };
}
