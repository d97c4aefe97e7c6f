/** The flags with which the valid rows of a run that sent nothing are read as it read them. */
import { resolve } from 'node:path';
import type { Summary } from '../../engine/model.js';
import { type ImportOptions, NUMBERS } from '../../engine/options.js';
import { type MappingFile, writtenFacts } from '../../engine/read/index.js';
import { hasConditions, hasSets } from '../../engine/run/private.js';
import type { Unsent } from '../../engine/run/unsent.js';
import { isWebAddress } from '../../engine/service/address.js';
import type { State } from '../../engine/state/state.js';
import { flagsOf } from './command.js';

/** As `nextSteps` takes it. */
interface Again {
  paths: string[];
  flags: string[];
  sets: boolean;
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
