/** The command that does what a guided import did, without questions. */
import { KINDS } from '../../engine/model.js';
import type { MappingFile, MappingSection } from '../../engine/read/index.js';
import type { Commands } from '../again.js';
import { spelled } from '../options/index.js';

/** Rules that the command replaces. */
const RULES = [
  ...['--kind', '--id', '--user-id', '--company-id', '--map', '--include', '--exclude', '--set'],
  ...['--type', '--keys', '--empty', '--null', '--trim', '--allow-id', '--mapping', '--guide'],
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
  const { mapping: used, ...facts } = flags;
  const named = mapping === null && used !== undefined ? { ...facts, mapping: used } : facts;
  const reading = Object.entries(named).flatMap(([name, value]) =>
    [value].flat().flatMap((each) => [spelled(name), String(each)]),
  );
  const plus = [...reading, ...(skipsInvalid ? ['--skip-invalid'] : [])];
  if (mapping === null) return again({ without: ['--guide'], plus });
  if (saved !== null) return again({ without: RULES, plus: [...plus, '--mapping', saved] });
  const rules = KINDS.some((kind) => mapping[kind] !== undefined) ? null : flagsOf(mapping);
  return rules && again({ without: RULES, plus: [...rules, ...plus] });
}

/** The rules of a mapping as flags. Types that a column has by itself are left out. */
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
  return [
    ...one('--kind', kind),
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
