/** `profiles import <input...>`: what is open is asked, then it runs (contract §3). */

import { Exit, InputError } from '../../engine/errors.js';
import { optionsOfPlan } from '../../engine/run/plan-file.js';
import type { Start } from '../../engine/run/start.js';
import { hinted, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { reportOf } from '../options/index.js';
import { safeHint, writeOut } from '../output/terminal.js';
import { isAttended, nobodyToAsk, openPrompter } from '../prompts/index.js';
import type { Ended, Flags, Line } from './command.js';
import { whereTo } from './confirm.js';
import { givenBy, importOptions, mappingFiles, savePlanOf } from './import-options.js';
import { rehearse, requireService, runAndReport } from './import-run.js';

type Options = Awaited<ReturnType<typeof optionsOf>>;

async function optionsOf({ words: paths, flags }: Line, context: Context) {
  const { yes, json, ndjson, quiet, resume } = flags;
  // Nothing that is made for a program was requested.
  const isForProgram = [yes, json, ndjson, quiet, resume].some((flag) => flag === true);
  // Whether a person is asked what is open.
  const isAsked = !isForProgram && !paths.includes('-') && isAttended(context);
  const make = (zone: Flags) => importOptions(paths, { ...flags, ...zone }, context);
  const { options, zone } = isAsked
    ? await (await import('../guide/ask.js')).withZone(make, () => openPrompter(context))
    : { options: await make({}), zone: {} };
  const report = reportOf(flags, (await context.settings()).importDefaults);
  return { paths, flags, isAsked, zone, import: options, report, savePlan: savePlanOf(flags) };
}

export async function run(line: Line, context: Context): Promise<Ended> {
  const asked = await optionsOf(line, context);
  const { flags, isAsked, report, savePlan } = asked;
  if (flags.guide === true && !isAsked) throw nobodyToAsk();
  const guided = isAsked ? await guideImport(asked, context) : null;
  const { options = asked.import, start = { from: 'inputs' } as Start, last } = guided ?? {};
  const reads = [...mappingFiles(flags), ...(guided?.reads ?? [])];
  const more = { savePlan, reads, isConfirmed: start.from === 'plan', seen: guided?.seen };
  const sayAgain = async (): Promise<void> => {
    if (last === undefined) return;
    const text = toRun(last.do, context.commands.again(last.again));
    await writeOut(context.stderr, `${safeHint(text, context.platform)}\n`);
  };
  // What is printed next does what was answered.
  const commands = last ? context.commands.changed(last.again) : context.commands;
  const after = { ...context, commands };
  const ended = await runAndReport(start, options, report, after, more).catch(async (error: unknown) => {
    const problem = error instanceof InputError ? error.problem : null;
    if (last && start.from === 'plan' && problem?.code === 'plan_input') {
      const changed = new InputError('has changed since you were asked', {
        file: problem.path,
        cause: error,
      });
      throw hinted(changed, { do: 'import it again', again: last.again });
    }
    await sayAgain(); // so that no answer is lost
    if (isAsked || reads.length > 0) throw error;
    const { withBeside } = await import('../guide/mapping.js');
    throw await withBeside(error, { paths: asked.paths, options: asked.import }, context);
  });
  // A step to send what was held back says the answers, too.
  if (typeof ended !== 'object' || ended.exit !== Exit.held) await sayAgain();
  return ended;
}

/** Asks what is open. @returns null if nothing is */
async function guideImport({ paths, flags, zone, import: asked }: Options, context: Context) {
  await requireService(asked, context);
  const { guide } = await import('../guide/index.js');
  const about = {
    ...{ paths, options: asked, zone, isMapped: mappingFiles(flags).length > 0 },
    given: givenBy({ ...flags, ...zone }),
    to: whereTo(await context.settings()),
    remake: ({ mapping: file, ...more }: Flags, mapping: Parameters<typeof importOptions>[3]) =>
      importOptions(paths, { ...flags, ...more, ...(file ? { mapping: [file] } : {}) }, context, mapping),
    rehearse: (options: Options['import']) => rehearse(options, context),
  };
  const guided = await guide(about, context);
  if (!guided?.rehearsal) return guided && { ...guided, start: undefined };
  const { options, rehearsal } = guided;
  const { rejects, outcomes, waitForLockMs, invalid } = options;
  const planned = { ...optionsOfPlan(rehearsal.saved), rejects, outcomes, waitForLockMs, invalid };
  const start: Start = { from: 'plan', plan: rehearsal.saved, inputs: [], again: false };
  return { ...guided, options: planned, start };
}
