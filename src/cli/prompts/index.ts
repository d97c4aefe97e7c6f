/** Asks questions at a terminal: with lists and keys, or line by line. The questions go to stderr. */
import { UsageError } from '../../engine/errors.js';
import type { Context } from '../context.js';
import { inCi, terminalWidth } from '../output/terminal.js';
import { type Prompter, plainPrompter } from './plain.js';

type Asking = Pick<Context, 'stdin' | 'stderr' | 'stop' | 'env'>;

/** Whether there is a person at a terminal who can answer. */
export const isAttended = ({ stderr, env, stdin, flags }: Context): boolean =>
  stderr.isTTY === true && !inCi(env) && stdin().isTTY === true && flags.input !== false;

/** Whether a person can type at stdin. */
export const canAsk = ({ stdin, flags }: Pick<Context, 'stdin' | 'flags'>): boolean =>
  stdin().isTTY === true && flags.input !== false;

/** The error for `--guide` without a person. */
export const nobodyToAsk = (): UsageError =>
  new UsageError('--guide asks questions, and there is no terminal to ask on, or a flag forbids it', {
    hint: 'leave --guide out; inspect --write-mapping writes a mapping file without questions',
  });

/** `PROFILES_PROMPTS=plain`, a terminal that cannot move its cursor, or one without a width: line by line. */
export async function openPrompter(context: Asking): Promise<Prompter> {
  const { env, stderr } = context;
  const isPlain = env.PROFILES_PROMPTS === 'plain' || env.TERM === 'dumb' || terminalWidth(stderr) === null;
  if (isPlain) return plainPrompter(context);
  return (await import('./clack.js')).clackPrompter(context);
}
