/** The commands that do what a guided import did, or that send what an earlier one left, without questions. */

import { resolve } from 'node:path';
import { KINDS, type Kind, type Summary } from '../../engine/model.js';
import { type ImportOptions, NUMBERS } from '../../engine/options.js';
import { type MappingFile, writtenFacts } from '../../engine/read/index.js';
import { hasConditions, hasSets } from '../../engine/run/private.js';
import type { Unsent } from '../../engine/run/unsent.js';
import { isWebAddress } from '../../engine/service/address.js';
import type { State } from '../../engine/state/state.js';
import type { Changes } from '../advice/commands.js';
import type { Again } from '../advice/next.js';
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
  inputs: readonly { path: string; kind: Kind }[];
  /** Where the mapping was saved; null if it was not. */
  saved: string | null;
  skipsInvalid: boolean;
}

/** Files that two commands would both write. */
const WRITTEN = ['--rejects', '--outcomes', '--report', '--save-plan'];

/** One command, or one for each kind of rows: flags are for all inputs, so they cannot say rules for two kinds. */
export function againFor({ flags, mapping, inputs, saved, skipsInvalid }: Answered): [Changes, ...Changes[]] {
  const plus = skipsInvalid ? ['--skip-invalid'] : [];
  if (mapping === null) {
    const reading = Object.entries(flags).flatMap(([name, value]) =>
      [value].flat().flatMap((each) => [spelled(name), String(each)]),
    );
    return [{ without: ['--guide'], plus: [...reading, ...plus] }];
  }
  if (saved !== null) return [{ without: MAPPED, plus: [...plus, '--mapping', saved] }];
  const { companies, users, ...all } = mapping;
  const kinds = KINDS.flatMap((kind) => {
    const own = { companies, users }[kind];
    return own ? [{ ...all, kind, ...own }] : [];
  });
  const [first, second] = kinds;
  if (!first || !second) return [{ without: MAPPED, plus: [...flagsOf(first ?? all), ...plus] }];
  const ofKind = (one: MappingFile): Changes => {
    const paths = inputs.flatMap(({ path, kind }) => (kind === one.kind ? [path] : []));
    return { paths, without: [...MAPPED, ...WRITTEN], plus: [...flagsOf(one), ...plus] };
  };
  return [ofKind(first), ofKind(second)];
}

/** The order in which a command says a mapping: what else it says comes behind the kind. */
const ORDER = 'id company_id map include exclude set keys type empty null trim allow_id'.split(' ');

/** A mapping as flags. */
export function flagsOf({ map = {}, ...section }: MappingFile): string[] {
  const renamed = Object.fromEntries(Object.entries(map).filter(([column, key]) => column !== key));
  const sorted = Object.entries({ kind: undefined, ...section, map: renamed }).sort(
    ([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b),
  );
  return sorted.flatMap(([key, value]) => {
    const flag = `--${key.replaceAll('_', '-')}`;
    if (value === undefined || value === false || (key === 'empty' && value === 'omit')) return [];
    if (value === true) return [flag];
    const values = typeof value !== 'object' || Array.isArray(value) ? [value].flat() : Object.entries(value);
    return values.flatMap((each) => [flag, Array.isArray(each) ? each.join('=') : String(each)]);
  });
}

/** For each run in `not_sent` whose rows flags can read: what `nextSteps` needs. */
export async function unsentFlags(
  { not_sent = [] }: Summary,
  state: State,
  cwd: string,
): Promise<Map<string, Again>> {
  const found = new Map<string, Again>();
  for (const { run, files } of not_sent) {
    const record = (await state.rejects.ofRun(run)).find((one) => one.run === run);
    const unsent = record?.unsent as Unsent | undefined;
    if (!unsent || files.includes('-') || hasConditions(unsent)) continue;
    const flags = flagsIn(unsent.options as ImportOptions);
    if (!flags) continue;
    const isHere = unsent.cwd === cwd;
    const paths = files.map((path) => (isHere || isWebAddress(path) ? path : resolve(unsent.cwd, path)));
    found.set(run, { paths, flags, sets: hasSets(unsent) });
  }
  return found;
}

/** Null if each kind has its own rules, which flags cannot say. */
function flagsIn(options: ImportOptions): string[] | null {
  const { kind, limit, changedOnly, userId, byKind = {} } = options;
  const [own, other] = Object.values(byKind);
  if (other) return null;
  const { rules, id, companyId } = { ...options, ...own };
  const { map, include, exclude, types, infer, empty, keys, nulls, trim, allowIds } = rules;
  const mapping: MappingFile = {
    kind: kind ?? (own && (byKind.companies ? 'companies' : 'users')),
    ...writtenFacts(options),
    ...{ id, company_id: companyId, keys, empty, null: nulls && [...nulls], trim },
    map: Object.fromEntries(map),
    include: [...include],
    exclude: [...exclude],
    type: { ...Object.fromEntries(types), ...(!infer && { '*': 'string' }) },
    allow_id: allowIds && [...allowIds],
  };
  return [
    ...flagsOf(mapping),
    ...(userId === undefined ? [] : ['--user-id', userId]),
    ...LIMITS.flatMap(([name, key]) =>
      options[name] === NUMBERS[name].default ? [] : ['-o', `${key}=${options[name]}`],
    ),
    ...(limit === undefined ? [] : ['--limit', String(limit)]),
    ...(changedOnly ? ['--changed-only'] : []),
  ];
}

const LIMITS = [
  ['maxCellBytes', 'max_cell'],
  ['maxColumns', 'max_columns'],
  ['maxDepth', 'max_depth'],
] as const;
