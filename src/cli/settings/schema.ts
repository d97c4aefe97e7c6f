/**
 * The schema of the config file (contract §2 "Keys"), derived from the table of options.
 * `schemas/config.schema.json` is derived from it.
 */
import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import * as z from 'zod';
import { ConfigError } from '../../engine/errors.js';
import { hinted } from '../advice/hint.js';
import type { Entry } from '../options/index.js';
import { KEYS, type Key, NAME, NAME_RULE, type Scalar, sentence } from './keys.js';

const name = z.string().regex(NAME, NAME_RULE);
const COMMAND_FORM = 'must be an array of a program and its arguments, like ["pass","show","profiles"]';

const count = (least: number) =>
  z.int('must be a whole number').min(least, least === 0 ? 'must be 0 or more' : `must be at least ${least}`);

/** The schema of an option's value. `null` is not allowed: to unset a key, leave it out. */
function schemaOf({ type: { kind, least = 0, words = [], pattern, form = '' } }: Entry): z.ZodType {
  if (kind === 'flag') return z.boolean('must be true or false');
  if (kind === 'count') return count(least);
  if (kind === 'word') return z.enum(words);
  if (kind === 'name') return name;
  if (kind === 'words') {
    const command = z.array(z.string(COMMAND_FORM), COMMAND_FORM).min(1, COMMAND_FORM);
    const isCommand = (all: string[]) => all[0] !== '' && !all.some((word) => word.includes('\0'));
    return command.refine(isCommand, { error: COMMAND_FORM });
  }
  const any = pattern ? z.string().regex(pattern, form) : z.string().min(1, 'must not be empty');
  const text = least > 0 ? any.regex(/[1-9]/, 'must be greater than zero') : any;
  return kind === 'size' || kind === 'bound' ? z.union([count(least), text], { error: form }) : text;
}

/** The schemas of the keys directly below `prefix`. With `place`, only keys that only accounts have. */
function shape(prefix: string, place?: 'account'): Record<string, z.ZodType> {
  const all = KEYS.filter(({ config, only }) => {
    const isHere = config.startsWith(prefix) && !config.slice(prefix.length).includes('.');
    return isHere && (place ? only === place : only !== 'account');
  });
  const schema = (option: Entry) => schemaOf(option).describe(sentence(option));
  return Object.fromEntries(all.map((option) => [option.config.slice(prefix.length), schema(option)]));
}

const partial = <S extends z.core.$ZodLooseShape>(members: S) => z.strictObject(members).partial();

const { account, ...leaves } = shape('');

const section = {
  ...leaves,
  regions: z
    .record(
      name.regex(/^(?!sandbox$)/, 'the sandbox is embedded and has no hosts to set'),
      partial(shape('regions.<name>.')),
    )
    .describe('Hosts of each region.'),
  import: partial(shape('import.')).describe('Defaults for flags of profiles import.'),
};

export const fileSchema = partial({
  $schema: z.string().describe('For editors.'),
  ...section,
  account: account!,
  accounts: z
    .record(name, partial({ ...section, ...shape('', 'account') }))
    .describe('Settings of named accounts; each key overrides the one at the top.'),
});

/**
 * Converts a value from the command line to the type of its key: `5000` is a number for `chunk_size` and text for
 * `delimiter`.
 * @throws ConfigError
 */
export function parseValue(key: Key, text: string): Scalar {
  const schema = schemaOf(key.option);
  if (key.option.type.kind === 'words') return parseWords(key, text, schema);
  const literal = /^(true|false|-?\d+(\.\d+)?)$/.test(text) ? [JSON.parse(text) as Scalar] : [];
  const wrong = (value: Scalar): string | undefined => schema.safeParse(value).error?.issues[0]?.message;
  const right = [text, ...literal].find((value) => wrong(value) === undefined);
  if (right !== undefined) return right;
  // Our own messages say more than those of zod about types.
  const messages = [...literal, text].map((value) => wrong(value)!);
  const best = messages.find((message) => !message.startsWith('Invalid')) ?? messages[0] ?? '';
  throw new ConfigError(`${key.name}: "${text}": ${best.replace(/^Invalid (input|option): /, '')}`);
}

/** Reads an array, written as JSON so that it is clear where each argument ends. @throws ConfigError */
function parseWords(key: Key, text: string, schema: z.ZodType): string[] {
  try {
    const value = JSON.parse(text) as string[];
    if (schema.safeParse(value).success) return value;
  } catch {}
  const words = /^[^["{]/.test(text.trim()) ? text.trim().split(/\s+/) : ['pass', 'show', 'profiles'];
  throw hinted(new ConfigError(`${key.name}: ${COMMAND_FORM.replace(/, like.*/, '')}`), {
    do: 'write it as JSON',
    run: ['config', 'set', key.name, JSON.stringify(words)],
  });
}

/** Line and column of the first error, and what is wrong: `2:13: invalid JSON: value expected`. */
export function jsonFault(text: string): string {
  const faults: ParseError[] = [];
  parse(text, faults, { disallowComments: true });
  const { error, offset } = faults[0] ?? { error: 1, offset: text.length };
  const before = text.slice(0, offset).split('\n');
  const reason = printParseErrorCode(error).replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`);
  return `${before.length}:${before.at(-1)!.length + 1}: invalid JSON: ${reason.toLowerCase()}`;
}
