/** Questions with lists and keys, drawn by clack. */
import * as clack from '@clack/prompts';
import type { Context } from '../context.js';
import { safeLine } from '../output/safe.js';
import { type Choice, interrupted, type Prompter, whileOpen } from './prompter.js';

/** The most choices shown at once. */
const MOST_SHOWN = 12;

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
  const maxItems = (): number => Math.max(4, Math.min(MOST_SHOWN, (stderr.rows ?? 24) - 6));
  return {
    choose: async (message, choices, initial = 0) => {
      const list = { message, options: options(choices), initialValue: initial, maxItems: maxItems() };
      return choices[await answered((io) => clack.select({ ...io, ...list }))]!.value;
    },
    tick: async (message, choices) => {
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
    find: async (message, choices) => {
      const list = { message, options: options(choices), initialValue: 0, maxItems: maxItems() };
      return choices[await answered((io) => clack.autocomplete({ ...io, ...list }))]!.value;
    },
    confirm: (message, initialValue) => answered((io) => clack.confirm({ ...io, message, initialValue })),
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
    show: (lines) => clack.log.message(lines.map(safeLine), { output: stderr }),
  };
}
