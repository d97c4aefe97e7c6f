/** What makes a run a run: its name, what it keeps of its options, and what tells two runs of the same content. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StateError } from '../errors.js';
import { KINDS, type Kind } from '../model.js';
import { type Condition, dialectOptions, type ImportOptions, type MappingRules } from '../options.js';
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
  const { where = [], limit, jsonPath, roundNumbers = false } = options;
  const { userId, byKind } = options;
  const content = [scope.region, scope.base_url, inputs.map((i) => [i.digest, i.kind])];
  const mapping: unknown[] = [kind, id, companyId, format, delimiter, encoding, rules];
  // Of what came later, only what was asked for: runs of earlier versions must be found again.
  const { sheet } = options;
  if (sheet !== undefined) mapping.push({ sheet });
  if (userId !== undefined || byKind !== undefined) mapping.push({ userId, byKind });
  // They decide which rows are invalid: with others, what was sent and what is rejected would overlap.
  const bounds = [maxCellBytes, chunkBytes];
  // Only what was asked for: runs that began before there was such a thing are found again.
  const { delimiter: _, ...dialect } = dialectOptions(options);
  const read = Object.keys(dialect).length > 0 ? [dialect] : [];
  const chosen = {
    ...(where.length > 0 && { where }),
    limit,
    jsonPath,
    ...(roundNumbers && { roundNumbers }),
  };
  const selection = JSON.stringify(chosen) === '{}' ? [] : [chosen];
  return createHash('sha256')
    .update(JSON.stringify([content, mapping, bounds, ...read, ...selection]))
    .digest('hex');
}

/** Values of the user's own may be of persons, and the state holds none: they are with the run's spooled input. */
const SET_FILE = 'set.json';
const WHERE_FILE = 'where.json';
const NAMES = { [SET_FILE]: 'constant values', [WHERE_FILE]: 'conditions' } as const;

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

/** Options without what is private in them. */
export function withoutPrivate({ where = [], ...others }: ImportOptions): unknown {
  const hasSet = setsOf(others).some((set) => set.length > 0);
  return { ...withSets(others, []), hasSet, hasWhere: where.length > 0 };
}

/** Options as the state keeps them; gives back to `restoreOptions` what it needs. @throws StateError */
export function storeOptions(state: State, run: string, options: ImportOptions): unknown {
  const { where = [] } = options;
  const sets = setsOf(options);
  if (sets.some((set) => set.length > 0)) {
    keepPrivate(state, run, SET_FILE, options.byKind ? { sets } : sets[0]);
  }
  if (where.length > 0) keepPrivate(state, run, WHERE_FILE, where);
  return withoutPrivate(options);
}

function keepPrivate(state: State, run: string, name: keyof typeof NAMES, value: unknown): void {
  const file = join(state.spoolFolder(run), name);
  try {
    writeFileSync(file, JSON.stringify(value), { mode: 0o600 });
  } catch (error) {
    throw new StateError(`cannot save the ${NAMES[name]} to ${file}: ${(error as Error).message}`, {
      hint: 'free some disk space, and check the permissions of the folder',
      problem: { code: 'state_folder' },
      cause: error,
    });
  }
}

/** The options of an earlier session. @throws StateError when their private part is gone */
export function restoreOptions(state: State, run: StoredRun): ImportOptions {
  const { hasSet, hasWhere, ...options } = run.options as ImportOptions & {
    hasSet: boolean;
    /** Runs of earlier versions do not have it. */
    hasWhere?: boolean;
  };
  const where = hasWhere ? { where: readPrivate(state, run.run, WHERE_FILE) as Condition[] } : {};
  if (!hasSet) return { ...options, ...where };
  const kept = readPrivate(state, run.run, SET_FILE) as SetValues | { sets: SetValues[] };
  return { ...withSets(options, 'sets' in kept ? kept.sets : [kept]), ...where };
}

function readPrivate(state: State, run: string, name: keyof typeof NAMES): unknown {
  const file = join(state.spoolFolder(run), name);
  if (!existsSync(file)) {
    throw new StateError(`the ${NAMES[name]} of run ${run} are missing: ${file} not found`, {
      hint: 'import the file again',
    });
  }
  return JSON.parse(readFileSync(file, 'utf8'));
}
