/** Questions line by line, with numbers for choices: for screen readers, and terminals that cannot draw. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Context } from '../context.js';
import { safeLine, safeText } from '../output/safe.js';
import { type Check, type Choice, interrupted, type Prompter, whileOpen } from './prompter.js';

/** If several lines are pasted at once, the next questions use the others as answers. */
export function plainPrompter(context: Pick<Context, 'stdin' | 'stderr' | 'stop'>): Prompter {
  const { stdin, stderr } = context;
  const lines: string[] = [];
  const say = (line: string): void => void stderr.write(`${line}\n`);

  /** @throws InterruptedError */
  const line = async (question: string, isHidden = false): Promise<string> => {
    const open = whileOpen(context);
    // With an output that discards it, readline echoes nothing. It turns the terminal's own echo off.
    const output = new Writable({ write: (_chunk, _encoding, done) => done() });
    const reader = createInterface(
      isHidden ? { input: stdin(), output, terminal: true } : { input: stdin() },
    );
    const typed = new Promise<void>((resolve, reject) => {
      const end = (): void => reject(interrupted(context));
      if (open.signal.aborted) end();
      open.signal.addEventListener('abort', end, { once: true });
      reader.on('line', (text) => {
        lines.push(text);
        resolve();
      });
      reader.once('SIGINT', end).once('close', end).once('error', end);
    });
    try {
      stderr.write(safeText(question));
      if (lines.length === 0) await typed;
      return lines.shift()!;
    } finally {
      typed.catch(() => {}); // if the answer was there already, closing the reader rejects this
      open.done();
      reader.close(); // this also makes the terminal echo again
      if (isHidden) stderr.write('\n');
    }
  };

  /** Asks until the answer can be used. @param read undefined for an answer that cannot */
  const until = async <T>(question: string, read: (text: string) => T | string, isHidden = false) => {
    for (;;) {
      const answer = read(await line(question, isHidden));
      if (typeof answer !== 'string') return answer;
      say(`  ${answer}`);
    }
  };
  const list = (question: string, choices: readonly Choice<unknown>[]): void => {
    say(safeText(question));
    for (const [at, { label, hint }] of choices.entries()) {
      say(`  ${at + 1}. ${safeLine(label)}${hint ? ` (${safeLine(hint)})` : ''}`);
    }
  };
  const text = (
    question: string,
    initial: string | undefined,
    check: Check = () => undefined,
    isHidden = false,
  ) => {
    const shown = initial === undefined ? '' : ` [${safeLine(initial)}]`;
    const read = (typed: string): { text: string } | string => {
      const answer = typed.trim() || (initial ?? '');
      return check(answer) ?? { text: answer };
    };
    return until(`${question}${shown}: `, read, isHidden).then((answer) => answer.text);
  };
  return {
    choose: async (question, choices, initial = 0) => {
      list(question, choices);
      const read = (typed: string) => {
        const at = typed.trim() === '' ? initial : numberOf(typed, choices.length);
        return at === null ? `Type a number from 1 to ${choices.length}.` : { value: choices[at]!.value };
      };
      return (await until(`Number [${initial + 1}]: `, read)).value;
    },
    tick: async (question, choices) => {
      list(question, choices);
      const read = (typed: string) => {
        const words = typed.split(/[\s,]+/).filter(Boolean);
        if (words.length === 0) return { values: choices.map(({ value }) => value) };
        if (words.join() === '0') return { values: [] };
        const left = words.map((word) => numberOf(word, choices.length));
        if (left.includes(null)) return `Type numbers from 1 to ${choices.length}, or 0 for none.`;
        return { values: left.map((at) => choices[at!]!.value) };
      };
      return (await until('Numbers to take, 0 for none [all]: ', read)).values;
    },
    find: async (question, choices) => {
      const read = (typed: string) => {
        const part = typed.trim().toLowerCase();
        if (part === '') return { value: choices[0]!.value };
        const exact = choices.find(({ value }) => value.toLowerCase() === part);
        const found = exact ? [exact] : choices.filter(({ label }) => label.toLowerCase().includes(part));
        const [only, other] = found;
        if (only && !other) return { value: only.value };
        if (!only) return `Nothing is like "${safeLine(typed.trim())}".`;
        return `Which one: ${found
          .slice(0, 10)
          .map(({ label }) => safeLine(label))
          .join(', ')}?`;
      };
      return (await until(`${question} [${safeLine(choices[0]!.label)}]: `, read)).value;
    },
    confirm: async (question, initial) => {
      const read = (typed: string) => {
        const answer = typed.trim().toLowerCase();
        if (answer === '') return { yes: initial };
        if (/^y(es)?$/.test(answer)) return { yes: true };
        return /^n(o)?$/.test(answer) ? { yes: false } : 'Type y or n.';
      };
      return (await until(`${question} [${initial ? 'Y/n' : 'y/N'}]: `, read)).yes;
    },
    text: (question, { initial, check } = {}) => text(question, initial, check),
    hidden: (question, { check } = {}) => text(question, undefined, check, true),
    show: (shown) => shown.map(safeLine).forEach(say),
  };
}

/** The index of a number as it is shown, from 1; null if there is none. */
function numberOf(typed: string, most: number): number | null {
  const number = Number(typed.trim());
  return Number.isInteger(number) && number >= 1 && number <= most ? number - 1 : null;
}
