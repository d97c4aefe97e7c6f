/** Asks before anything is sent, if the config has `confirm: true` (contract §2). */
import { NotConfirmedError, UsageError } from '../../engine/errors.js';
import { count, grouped } from '../../engine/numbers.js';
import type { Confirm } from '../../engine/run/deps.js';
import { formatSize } from '../../engine/size.js';
import { hinted, toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { safeLine } from '../output/safe.js';
import { isAttended } from '../prompts/index.js';
import type { Settings } from '../settings/sources.js';
import { tokenFrom } from '../settings/token.js';

/**
 * Asks whether to send.
 * @throws NotConfirmedError if the answer is not yes; InterruptedError
 */
type Ask = (what: string) => Promise<void>;

/**
 * Makes the question; undefined if `confirm` is off or `--yes` was given.
 * @param pause clears the live display before the question
 * @throws UsageError if there is no terminal to ask at
 */
export async function confirmation(context: Context, pause = (): void => {}): Promise<Ask | undefined> {
  const { confirm, origins } = await context.settings();
  if (!confirm || context.flags.yes === true) return undefined;
  if (!isAttended(context)) {
    throw hinted(
      new UsageError(
        `nothing is sent without a yes, and there is no terminal to ask on; see ${origins.confirm}`,
      ),
      ({ again, isOf }) =>
        toRun(
          `${isOf('import') ? 'look at the plan with --dry-run, then send' : 'send'} without being asked`,
          again({ plus: ['--yes'] }),
        ),
    );
  }
  return async (what) => {
    const { openPrompter } = await import('../prompts/index.js');
    pause();
    if (!(await (await openPrompter(context)).confirm(`${what}\nSend?`, false))) {
      throw new NotConfirmedError('not confirmed; nothing was sent');
    }
  };
}

/** The same for an import: the question shows its totals. */
export async function importConfirmation(context: Context, pause: () => void): Promise<Confirm | undefined> {
  const ask = await confirmation(context, pause);
  if (!ask) return undefined;
  const settings = await context.settings();
  return async ({ plan, rows, continues }) => {
    const { changes } = plan;
    const lines = [
      continues === null
        ? `${count(rows, 'row')} in ${count(plan.requests, 'request')}, ${formatSize(plan.bytes)}`
        : `${count(rows, 'row')} left of run ${continues}`,
      `from ${plan.files.map(({ path }) => safeLine(path)).join(', ')}`,
      ...(changes
        ? [
            `${grouped(changes.new)} new, ${grouped(changes.changed)} changed, ${grouped(changes.refreshed)} refreshed; ${grouped(changes.unchanged)} unchanged ${changes.unchanged === 1 ? 'is' : 'are'} left out`,
          ]
        : []),
      `to ${whereTo(settings)}`,
    ];
    await ask(lines.join('\n'));
  };
}

/** The service that profiles would be sent to, in words. */
export function whereTo(settings: Settings): string {
  const { account, region, baseUrl, embedded } = settings;
  const host = embedded ? 'embedded' : safeLine(baseUrl ?? 'no host set');
  const from = tokenFrom(settings);
  const token = from === undefined ? '' : `, with the token from ${safeLine(from)}`;
  const service = `region ${safeLine(region)}, ${host}${token}`;
  return account === null ? service : `account ${safeLine(account)}, ${service}`;
}
