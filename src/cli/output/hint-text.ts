/** Hints as text for a terminal. */
import { hintLines } from '../advice/hint.js';
import { safeLine, safeMessage } from './safe.js';

/** A sentence and its hint for a terminal: unusual spaces are made visible, but not in a command, which is to be pasted. */
export function safeHint(text: string, platform: NodeJS.Platform): string {
  const [first = '', ...more] = hintLines(text, platform);
  return [safeMessage(first), ...more.map((line) => `  ${safeLine(line)}`)].join('\n');
}
