/** The command line that was typed, with other flags: for hints that can be pasted. */
import { optionOf } from './options/index.js';
import { shellWord } from './shell.js';

export interface Changes {
  /** Default: the command that was typed. */
  command?: string;
  /** Default: the files that were typed. */
  paths?: readonly string[];
  /** Flags that go, with their values. */
  without?: readonly string[];
  /** Flags and values that come. */
  plus?: readonly string[];
}

interface Typed {
  command: string | undefined;
  paths: string[];
  flags: [long: string, words: string[]][];
}

/** `profiles import a.csv --kind users`, quoted for the shell. Flags that another command does not take are left out. */
export function again(argv: readonly string[], changes: Changes): string {
  const typed = typedIn(argv);
  const command = changes.command ?? typed.command ?? 'import';
  const kept = typed.flags.flatMap(([long, words]) => {
    const commands = optionOf(long)?.commands;
    const taken = command === typed.command || commands?.some((name) => name === command || name === '*');
    return taken && !changes.without?.includes(long) ? words : [];
  });
  const paths = changes.paths ?? typed.paths;
  const files = paths.some((path) => path.startsWith('-') && path !== '-') ? ['--', ...paths] : null;
  const words = [command, ...(files ? [] : paths), ...kept, ...(changes.plus ?? []), ...(files ?? [])];
  return ['profiles', ...words.map(shellWord)].join(' ');
}

/** Whether a flag was typed. */
export const wasTyped = (argv: readonly string[], long: string): boolean =>
  typedIn(argv).flags.some(([name]) => name === long);

/** An address may be signed: the reader fills in what stood after the question mark. */
const withoutSecret = (path: string): string =>
  /^https?:\/\//i.test(path) ? path.replace(/\?[^#]*/, '?…') : path;

function typedIn(argv: readonly string[]): Typed {
  const words: string[] = [];
  const flags: Typed['flags'] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    if (word === '--') {
      words.push(...argv.slice(at + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      words.push(word);
      continue;
    }
    const [long = word] = word.split('=', 1);
    const placeholder = optionOf(long)?.type.placeholder ?? '';
    const valued = placeholder !== '' && long === word && at + 1 < argv.length;
    flags.push([long, valued ? [word, argv[++at]!] : [word]]);
  }
  const [command, ...paths] = words;
  return { command, paths: paths.map(withoutSecret), flags };
}
