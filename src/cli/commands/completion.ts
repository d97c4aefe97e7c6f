/**
 * `profiles completion <shell>`: prints a script for the shell, which calls a hidden command at each Tab. That says what can
 * be typed next (`suggest`).
 */
import { safeLine, writeOut } from '../output/terminal.js';
import { oneOf, print, spec } from './command.js';
import SCRIPTS from './completion.json' with { type: 'json' };
import { SHELLS, suggest } from './suggest.js';

export const command = spec({
  options: ([word = '']) => oneOf('shell', word, SHELLS, { all: `available shells: ${SHELLS.join(', ')}` }),
  run: async (shell, context) => {
    const text = await scriptFor(shell);
    await print(context, { shell, script: text }, `${text}\n`, 0);
  },
  commands: {
    complete: spec({
      hidden: true,
      options: (words, { line }) => (typeof line === 'string' ? splitLine(line).slice(1) : words),
      // Never fails, because completion cannot show an error.
      run: async (words, context, tree) => {
        const found = await suggest(words, tree, context).catch(() => ({ values: [], directive: 0 }));
        const lines = found.values.map(([value, about]) => `${value}\t${safeLine(about)}`);
        await writeOut(context.stdout, `${[...lines, `:${found.directive}`].join('\n')}\n`);
      },
    }),
  },
});

/**
 * Splits a line into words as a POSIX shell would, without running or expanding anything. The last word is the one being
 * typed: it is empty after a space, and its quotes may still be open.
 */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word = '';
  let quote = '';
  let begun = false;
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!;
    if (quote === '' && /\s/.test(char)) {
      if (begun) words.push(word);
      [word, begun] = ['', false];
      continue;
    }
    begun = true;
    if (quote !== '' && char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
    else if (char === '\\' && quote !== "'" && i + 1 < line.length) word += line[++i]!;
    else word += char;
  }
  return [...words, word];
}

/**
 * In zsh, a colon ends a value and starts its description unless it is escaped, and job ids contain colons.
 * The script of tab 0.0.22 loses the backslash: zsh 5.9 would complete `urn` for `urn:job:77`.
 */
const ZSH_COLON = { theirs: '{comp//:/\\:}', ours: '{comp//:/\\\\:}' };

/**
 * The completion script for a shell, without a line break at the end. bash has its own script, because the one of
 * `@bomb.sh/tab` needs the bash-completion package, evaluates what is being typed, declares read-only variables (so it
 * cannot be loaded twice), and never completes a file name.
 */
async function scriptFor(shell: (typeof SHELLS)[number]): Promise<string> {
  if (shell === 'bash') return SCRIPTS.bash.join('\n');
  const { script } = await import('@bomb.sh/tab');
  // `@bomb.sh/tab` can only print its scripts. It is synchronous, so nothing else is captured.
  const { log } = console;
  const lines: string[] = [];
  console.log = (line: string) => lines.push(line);
  try {
    script(shell, 'profiles', 'profiles completion');
  } finally {
    console.log = log;
  }
  return lines.join('\n').trimEnd().replace(ZSH_COLON.theirs, ZSH_COLON.ours);
}
