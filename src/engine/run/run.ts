/** What makes a run a run: its name, what it keeps of its options, and what tells two runs of the same content. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StateError } from '../errors.js';
import { KINDS, type Kind } from '../model.js';
import { dialectOptions, type ImportOptions, type MappingRules } from '../options.js';
import type { StoredRun } from '../state/runs.js';
import type { Scope, State } from '../state/state.js';

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** `20261120-101500-x7k2`: sorts by time, can be read out and typed. UTC. */
export function newRunId(now: number, random: () => number): string {
  const time = new Date(now).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  const tail = Array.from({ length: 4 }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
  return `${time}-${tail}`;
}

/** Same content, kinds, mapping and host: by this an import finds the run to continue (contract §4). */
export function identityOf(
  scope: Scope,
  inputs: readonly { digest: string; kind: Kind }[],
  options: ImportOptions,
): string {
  const { kind, id, companyId, format, delimiter, encoding, rules, maxCellBytes, chunkBytes } = options;
  const { userId, byKind } = options;
  const content = [scope.region, scope.base_url, inputs.map((i) => [i.digest, i.kind])];
  const mapping: unknown[] = [kind, id, companyId, format, delimiter, encoding, rules];
  // Of what came later, only what was asked for: runs of earlier versions must be found again.
  if (userId !== undefined || byKind !== undefined) mapping.push({ userId, byKind });
  // They decide which rows are invalid: with others, what was sent and what is rejected would overlap.
  const bounds = [maxCellBytes, chunkBytes];
  // Only where there is one: runs that began before there were dialects are found again.
  const { delimiter: _, ...dialect } = dialectOptions(options);
  const read = Object.keys(dialect).length > 0 ? [dialect] : [];
  return createHash('sha256')
    .update(JSON.stringify([content, mapping, bounds, ...read]))
    .digest('hex');
}

/** Values that are set for every item are metadata, and the state holds none: they are with the run's spooled input. */
const SET_FILE = 'set.json';

type SetValues = MappingRules['set'];

/** The constant values of all rules: those for all inputs, and those of each kind. */
const setsOf = ({ rules, byKind }: Pick<ImportOptions, 'rules' | 'byKind'>): SetValues[] => [
  rules.set,
  ...KINDS.map((kind) => byKind?.[kind]?.rules.set ?? []),
];

/** The options with other constant values, in the order of `setsOf`. */
function withSets<T extends Pick<ImportOptions, 'rules' | 'byKind'>>(options: T, sets: SetValues[]): T {
  const { rules, byKind } = options;
  const kinds = KINDS.flatMap((kind, index) => {
    const own = byKind?.[kind];
    return own ? [[kind, { ...own, rules: { ...own.rules, set: sets[index + 1] ?? [] } }]] : [];
  });
  return {
    ...options,
    rules: { ...rules, set: sets[0] ?? [] },
    ...(byKind && { byKind: Object.fromEntries(kinds) }),
  };
}

/** Options as the state keeps them; gives back to `restoreOptions` what it needs. @throws StateError */
export function storeOptions(state: State, run: string, options: ImportOptions): unknown {
  const sets = setsOf(options);
  const hasSet = sets.some((set) => set.length > 0);
  if (hasSet) {
    const file = join(state.spoolFolder(run), SET_FILE);
    try {
      writeFileSync(file, JSON.stringify(options.byKind ? { sets } : sets[0]), { mode: 0o600 });
    } catch (error) {
      throw new StateError(`cannot save the constant values to ${file}: ${(error as Error).message}`, {
        hint: 'free some disk space, and check the permissions of the folder',
        problem: { code: 'state_folder' },
        cause: error,
      });
    }
  }
  return { ...withSets(options, []), hasSet };
}

/** The options of an earlier session. @throws StateError when their private part is gone */
export function restoreOptions(state: State, run: StoredRun): ImportOptions {
  const { hasSet, ...options } = run.options as ImportOptions & { hasSet: boolean };
  if (!hasSet) return options;
  const file = join(state.spoolFolder(run.run), SET_FILE);
  if (!existsSync(file)) {
    throw new StateError(`the constant values of run ${run.run} are missing: ${file} not found`, {
      hint: 'import the file again',
    });
  }
  const kept = JSON.parse(readFileSync(file, 'utf8')) as SetValues | { sets: SetValues[] };
  return withSets(options, 'sets' in kept ? kept.sets : [kept]);
}
