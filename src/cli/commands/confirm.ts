/** What is asked before an import: whether to send, with `confirm: true` (contract §2), and whether to continue a run. */
import { NotConfirmedError } from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import type { ImportDeps } from '../../engine/run/start.js';
import { count, grouped } from '../../engine/util/numbers.js';
import { formatSize } from '../../engine/util/size.js';
import { hinted } from '../advice/hint.js';
import type { Context } from '../context.js';
import { changesIn, serviceWords } from '../facts/outcome.js';
import { usage } from '../options/index.js';
import { safeLine } from '../output/terminal.js';
import { isAttended, openPrompter } from '../prompts/index.js';
import { type Settings, tokenFrom } from '../settings/index.js';

/**
 * Makes the question whether to send; undefined if `confirm` is off or `--yes` was given.
 * @param pause clears the live display before the question
 * @returns what throws NotConfirmedError if the answer is not yes; InterruptedError
 * @throws UsageError if there is no terminal to ask at
 */
export async function confirmation(context: Context, pause = (): void => {}) {
  const { confirm, origins } = await context.settings();
  if (!confirm || context.flags.yes === true) return undefined;
  if (!isAttended(context)) {
    const send = context.commands.isOf('import') ? 'look at the plan with --dry-run, then send' : 'send';
    const why = `nothing is sent without a yes, and there is no terminal to ask on; see ${origins.confirm}`;
    throw hinted(usage(why), { do: `${send} without being asked`, again: { plus: ['--yes'] } });
  }
  return async (what: string): Promise<void> => {
    pause();
    if (!(await (await openPrompter(context)).confirm(`${what}\nSend?`, false)))
      throw new NotConfirmedError('not confirmed; nothing was sent');
  };
}

/** The same for an import: the question shows its totals. */
export async function importConfirmation(
  context: Context,
  pause: () => void,
): Promise<ImportDeps['confirm']> {
  const ask = await confirmation(context, pause);
  const to = whereTo(await context.settings());
  if (!ask) return undefined;
  return ({ plan: { requests, bytes, files, changes }, rows, continues }) => {
    const planned = `in ${count(requests, 'request')}, ${formatSize(bytes)}`;
    const lines = [
      `${count(rows, 'row')} ${continues === null ? planned : `left of run ${continues}`}`,
      `from ${files.map(({ path }) => safeLine(path)).join(', ')}`,
    ];
    if (changes)
      lines.push(
        changesIn(changes)
          .map(([name, n]) => `${grouped(n)} ${name}`)
          .join(', '),
      );
    return ask([...lines, `to ${to}`].join('\n'));
  };
}

/** The service that profiles would be sent to, in words. */
export function whereTo({ baseUrl, ...settings }: Settings): string {
  const base_url = settings.embedded ? 'embedded' : (baseUrl ?? '');
  return safeLine(serviceWords({ ...settings, base_url }, tokenFrom(settings)));
}

/**
 * At a terminal, asks whether to continue an unfinished run of the same files (contract §4); undefined if there is no
 * terminal, or if a flag already decides about such a run.
 */
export function offerOf(
  { resume, full, dryRun }: ImportOptions,
  context: Context,
  pause: () => void,
): ImportDeps['offer'] {
  if (resume || full || dryRun || !isAttended(context)) return undefined;
  return async ({ run, status, summary }) => {
    pause();
    const rows = summary?.rows;
    const sent = rows ? `, ${grouped(rows.submitted)} of ${count(rows.read, 'row')} sent` : '';
    const what = status === 'crashed' ? 'has crashed' : 'is unfinished';
    const question = `run ${run} of the same content ${what}${sent}.\nContinue it?`;
    return (await openPrompter(context)).confirm(question, true);
  };
}
