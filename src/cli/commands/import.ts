/** `profiles import <input...>`: what is open is asked, then it runs (contract §3). */

import { optionsOfPlan, type Start } from '../../engine/run/start.js';
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { reportOf } from '../options/index.js';
import { safeHint, writeOut } from '../output/terminal.js';
import { isAttended, nobodyToAsk, openPrompter } from '../prompts/index.js';
import type { Ended, Flags } from './command.js';
import { whereTo } from './confirm.js';
import { givenBy, importOptions, mappingFiles, savePlanOf } from './import-options.js';
import { rehearse, requireService, runAndReport } from './import-run.js';

type Options = Awaited<ReturnType<typeof options>>;

/** Reads the flags. `isAsked`: whether a person is asked what is open. `answered`: flags that were answered already. */
export async function options(paths: readonly string[], flags: Flags, context: Context) {
  const isAsked = isGuided(paths, flags, context);
  const make = (zone: Flags) => importOptions(paths, { ...flags, ...zone }, context);
  const { options, zone: answered } = isAsked
    ? await (await import('../guide/ask.js')).withZone(make, () => openPrompter(context))
    : { options: await make({}), zone: {} };
  const savePlan = savePlanOf(flags);
  const report = reportOf(flags, (await context.settings()).importDefaults);
  return { paths, flags, isAsked, answered, import: options, report, savePlan };
}

export async function run(asked: Options, context: Context): Promise<Ended> {
  const { flags, isAsked, report, savePlan } = asked;
  if (flags.guide === true && !isAsked) throw nobodyToAsk();
  const guided = isAsked ? await guideImport(asked, context) : null;
  const { options = asked.import, start = { from: 'inputs' } as Start, commands = [] } = guided ?? {};
  const reads = [...mappingFiles(flags), ...(guided?.reads ?? [])];
  const more = { savePlan, reads, isConfirmed: start.from === 'plan' };
  const ended = await runAndReport(start, options, report, context, more).catch(async (error: unknown) => {
    if (isAsked || reads.length > 0) throw error;
    throw await (await import('../guide/mapping.js')).withBeside(error, asked.paths, context);
  });
  if (commands.length > 0) {
    const last = toRun('The same import without questions', ...commands.map(context.commands.again));
    await writeOut(context.stderr, `${safeHint(last, context.platform)}\n`);
  }
  return ended;
}

/** Whether a person may be asked: nothing that is made for a program was requested. */
function isGuided(paths: readonly string[], flags: Flags, context: Context): boolean {
  const { yes, json, ndjson, quiet, resume } = flags;
  const isForProgram = [yes, json, ndjson, quiet, resume].some((flag) => flag === true);
  return !isForProgram && !paths.includes('-') && isAttended(context);
}

/** Asks what is open. @returns null if nothing is */
async function guideImport({ paths, flags, answered, import: asked }: Options, context: Context) {
  await requireService(asked, context);
  const { guide } = await import('../guide/index.js');
  const guided = await guide(
    {
      paths,
      options: asked,
      given: givenBy({ ...flags, ...answered }),
      answered,
      to: whereTo(await context.settings()),
      isMapped: mappingFiles(flags).length > 0,
      remake: (more, mapping) => importOptions(paths, { ...flags, ...more }, context, mapping),
      rehearse: (options) => rehearse(options, context),
    },
    context,
  );
  if (!guided) return null;
  const { options, rehearsal, commands, reads } = guided;
  if (!rehearsal) return { options, commands, reads };
  const { rejects, outcomes, waitForLockMs, invalid } = options;
  const planned = { ...optionsOfPlan(rehearsal.saved), rejects, outcomes, waitForLockMs, invalid };
  const start: Start = { from: 'plan', plan: rehearsal.saved, inputs: [], again: false };
  return { options: planned, commands, reads, start };
}
