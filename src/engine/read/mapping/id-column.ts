/** Which kind an input is, and where its identifiers are (contract §3 "Kind and identifier"). */
import { type ErrorDetails, InputError } from '../../errors.js';
import { ID_FIELD, type Kind } from '../../model.js';
import type { KindMapping, MappingRules } from '../../options/mapping-rules.js';
import type { IdField, Reading } from '../../problems.js';
import { list } from '../wording.js';
import {
  type ArrayBelow,
  type Asked,
  companyNames,
  find,
  folded,
  givenNames,
  likeliestCompany,
  likeliestId,
  likeliestKind,
  namesOf,
  rulesOf,
} from './named-column.js';
import { columnIn, constantsOf, unknownColumn } from './targets.js';

export interface Identity {
  kind: Kind;
  idColumn: string;
  companyIdColumn: string | null;
  /** The rules for this kind. */
  rules: MappingRules;
  constants: [key: string, json: string][];
  /** The columns fit both kinds, and none was requested: the values decide. */
  eitherKind?: true;
  /** Nothing names kind or identifier; these are the likeliest. */
  guessed?: true;
}

/** Users first: the rows of users name their companies, too. */
const DETECTED = ['users', 'companies'] as const;

/**
 * Finds kind and identifier. If no kind was requested, a column of user ids means users; otherwise, one of company ids
 * means companies.
 * @throws InputError if the columns show no kind or no identifier; UsageError for a name that no column has, and if two
 * columns may be the identifier
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
  if (kind === undefined) return withoutId(kind, columns, asked);
  const id = asked.id === undefined ? undefined : columnIn(columns, asked.id);
  const idColumn = id !== undefined && columns.includes(id) ? id : idOf(kind);
  if (idColumn === undefined) return withoutId(kind, columns, asked);
  const identity = identityOf(kind, idColumn, columns, asked);
  const company =
    asked.kind === undefined && id === undefined && kind === 'users' ? idOf('companies') : undefined;
  return company !== undefined && company !== idColumn && company === identity.companyIdColumn
    ? { ...identity, eitherKind: true }
    : identity;
}

/** For an input with the identifiers of both kinds: the kind whose mapping has more of its columns in this input. */
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
  const rules = rulesIn(columns, rulesOf(kind, asked));
  const own = { kind, idColumn, rules, constants: constantsOf(rules) };
  if (kind === 'companies') return { ...own, companyIdColumn: null };
  const others = columns.filter((column) => column !== idColumn);
  const found = find(others, companyNames(asked), kind, 'company_id', asked);
  return { ...own, companyIdColumn: found ?? null };
}

/** The likeliest identity, including the likeliest company of a user if none is named. */
function guessed(kind: Kind, column: string, columns: readonly string[], asked: Asked): Identity {
  const identity = identityOf(kind, column, columns, asked);
  return {
    ...identity,
    companyIdColumn: identity.companyIdColumn ?? companyOf(kind, column, columns, asked),
    guessed: true,
  };
}

/** The likeliest company column of a user. */
function companyOf(kind: Kind, id: string, columns: readonly string[], asked: Asked): string | null {
  if (kind !== 'users') return null;
  const rules = rulesOf(kind, asked);
  const others = columns.filter((column) => column !== id);
  return mappedTo('company_id', others, rules) ?? likeliestCompany(unused(others, rules));
}

/** The likeliest identifier of a kind: by its name, also if it has another use, before any column. */
function likelyId(kind: Kind, columns: readonly string[], asked: Asked): string {
  const rules = rulesOf(kind, asked);
  const free = unused(columns, rules);
  const named = likeliestId(kind, free) ?? likeliestId(kind, columns);
  return mappedTo(ID_FIELD[kind], columns, rules) ?? named ?? free[0] ?? columns[0] ?? '';
}

/** The column that a rule maps to an identifier's key: such a rule does not make it the identifier, but was meant to. */
const mappedTo = (field: IdField, columns: readonly string[], { map }: MappingRules): string | undefined =>
  map.find(([column, key]) => key === field && columns.includes(column))?.[0];

/** Whether rules name columns or keys of identifiers in a way that an import refuses. */
export function hasIdentifierRule(
  { map, exclude, set, types }: MappingRules,
  kind: Kind,
  columns: readonly (string | null)[],
): boolean {
  const ruled = [...map, ...types.filter(([, type]) => type !== 'lower')].map(([column]) => column);
  return (
    [...ruled, ...exclude].some((column) => columns.includes(column)) ||
    set.some(([key]) => key === ID_FIELD[kind] || key === ID_FIELD.companies)
  );
}

/** Columns without another use. */
function unused(columns: readonly string[], { map, exclude }: MappingRules): string[] {
  const used = new Set([...map.map(([column]) => column), ...exclude]);
  return columns.filter((column) => !used.has(column));
}

/** The rules, with columns as this input names them. */
function rulesIn(columns: readonly string[], rules: MappingRules): MappingRules {
  const set = new Set(rules.set.map(([key]) => key));
  const here = (name: string): string => columnIn(columns, name);
  return {
    ...rules,
    map: rules.map.map(([column, key]) => [here(column), key]),
    include: rules.include.map(here),
    exclude: rules.exclude.map(here),
    types: rules.types.map(([column, type]) => [set.has(column) ? column : here(column), type]),
  };
}

/** Handles columns without an identifier. @param known the kind, if something shows it */
function withoutId(known: Kind | undefined, columns: readonly string[], asked: Asked): Identity {
  const { path: file, below = [], inputs = [file], sheets: [sheet] = [] } = asked;
  const field = known ? ID_FIELD[known] : 'user_id or company_id';
  const sentence = `no column ${field} among ${list(columns)}`;
  const identified = identifiedBelow(below, asked);
  if (identified) throw new InputError(sentence, { file, ...inArray(file, identified.path, null) });
  const names = (known ? [known] : DETECTED).flatMap((kind) => namesOf(kind, asked));
  const missing = names.find((name) => !columns.includes(name.column));
  if (missing) throw unknownColumn(missing.rule, missing.column, columns, file);
  // A rule for `company_id` says nothing: users may have a company, too.
  const isUsers = mappedTo('user_id', columns, asked.rules) !== undefined;
  const kind = known ?? (isUsers ? 'users' : likeliestKind(columns));
  const column = (known ? undefined : asked.id) ?? likelyId(kind, columns, asked);
  if (asked.guess) return guessed(kind, column, columns, asked);
  const company = companyOf(kind, column, columns, asked);
  const hasRule = hasIdentifierRule(rulesOf(kind, asked), kind, [column, company]);
  const reading = { path: file, paths: inputs, kind, column, company, ...(hasRule && { hasRule }) };
  const [array] = below;
  if (sheet !== undefined) throw new InputError(sentence, { file, ...inSheet(file, sheet, reading) });
  if (array) throw new InputError(sentence, { file, ...inArray(file, array.path, reading) });
  throw new InputError(sentence, {
    file,
    hint: known
      ? `name the identifier's column, such as ${JSON.stringify(column)}`
      : 'say what the rows are, and name the column of their identifier',
    problem: { code: known ? 'no_identifier' : 'kind_unknown', ...reading },
  });
}

/** The first array whose objects have an identifier. */
function identifiedBelow(below: readonly ArrayBelow[], asked: Asked): ArrayBelow | undefined {
  if (below.length === 0) return undefined;
  const given = givenNames(asked);
  const fields = Object.values(ID_FIELD).map(folded);
  const isId = (name: string): boolean => given.includes(name) || fields.includes(folded(name));
  return below.find(({ names }) => names.some(isId));
}

/**
 * Advice for an error: the rows are probably in an array.
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

/** Advice for an error: the rows are probably in another sheet. @param otherwise what the rows are if they are not */
const inSheet = (
  path: string,
  sheet: string,
  otherwise: Reading,
): Pick<ErrorDetails, 'hint' | 'problem'> => ({
  hint: `if the rows are in another sheet, name it, such as ${JSON.stringify(sheet)}`,
  problem: { code: 'rows_in_sheet', path, sheet, otherwise },
});
