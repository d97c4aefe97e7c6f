/** Which kind an input is, and where its identifiers are (contract §3 "Kind and identifier"). */
import { type ErrorDetails, InputError, UsageError } from '../../errors.js';
import type { KindMapping, MappingRules } from '../../mapping-rules.js';
import { ID_FIELD, KINDS, type Kind } from '../../model.js';
import type { ReadOptions } from '../../options.js';
import type { ColumnRule, IdField, Reading } from '../../problems.js';
import { list } from '../wording.js';
import { likeliest, likeliestCompany, likeliestId } from './likeliest.js';
import { constantsOf, unknownColumn } from './targets.js';

export interface Identity {
  kind: Kind;
  idColumn: string;
  companyIdColumn: string | null;
  /** Those of the kind. */
  rules: MappingRules;
  constants: [key: string, json: string][];
  /** The columns say either kind, and nobody said which: what they hold decides. */
  eitherKind?: true;
  /** Nothing says what the rows are; this is the likeliest. */
  guessed?: true;
}

export interface Asked
  extends Pick<ReadOptions, 'kind' | 'id' | 'userId' | 'companyId' | 'rules' | 'byKind'> {
  path: string;
  /** All inputs, this one among them. */
  inputs?: readonly string[] | undefined;
  /** Take the likeliest reading where the columns tell none. */
  guess?: boolean | undefined;
  /** Of a run that began by earlier rules: columns are known by their exact names. */
  exactNames?: boolean | undefined;
  /** JSON: where arrays are that may hold the rows, and their columns. */
  below?: readonly ArrayBelow[] | undefined;
}

/** An array of objects inside a JSON object. */
export interface ArrayBelow {
  /** As `jsonPath` has it. */
  path: string;
  /** Of the members of its first object. */
  names: readonly string[];
}

/** What a column is asked for by: the rule that named it. */
interface Name {
  column: string;
  rule: ColumnRule;
}

/** The names that were given for the identifier of a kind, the first one first. */
export function namesOf(kind: Kind, asked: Omit<Asked, 'path' | 'rules'>): Name[] {
  const { id, userId, companyId, byKind } = asked;
  const own = kind === 'users' ? userId : asked.exactNames ? undefined : companyId;
  return named([
    ['id', id],
    [kind === 'users' ? 'user_id' : 'company_id', own],
    ['id', byKind?.[kind]?.id],
  ]);
}

const companyNames = ({ companyId, byKind }: Pick<Asked, 'companyId' | 'byKind'>): Name[] =>
  named([
    ['company_id', companyId],
    ['company_id', byKind?.users?.companyId],
  ]);

const named = (names: readonly (readonly [ColumnRule, string | undefined])[]): Name[] =>
  names.flatMap(([rule, column]) => (column === undefined ? [] : [{ rule, column }]));

/** A user's row names its company too, so a user's identifier says more. */
const DETECTED = ['users', 'companies'] as const;

/**
 * The kind that was asked for; without one a column of user ids means users, and otherwise one of company ids companies.
 * @throws InputError when the columns tell no kind or hold no identifier; UsageError for a name that no column has, and
 * for two columns that may be meant
 */
export function identify(columns: readonly string[], asked: Asked): Identity {
  const { path } = asked;
  if (columns.length === 0) {
    throw new InputError('the first items have no fields', {
      file: path,
      hint: 'an item is an object, such as {"company_id": "c1", "name": "Acme"}',
    });
  }
  const ids: { [K in Kind]?: string | undefined } = {};
  const idOf = (kind: Kind): string | undefined => {
    ids[kind] ??= find(columns, namesOf(kind, { ...asked, id: undefined }), kind, ID_FIELD[kind], asked);
    return ids[kind];
  };
  const detected = DETECTED.filter((one) => idOf(one) !== undefined);
  const mapped = detected.length > 1 ? kindOfMapping(columns, asked) : undefined;
  const kind = asked.kind ?? mapped ?? detected[0];
  if (kind === undefined) return unknown(columns, asked);
  const { id } = asked;
  const idColumn = id !== undefined && columns.includes(id) ? id : idOf(kind);
  if (idColumn === undefined) return withoutId(kind, columns, asked);
  const identity = identityOf(kind, idColumn, columns, asked);
  const company =
    asked.kind === undefined && id === undefined && kind === 'users' ? idOf('companies') : undefined;
  return company !== undefined && company !== idColumn && company === identity.companyIdColumn
    ? { ...identity, eitherKind: true }
    : identity;
}

/** Of an input that has the identifiers of both mappings: the kind whose mapping names more of its own columns. */
function kindOfMapping(columns: readonly string[], { byKind }: Asked): Kind | undefined {
  const share = ({ id, companyId, rules }: KindMapping): number => {
    const { map, include, exclude, types } = rules;
    const pairs = [...map, ...types].map(([column]) => column);
    const names = new Set([...pairs, ...include, ...exclude, id ?? '', companyId ?? '']);
    names.delete('');
    return names.size === 0 ? 0 : [...names].filter((name) => columns.includes(name)).length / names.size;
  };
  const { companies, users } = byKind ?? {};
  if (!companies || !users) return undefined;
  return share(companies) > share(users) ? 'companies' : 'users';
}

function identityOf(kind: Kind, idColumn: string, columns: readonly string[], asked: Asked): Identity {
  const rules = rulesOf(kind, asked);
  const own = { kind, idColumn, rules, constants: constantsOf(rules) };
  if (kind === 'companies') return { ...own, companyIdColumn: null };
  const others = columns.filter((column) => column !== idColumn);
  const found = find(others, companyNames(asked), kind, 'company_id', asked);
  return { ...own, companyIdColumn: found ?? null };
}

/** What the rows most likely are: with the likeliest company of a user, if none is named. */
function guessed(kind: Kind, column: string, columns: readonly string[], asked: Asked): Identity {
  const identity = identityOf(kind, column, columns, asked);
  return {
    ...identity,
    companyIdColumn: identity.companyIdColumn ?? companyOf(kind, column, columns, asked),
    guessed: true,
  };
}

/** The likeliest company of a user, unless a rule says what else the column is. */
function companyOf(kind: Kind, id: string, columns: readonly string[], asked: Asked): string | null {
  if (kind !== 'users') return null;
  const { map, exclude } = rulesOf(kind, asked);
  const used = new Set([...map.map(([column]) => column), ...exclude, id]);
  return likeliestCompany(columns.filter((column) => !used.has(column)));
}

const rulesOf = (kind: Kind, { rules, byKind }: Pick<Asked, 'rules' | 'byKind'>): MappingRules =>
  byKind?.[kind]?.rules ?? rules;

/** The column that was named, else the field's own. */
function find(
  columns: readonly string[],
  names: readonly Name[],
  kind: Kind,
  field: IdField,
  asked: Asked,
): string | undefined {
  const given = names.find(({ column }) => columns.includes(column));
  if (given) return given.column;
  if (columns.includes(field)) return field;
  if (asked.exactNames) return undefined;
  const { map, include, exclude } = rulesOf(kind, asked);
  const used = new Set([...map.map(([column]) => column), ...include, ...exclude]);
  const alike = columns.filter((column) => folded(column) === folded(field) && !used.has(column));
  const [column, other] = alike;
  if (other === undefined) return column;
  throw new UsageError(`${asked.path}: "${column}" and "${other}" may both be the ${field}`, {
    hint: 'say which one it is, or exclude the other',
    problem: { code: 'names_alike', path: asked.path, kind, field, columns: [column!, other] },
  });
}

/** `Company ID`, `companyId` and `company-id` are all `company_id`. */
const folded = (name: string): string => name.toLowerCase().replace(/[\s_-]+/g, '');

/** The columns tell no kind. */
function unknown(columns: readonly string[], asked: Asked): Identity {
  const names = [...namesOf('users', asked), ...namesOf('companies', asked)];
  const likely = likeliest(columns);
  return withoutColumn({ ...likely, column: asked.id ?? likely.column }, names, columns, asked, {
    sentence: `no column user_id or company_id among ${list(columns)}`,
    hint: 'say what the rows are, and name the column of their identifier',
    code: 'kind_unknown',
  });
}

/** The kind is known, its identifier is not. */
function withoutId(kind: Kind, columns: readonly string[], asked: Asked): Identity {
  const column = likeliestId(kind, columns);
  return withoutColumn({ kind, column }, namesOf(kind, asked), columns, asked, {
    sentence: `no column ${ID_FIELD[kind]} among ${list(columns)}`,
    hint: `name the identifier's column, such as ${JSON.stringify(column)}`,
    code: 'no_identifier',
  });
}

/** @param names that were given for the identifier */
function withoutColumn(
  { kind, column }: { kind: Kind; column: string },
  names: readonly Name[],
  columns: readonly string[],
  asked: Asked,
  { sentence, hint, code }: { sentence: string; hint: string; code: 'kind_unknown' | 'no_identifier' },
): Identity {
  const { path: file, below = [], inputs = [file] } = asked;
  const identified = identifiedBelow(below, asked);
  if (identified) throw new InputError(sentence, { file, ...inArray(file, identified.path, null) });
  const missing = names.find((name) => !columns.includes(name.column));
  if (missing) throw unknownColumn(missing.rule, missing.column, columns, file);
  if (asked.guess) return guessed(kind, column, columns, asked);
  const company = companyOf(kind, column, columns, asked);
  const reading = { path: file, paths: inputs, kind, column, company };
  const [array] = below;
  throw new InputError(sentence, {
    file,
    ...(array ? inArray(file, array.path, reading) : { hint, problem: { code, ...reading } }),
  });
}

/** An array whose objects have an identifier. */
function identifiedBelow(below: readonly ArrayBelow[], asked: Asked): ArrayBelow | undefined {
  if (below.length === 0) return undefined;
  const given = KINDS.flatMap((kind) => namesOf(kind, asked).map(({ column }) => column));
  const fields = Object.values(ID_FIELD).map(folded);
  const isId = (name: string): boolean => given.includes(name) || fields.includes(folded(name));
  return below.find(({ names }) => names.some(isId));
}

/**
 * Where the rows probably are, for an error.
 * @param otherwise what the rows are if they are not in the array; null if they certainly are
 */
export const inArray = (
  path: string,
  jsonPath: string,
  otherwise: Reading | null,
): Pick<ErrorDetails, 'hint' | 'problem'> => ({
  hint: `if the rows are in an array, name the path to it, such as ${jsonPath}`,
  problem: { code: 'rows_in_array', path, jsonPath, otherwise },
});
