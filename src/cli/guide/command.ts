/** The command that does what a guided import did, without questions. */
import { KINDS } from '../../engine/model.js';
import { FACTS, factKey, type MappingFile, type MappingSection } from '../../engine/read/index.js';
import type { Commands } from '../again.js';
import { OPTIONS, spelled } from '../options/index.js';

/** What the mapping holds, so that the command needs no flag for it. */
const MAPPED = [
  ...OPTIONS.flatMap(({ mapping, long }) => (mapping ? [long] : [])),
  ...['--map', '--exclude', '--type', '--mapping', '--guide'],
];

interface Answered {
  /** Flags that make the inputs readable, and the mapping file that was used. */
  flags: Readonly<Record<string, unknown>>;
  mapping: MappingFile | null;
  /** Where the mapping was saved; null if it was not. */
  saved: string | null;
  skipsInvalid: boolean;
}

/** Null if flags cannot say it: two kinds of rows with different rules need a mapping file. */
export function commandFor(
  { flags, mapping, saved, skipsInvalid }: Answered,
  { again }: Commands,
): string | null {
  const plus = skipsInvalid ? ['--skip-invalid'] : [];
  if (mapping === null) {
    const reading = Object.entries(flags).flatMap(([name, value]) =>
      [value].flat().flatMap((each) => [spelled(name), String(each)]),
    );
    return again({ without: ['--guide'], plus: [...reading, ...plus] });
  }
  if (saved !== null) return again({ without: MAPPED, plus: [...plus, '--mapping', saved] });
  const rules = KINDS.some((kind) => mapping[kind] !== undefined) ? null : flagsOf(mapping);
  return rules && again({ without: MAPPED, plus: [...rules, ...plus] });
}

/** A mapping as flags. Types that a column has by itself are left out. */
function flagsOf({ kind, ...section }: MappingFile): string[] {
  const each = (flag: string, values: readonly string[] = []): string[] =>
    values.flatMap((value) => [flag, value]);
  const pairs = (flag: string, values: Readonly<Record<string, string>> = {}): string[] =>
    each(
      flag,
      Object.entries(values).map((pair) => pair.join('=')),
    );
  const one = (flag: string, value: string | undefined): string[] =>
    each(flag, value === undefined ? [] : [value]);
  const {
    id,
    company_id,
    map = {},
    include,
    exclude,
    set,
    type = {},
    empty,
    trim,
    allow_id,
  } = section as MappingSection;
  const renamed = Object.fromEntries(Object.entries(map).filter(([column, key]) => column !== key));
  const facts = FACTS.flatMap((fact) => {
    const value = section[factKey(fact)];
    if (value === undefined) return [];
    return value === true ? [spelled(fact)] : [spelled(fact), String(value)];
  });
  return [
    ...one('--kind', kind),
    ...facts,
    ...one('--id', id),
    ...one('--company-id', company_id),
    ...pairs('--map', renamed),
    ...each('--include', include),
    ...each('--exclude', exclude),
    ...pairs('--set', set),
    ...pairs('--type', type),
    ...(empty === 'omit' ? [] : one('--empty', empty)),
    ...each('--null', section.null),
    ...(trim ? ['--trim'] : []),
    ...each('--allow-id', allow_id),
  ];
}
