/** The options of a run as flags of another import. */

import type { ImportOptions } from '../../engine/options.js';
import { type MappingFile, writtenFacts } from '../../engine/read/index.js';
import { flagsOf, isSplit } from '../guide/again.js';
import { OPTIONS, REJECTING } from '../options/index.js';

/** The values that a run sets for every item, in the form of `--set`. */
export function setIn({ rules, byKind }: ImportOptions): string[] {
  const all = [rules, byKind?.companies?.rules, byKind?.users?.rules].flatMap((each) => each?.set ?? []);
  return [...new Set(all.map((pair) => pair.join('=')))];
}

/** How a run reads and sends. Null if each kind has its own rules, or a key has `=`, which flags cannot say. */
export function flagsIn(options: ImportOptions): string[] | null {
  const { kind, where = [], limit, userId, byKind = {} } = options;
  const [own, other] = Object.values(byKind);
  const { rules, id, companyId } = { ...options, ...own };
  if (other || isSplit([...rules.map.map(([, key]) => key), ...rules.set.map(([key]) => key)])) return null;
  const { map, types, infer, empty, keys, nulls, trim, allowIds, include, exclude } = rules;
  const mapping: MappingFile = {
    kind: kind ?? (own && (byKind.companies ? 'companies' : 'users')),
    ...writtenFacts(options),
    ...{ id, company_id: companyId, keys, empty, null: nulls && [...nulls], trim },
    ...{ map: Object.fromEntries(map), include: [...include], exclude: [...exclude] },
    type: { ...Object.fromEntries(types), ...(!infer && { '*': 'string' }) },
    allow_id: allowIds && [...allowIds],
  };
  return [
    ...flagsOf(mapping),
    ...(userId === undefined ? [] : ['--user-id', userId]),
    ...where.flatMap((condition) => ['--where', condition.join('')]),
    ...(limit === undefined ? [] : ['--limit', String(limit)]),
    ...sendingIn(options),
  ];
}

/** The options of a run that are neither about columns nor of one session. */
const OF_RUN = OPTIONS.filter(({ heading, name, ofSession }) => {
  return (
    name === 'maxCell' || (heading === 'Sending' && !ofSession && name !== 'dryRun' && name !== 'resume')
  );
});

/** How a run is sent, as flags, as far as that differs from the defaults. */
function sendingIn(options: ImportOptions): string[] {
  const values = new Map<string, unknown>(Object.entries(options));
  const said: string[] = [];
  for (const { name, sets = name, default: usual, needs = '', type, typed, key } of OF_RUN) {
    const value = values.get(sets) ?? null;
    if (value === null || value === usual || !said.join(' ').includes(needs)) continue;
    // A size as people read it is rounded.
    const text = type.kind === 'size' || type.kind === 'flag' ? String(value) : type.write(value);
    if (typed.startsWith('-o ')) said.push('-o', `${key}=${text}`);
    else said.push(typed, ...(type.kind === 'flag' ? [] : [text]));
  }
  return said;
}

/** How many rows may be invalid, as flags. */
export function invalidIn({ invalid }: ImportOptions): string[] {
  if (typeof invalid === 'object') return ['--max-invalid', REJECTING.maxInvalid.type.write(invalid)];
  return invalid === 'any' ? ['--skip-invalid'] : [];
}
