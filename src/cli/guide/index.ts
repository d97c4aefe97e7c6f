/**
 * The guided import: at a terminal, it asks what flags, mapping, and columns leave open. It looks at the inputs, asks,
 * plans without a lock, asks what the plan leaves open, and only then writes and sends. While a person thinks, nothing
 * is held.
 */
import { AuthError, NotConfirmedError } from '../../engine/errors.js';
import { count } from '../../engine/numbers.js';
import type { ImportOptions } from '../../engine/options.js';
import type { Look } from '../../engine/plan/look.js';
import { checkOpened, type MappingFile, Pool, writtenFacts } from '../../engine/read/index.js';
import { type AnySource, expandInputs } from '../../engine/run/sources.js';
import type { Context } from '../context.js';
import { openPrompter, type Prompter } from '../prompts/index.js';
import { askAll, askIdentity } from './ask.js';
import { commandFor } from './command.js';
import { freeName, mappingBeside, saveMapping } from './files.js';
import { Inputs, type LookOptions } from './inputs.js';
import { canShare, mappingOf, notShared } from './mapping.js';
import { type Found, type Given, identityQuestions, mappingQuestions } from './questions.js';
import { invalidLines, planLines, type Rehearsal } from './rehearsal.js';
import { Spool, sourceDeps } from './spool.js';

export interface Asked {
  paths: readonly string[];
  options: ImportOptions;
  given: Given;
  /** The service, in words. */
  to: string;
  /** Whether a mapping file was named. */
  isMapped: boolean;
  /** Makes the options again with these flags, by name, and with rules that were answered. */
  remake(flags: Readonly<Record<string, unknown>>, mapping: MappingFile | null): Promise<ImportOptions>;
  /** Plans without a lock, and writes nothing. */
  rehearse(options: ImportOptions): Promise<Rehearsal>;
}

/** What to import after all questions. */
export interface Guided {
  options: ImportOptions;
  /** The plan to send; null to make one. */
  rehearsal: Rehearsal | null;
  /** The same import as a command without questions; null if flags cannot say it, or if it is what was typed. */
  command: string | null;
  /** Mapping files that were used or saved: nothing else may be written there. */
  reads: readonly string[];
}

type Ask = () => Promise<Prompter>;

/**
 * @returns null if nothing is open
 * @throws InterruptedError, NotConfirmedError: nothing was sent, and nothing was written but the answers; InputError;
 * UsageError
 */
export async function guide(asked: Asked, context: Context): Promise<Guided | null> {
  const ask = asking(context);
  const spool = new Spool(context);
  const pool = new Pool({ threads: Math.min(2, context.cores) });
  try {
    const sources = await expandInputs(asked.paths, sourceDeps(context));
    const beside = asked.isMapped ? null : mappingBeside(sources, context.cwd);
    const isUsed = beside !== null && (await (await ask()).confirm(`Use the mapping in ${beside}?`, true));
    const start = isUsed ? { mapping: [beside] } : {};
    const options = isUsed ? await asked.remake(start, null) : asked.options;
    const remake = (flags: Readonly<Record<string, unknown>>) => asked.remake({ ...start, ...flags }, null);
    const inputs = new Inputs(options, remake, { spool, pool, ask }, context);
    for (const source of sources) if (!(await inputs.open(source))) return null;
    checkOpened(inputs.opened, options);
    const given = { ...asked.given, columns: asked.given.columns || isUsed };
    const { mapping, isInvalid } = await settle(inputs, given, ask, (looks) => withKnown(looks, context));
    const flags = { ...start, ...inputs.flags };
    const isChanged = mapping !== null || Object.keys(flags).length > 0;
    const final = isChanged ? await asked.remake(flags, mapping) : options;
    const reads = isUsed ? [beside] : [];
    if (mapping === null && !given.all && !(isInvalid && stopsAtInvalid(final))) {
      if (!isChanged) return null;
      const command = commandFor({ flags, mapping, saved: null, skipsInvalid: false }, context.commands);
      return { options: final, rehearsal: null, command, reads };
    }
    return await finish({ asked, sources, final, flags, mapping, reads }, await ask(), context);
  } finally {
    await pool.close();
    await spool.remove();
  }
}

/** Opens the prompts with the first question. */
function asking(context: Context): Ask {
  let prompter: Promise<Prompter> | undefined;
  return () => {
    prompter ??= openPrompter(context);
    return prompter;
  };
}

/**
 * The mapping that a person makes of some inputs, without an import. @returns null for rejects files, which need none
 * @throws as `guide` does
 */
export async function askMapping(
  {
    paths,
    given,
    options,
    remake,
  }: Pick<Asked, 'paths' | 'given'> & {
    options: LookOptions;
    remake(flags: Readonly<Record<string, unknown>>): Promise<LookOptions>;
  },
  context: Context,
): Promise<MappingFile | null> {
  const ask = asking(context);
  const spool = new Spool(context);
  const pool = new Pool({ threads: Math.min(2, context.cores) });
  try {
    const inputs = new Inputs(options, remake, { spool, pool, ask }, context);
    for (const source of await expandInputs(paths, sourceDeps(context))) {
      if (!(await inputs.open(source))) return null;
    }
    checkOpened(inputs.opened, options);
    return (
      await settle(inputs, given, ask, async (looks) => looks.map((look) => ({ ...look, known: false })))
    ).mapping;
  } finally {
    await pool.close();
    await spool.remove();
  }
}

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
): Promise<{ mapping: MappingFile | null; isInvalid: boolean }> {
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
    return { mapping: null, isInvalid }; // each file says what it is
  }
  const isFixed = Object.keys(inputs.flags).length > 0;
  if (identities.length + questions.length === 0 && !isFixed) return { mapping: null, isInvalid };
  const machineZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const answers = await askAll(questions, found, { given, prompter: await ask(), machineZone });
  return { mapping: { ...writtenFacts(inputs.options), ...mappingOf(found, answers) }, isInvalid };
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
    companies: await state.columnTypes(scope, 'companies'),
    users: await state.columnTypes(scope, 'users'),
  };
  return looks.map((look) => {
    const sent = look.columns.filter(({ key }) => key !== null);
    return { ...look, known: sent.every(({ key, type }) => types[look.kind].get(key!) === type) };
  });
}

/** Shows the plan, asks what it leaves open, and saves the answers. */
async function finish(
  of: {
    asked: Asked;
    sources: readonly AnySource[];
    final: ImportOptions;
    flags: Readonly<Record<string, unknown>>;
    mapping: MappingFile | null;
    reads: readonly string[];
  },
  ask: Prompter,
  context: Context,
): Promise<Guided> {
  const { asked, sources, final, flags, mapping, reads } = of;
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
  if (isSaved) await saveMapping(name, mapping!, context);
  const command = commandFor(
    { flags, mapping, saved: isSaved ? name : null, skipsInvalid },
    context.commands,
  );
  if (!sends) throw new NotConfirmedError('nothing was sent', { hint: command ?? undefined });
  return {
    options: skipsInvalid ? { ...final, invalid: 'any' } : final,
    rehearsal,
    command,
    reads: isSaved ? [...reads, name] : reads,
  };
}
