/** Questions with lists and keys, drawn by clack. */

import * as clack from '@clack/prompts';
import type { Context } from '../context.js';
import { safeLine, safeText } from '../output/terminal.js';
import { wrapTo } from '../output/width.js';
import { type Choice, interrupted, type Prompter, tickedIn, whileOpen } from './plain.js';

/** The most choices shown at once. */
const MOST_SHOWN = 12;
/** Columns of the bar and the spaces before each line, and one at the end. */
const FRAME = 4;

export function clackPrompter(context: Pick<Context, 'stdin' | 'stderr' | 'stop'>): Prompter {
  const { stdin, stderr } = context;

  /** @throws InterruptedError if the answer is that there is none */
  const answered = async <T>(
    ask: (io: clack.CommonOptions) => Promise<T | typeof clack.CANCEL_SYMBOL>,
  ): Promise<T> => {
    const open = whileOpen(context);
    try {
      const answer = await ask({ input: stdin(), output: stderr, signal: open.signal });
      if (clack.isCancel(answer)) throw interrupted(context);
      return answer;
    } finally {
      open.done();
    }
  };
  /** Values may be objects: clack gets their indexes. */
  const listOf = (question: string, choices: readonly Choice<unknown>[]) => ({
    message: safeText(question),
    options: choices.map(({ label, hint = '' }, value) => ({
      value,
      label: safeLine(label),
      hint: safeLine(hint),
    })),
    maxItems: Math.max(4, Math.min(MOST_SHOWN, (stderr.rows ?? 24) - 6)),
  });
  /** Clack shows the hint of a single choice only where the cursor is: to compare, all must be seen. */
  const wholeOf = (question: string, choices: readonly Choice<unknown>[], initialValue = 0) => {
    const { options, ...list } = listOf(question, choices);
    const whole = options.map(({ value, label, hint }) => ({
      value,
      label: hint ? `${label}  (${hint})` : label,
    }));
    return { ...list, options: whole, initialValue };
  };
  return {
    choose: async (question, choices, initial) => {
      const list = wholeOf(question, choices, initial);
      return choices[await answered((io) => clack.select({ ...io, ...list }))]!.value;
    },
    tick: async (question, choices) => {
      const list = { ...listOf(question, choices), initialValues: tickedIn(choices), required: false };
      const ticked = await answered((io) => clack.multiselect({ ...io, ...list }));
      return choices.filter((_, at) => ticked.includes(at)).map(({ value }) => value);
    },
    find: async (question, choices) => {
      const list = wholeOf(question, choices);
      return choices[await answered((io) => clack.autocomplete({ ...io, ...list }))]!.value;
    },
    confirm: (question, initialValue) =>
      answered((io) => clack.confirm({ ...io, message: safeText(question), initialValue })),
    text: async (message, { initial, check = () => undefined } = {}) => {
      const shown = initial === undefined ? {} : { placeholder: safeLine(initial), defaultValue: initial };
      const validate = (text: string | undefined) => check(text?.trim() || (initial ?? ''));
      return (await answered((io) => clack.text({ ...io, message, ...shown, validate }))).trim();
    },
    hidden: async (message, { check = () => undefined } = {}) =>
      answered((io) => clack.password({ ...io, message, validate: (text) => check(text ?? '') })),
    // Clack does not wrap: a longer line would leave its frame.
    show: (lines) => {
      const columns = (stderr.columns ?? 80) - FRAME;
      const wrapped = lines.flatMap((line) => wrapTo(safeLine(line), columns));
      clack.log.message(wrapped, { output: stderr });
    },
  };
}
