/** The words of a command line, as `again` repeats them: commander keeps no order, and no spelling. */
import { isWebAddress } from '../../engine/service/address.js';
import { type Entry, OPTIONS, optionOf } from '../options/index.js';

export interface Typed {
  command: string | undefined;
  paths: string[];
  /** What each option is called (`--chunk-size`, or `-o retries`), and its words. */
  flags: [name: string, words: string[]][];
}

/** The option that is called so: `--chunk-size`, or `-o retries`. */
export const optionTyped = (name: string): Entry | undefined => OPTIONS.find(({ typed }) => typed === name);

/** What the setting of `-o key=value` is called: its flag, or `-o key` if it has none. */
const settingName = (pair: string): string => {
  const [key = ''] = pair.split('=', 1);
  return OPTIONS.find((option) => option.key === key)?.typed ?? `-o ${key}`;
};

/** Removes the query of an address, which may be a signature: the reader fills it in. */
const withoutSecret = (path: string): string => (isWebAddress(path) ? path.replace(/\?[^#]*/, '?…') : path);

const takesValue = (option: Entry | undefined): boolean =>
  option !== undefined && option.type.placeholder !== '';

export function typedIn(argv: readonly string[]): Typed {
  const words: string[] = [];
  const flags: Typed['flags'] = [];
  const left = [...argv];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--') {
      words.push(...left);
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      words.push(word);
      continue;
    }
    const isShort = !word.startsWith('--');
    const [name = word] = isShort ? [word.slice(0, 2)] : word.split('=', 1);
    const option = optionOf(name);
    // `-nk users` is `-n -k users`.
    if (isShort && word.length > 2 && !takesValue(option)) {
      left.unshift(name, `-${word.slice(2)}`);
      continue;
    }
    const parts = takesValue(option) && name === word && left.length > 0 ? [word, left.shift()!] : [word];
    const setting = option?.name === 'option' ? parts.at(-1)!.replace(/^-o|^--option=/, '') : null;
    flags.push([setting === null ? (option?.long ?? name) : settingName(setting), parts]);
  }
  const [command, ...paths] = words;
  return { command, paths: paths.map(withoutSecret), flags };
}
