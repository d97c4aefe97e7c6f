/** `profiles import <input...>`: what is open is asked, then it runs (contract §3). */

import { Exit, InputError } from '../../engine/errors.js';
import { INPUTS } from '../../engine/run/start.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { ANSWER_AGAIN } from '../guide/again.js';
import { reportOf } from '../options/index.js';
import { isAttended, nobodyToAsk } from '../prompts/index.js';
import { type Ended, type Instead, type Line, say } from './command.js';
import type { Prepared } from './guided.js';
import { importOptions, mappingFiles, savePlanOf } from './import-options.js';
import { runAndReport } from './import-run.js';

/** Whether a person is asked what is open: nothing that is made for a program was requested. */
function isPersonAsked({ words, flags }: Line, context: Context): boolean {
  const { yes, json, ndjson, quiet, resume } = flags;
  const isForProgram = [yes, json, ndjson, quiet, resume].some((flag) => flag === true);
  return !isForProgram && !words.includes('-') && isAttended(context);
}

export async function run(line: Line, context: Context): Promise<Ended | Instead> {
  const { words: paths, flags } = line;
  const isAsked = isPersonAsked(line, context);
  if (flags.guide === true && !isAsked) throw nobodyToAsk();
  const prepared: Prepared | Instead = isAsked
    ? await (await import('./guided.js')).guideImport(line, context)
    : { options: await importOptions(paths, flags, context), start: INPUTS };
  if ('argv' in prepared) return prepared;
  const { options, start, last, saved, seen } = prepared;
  const report = reportOf(flags, (await context.settings()).importDefaults);
  const reads = [...mappingFiles(flags), ...(saved ? [saved] : [])];
  const more = { savePlan: savePlanOf(flags), reads, isConfirmed: start.from === 'plan', seen };
  const sayAgain = async (): Promise<void> => last && say(context, last);
  // What is printed next does what was answered, or asks it again if one command cannot say it.
  const changes = last?.or ? ANSWER_AGAIN.again : last?.again;
  const commands = changes ? context.commands.changed(changes) : context.commands;
  const after = { ...context, commands };
  const ended = await runAndReport(start, options, report, after, more).catch(async (error: unknown) => {
    const problem = error instanceof InputError ? error.problem : null;
    if (last && start.from === 'plan' && problem?.code === 'plan_input') {
      const changed = new InputError('has changed since you were asked', {
        file: problem.path,
        cause: error,
      });
      throw hinted(changed, { ...last, do: 'import it again' });
    }
    await sayAgain(); // so that no answer is lost
    if (isAsked || reads.length > 0) throw error;
    const { withBeside } = await import('../guide/mapping.js');
    throw await withBeside(error, { paths, options }, context);
  });
  // A step to send what was held back says the answers, too.
  if (typeof ended !== 'object' || ended.exit !== Exit.held) await sayAgain();
  return ended;
}
