/** Questions with lists and keys, drawn by clack. */

import * as clack from '@clack/prompts';
import type { Context } from '../context.js';
import { safeLine, safeText } from '../output/terminal.js';
import { wrapTo } from '../output/width.js';
import { type Choice, interrupted, type Prompter, whileOpen } from './plain.js';

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
  const options = (choices: readonly Choice<unknown>[]) =>
    choices.map(({ label, hint }, value) => ({
      value,
      label: safeLine(label),
      ...(hint !== undefined && { hint: safeLine(hint) }),
    }));
  /** Clack shows the hint of a single choice only where the cursor is: to compare, all must be seen. */
  const whole = (choices: readonly Choice<unknown>[]) =>
    options(choices).map(({ value, label, hint }) => ({
      value,
      label: hint ? `${label}  (${hint})` : label,
    }));
  const maxItems = (): number => Math.max(4, Math.min(MOST_SHOWN, (stderr.rows ?? 24) - 6));
  return {
    choose: async (question, choices, initial = 0) => {
      const message = safeText(question);
      const list = { message, options: whole(choices), initialValue: initial, maxItems: maxItems() };
      return choices[await answered((io) => clack.select({ ...io, ...list }))]!.value;
    },
    tick: async (question, choices) => {
      const message = safeText(question);
      const initialValues = [...choices.keys()];
      const list = {
        message,
        options: options(choices),
        initialValues,
        required: false,
        maxItems: maxItems(),
      };
      const ticked = await answered((io) => clack.multiselect({ ...io, ...list }));
      return choices.filter((_, at) => ticked.includes(at)).map(({ value }) => value);
    },
    find: async (question, choices) => {
      const message = safeText(question);
      const list = { message, options: whole(choices), initialValue: 0, maxItems: maxItems() };
      return choices[await answered((io) => clack.autocomplete({ ...io, ...list }))]!.value;
    },
    confirm: (question, initialValue) =>
      answered((io) => clack.confirm({ ...io, message: safeText(question), initialValue })),
    text: async (message, { initial, check = () => undefined } = {}) => {
      const placeholder =
        initial === undefined ? {} : { placeholder: safeLine(initial), defaultValue: initial };
      const validate = (text: string | undefined) => check(text?.trim() || (initial ?? ''));
      return (await answered((io) => clack.text({ ...io, message, ...placeholder, validate }))).trim();
    },
    hidden: async (message, { check = () => undefined } = {}) => {
      const validate = (text: string | undefined) => check(text ?? '');
      return answered((io) => clack.password({ ...io, message, validate }));
    },
    // Clack does not wrap: a longer line would leave its frame.
    show: (lines) => {
      const columns = (stderr.columns ?? 80) - FRAME;
      clack.log.message(
        lines.flatMap((line) => wrapTo(safeLine(line), columns)),
        { output: stderr },
      );
    },
  };
}
