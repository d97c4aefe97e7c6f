/** Where JSON becomes invalid. Loaded for a config file that cannot be parsed. */
import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';

/** Line and column of the first error, and what is wrong: `2:13: invalid JSON: value expected`. */
export function jsonFault(text: string): string {
  const faults: ParseError[] = [];
  parse(text, faults, { disallowComments: true });
  const { error, offset } = faults[0] ?? { error: 1, offset: text.length };
  const before = text.slice(0, offset).split('\n');
  const reason = printParseErrorCode(error).replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`);
  return `${before.length}:${before.at(-1)!.length + 1}: invalid JSON: ${reason.toLowerCase()}`;
}
