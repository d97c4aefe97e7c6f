/** Which kind an input is, and where its identifiers are: columns that are named, and the likeliest ones (contract §3 "Kind and identifier"). */
import { type ErrorDetails, InputError, UsageError } from '../../errors.js';
import { ID_FIELD, KINDS, type Kind } from '../../model.js';
import { type KindMapping, type MappingRules, NO_RULES, type Stated } from '../../options/mapping-rules.js';
import type { ReadOptions } from '../../options.js';
import type { ColumnRule, IdField, Reading } from '../../problems.js';
import { OWN_COLUMNS } from '../rejects-rows.js';
import { list } from '../wording.js';
import { likeliestCompany, likeliestIds, likeliestKind } from './likely-names.js';
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

interface Asked
  extends Pick<ReadOptions, 'kind' | 'id' | 'userId' | 'companyId' | 'rules' | 'byKind' | 'stated'> {
  path: string;
  /** All inputs, including this one. */
  inputs?: readonly string[] | undefined;
  /** Use the likeliest kind and identifier if the columns do not name them. */
  guess?: boolean | undefined;
  /** JSON: arrays that may hold the rows. */
  below?: readonly ArrayBelow[] | undefined;
  /** A workbook: other sheets that may hold the rows. */
  sheets?: readonly string[] | undefined;
  /** Reads a rejects file, as which this input was not recognized. Default: it is read like any other. */
  rejects?: unknown;
}

/** An array of objects inside a JSON object. */
export interface ArrayBelow {
  /** In the form of `jsonPath`. */
  path: string;
  /** Names of the members of its first object. */
  names: readonly string[];
}

/** Users first: the rows of users name their companies, too. */
const DETECTED = ['users', 'companies'] as const;

/**
 * Finds kind and identifier. If no kind was requested, a column of user ids means users; otherwise, one of company ids
 * means companies.
 * @throws InputError if the columns show no kind or no identifier; UsageError for a name that no column has, if two
 * columns may be the identifier, and for a rejects file that was saved in another form
 */
export function identify(columns: readonly string[], asked: Asked): Identity {
  if (columns.length === 0) {
    throw new InputError('the first items have no fields', {
      file: asked.path,
      hint: 'an item is an object, such as {"company_id": "c1", "name": "Acme"}',
    });
  }
  if (asked.rejects && OWN_COLUMNS.some((own) => columns.includes(own))) {
    const what = 'is a rejects file, but not as it was written, so the rules of its run cannot be applied';
    throw new UsageError(`${asked.path}: ${what}`, {
      hint: 'save it as CSV UTF-8 (JSON as JSON Lines) with all of its _profiles_ columns; without any, it is read like other files',
    });
  }
  const idOf = (kind: Kind, rows = kind): string | undefined =>
    find(columns, namesOf(kind, { ...asked, id: undefined }), kind, ID_FIELD[kind], asked, rows);
  // A kind that was requested needs no other identifier than the one that was.
  const isUsers = asked.kind === undefined && idOf('users') !== undefined;
  const detected =
    asked.kind === undefined
      ? DETECTED.filter((one) => idOf(one, isUsers ? 'users' : one) !== undefined)
      : [];
  const mapped = detected.length > 1 ? kindOfMapping(columns, asked) : undefined;
  const kind = asked.kind ?? mapped ?? detected[0];
  if (kind === undefined) return withoutId(kind, columns, asked);
  const id = asked.id === undefined ? undefined : columnIn(columns, asked.id);
  const idColumn = id !== undefined && columns.includes(id) ? id : idOf(kind);
  if (idColumn === undefined) return withoutId(kind, columns, asked);
  const identity = identityOf(kind, idColumn, columns, asked);
  const isOpen = asked.kind === undefined && id === undefined && kind === 'users';
  const company = isOpen ? idOf('companies') : undefined;
  const isEither = company !== undefined && company !== idColumn && company === identity.companyIdColumn;
  return isEither ? { ...identity, eitherKind: true } : identity;
}

/** For an input with the identifiers of both kinds: the kind whose mapping has more of its columns in this input. */
function kindOfMapping(columns: readonly string[], { byKind }: Asked): Kind | undefined {
  const share = ({ id = '', companyId = '', rules }: KindMapping): number => {
    const { map, include, exclude, types } = rules;
    const pairs = [...map, ...types].map(([column]) => column);
    const names = new Set([...pairs, ...include, ...exclude, id, companyId]);
    names.delete('');
    return names.size === 0 ? 0 : columns.filter((column) => names.has(column)).length / names.size;
  };
  const { companies, users } = byKind ?? {};
  if (!companies || !users) return undefined;
  return share(companies) > share(users) ? 'companies' : 'users';
}

function identityOf(kind: Kind, idColumn: string, columns: readonly string[], asked: Asked): Identity {
  const rules = rulesIn(columns, rulesOf(kind, asked));
  const others = columns.filter((column) => column !== idColumn);
  const { companyId, byKind } = asked;
  const names: Name[] = [companyId, byKind?.users?.companyId].map((column) => ['company_id', column]);
  const company = kind === 'users' ? find(others, names, kind, 'company_id', asked) : undefined;
  return { kind, idColumn, rules, constants: constantsOf(rules), companyIdColumn: company ?? null };
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

/** A column that was named, if one was, and the rule that named it. */
type Name = readonly [rule: ColumnRule, column: string | undefined];

/** The names given for the identifier of a kind, by precedence. */
const namesOf = (kind: Kind, { id, userId, companyId, byKind }: GivenIds): Name[] => [
  ['id', id],
  kind === 'users' ? ['user_id', userId] : ['company_id', companyId],
  ['id', byKind?.[kind]?.id],
];

type GivenIds = Omit<Asked, 'path' | 'rules'>;

/** The columns given for the identifiers of both kinds. */
export const givenNames = (asked: GivenIds): string[] =>
  KINDS.flatMap((kind) => namesOf(kind, asked).flatMap(([, column]) => column ?? []));

const rulesOf = (kind: Kind, { rules, byKind }: Asked): MappingRules => byKind?.[kind]?.rules ?? rules;

/**
 * The column that was named; otherwise one with the field's name, or a similar one.
 * @param rows what the rows are: those of users name their companies, too
 */
function find(
  columns: readonly string[],
  names: readonly Name[],
  kind: Kind,
  field: IdField,
  asked: Asked,
  rows = kind,
): string | undefined {
  const given = names.flatMap(([, name]) => (name === undefined ? [] : columnIn(columns, name)));
  const exact = [...given, field].find((name) => columns.includes(name));
  if (exact !== undefined) return exact;
  const { map, include, exclude } = rulesOf(kind, asked);
  const used = new Set([...map.map(([column]) => column), ...include, ...exclude]);
  const alike = columns.filter((column) => folded(column) === folded(field) && !used.has(column));
  const [column, other] = alike;
  if (other === undefined) return column;
  throw new UsageError(`${asked.path}: "${column}" and "${other}" may both be the ${field}`, {
    hint: 'say which one it is, or exclude the other',
    problem: { code: 'names_alike', path: asked.path, kind: rows, field, columns: [column!, other] },
  });
}

/** Makes `Company ID`, `companyId`, and `company-id` equal to `company_id`. */
const folded = (name: string): string => name.toLowerCase().replace(/[\s_-]+/g, '');

/** Handles columns without an identifier. @param known the kind, if something shows it */
function withoutId(known: Kind | undefined, columns: readonly string[], asked: Asked): Identity {
  const { path: file, below = [], inputs = [file], sheets = [] } = asked;
  const sentence = `no column ${known ? ID_FIELD[known] : 'user_id or company_id'} among ${list(columns)}`;
  const isId = (name: string): boolean =>
    givenNames(asked).includes(name) || DETECTED.some((kind) => folded(name) === folded(ID_FIELD[kind]));
  const identified = below.find(({ names }) => names.some(isId));
  if (identified) throw new InputError(sentence, { file, ...inArray(file, identified.path, null) });
  for (const [rule, column] of (known ? [known] : DETECTED).flatMap((kind) => namesOf(kind, asked))) {
    if (column !== undefined && !columns.includes(column)) throw unknownColumn(rule, column, columns, file);
  }
  // A rule for `company_id` says nothing: users may have a company, too.
  const isUsers = mappedTo('user_id', columns, asked.rules) !== undefined;
  const kind = known ?? (isUsers ? 'users' : likeliestKind(columns));
  const rules = rulesOf(kind, asked);
  const column = (known ? undefined : asked.id) ?? likelyId(kind, columns, rules);
  const others = columns.filter((one) => one !== column);
  const likelyCompany = mappedTo('company_id', others, rules) ?? likeliestCompany(unused(others, rules));
  const company = kind === 'users' ? likelyCompany : null;
  if (asked.guess) {
    const identity = identityOf(kind, column, columns, asked);
    return { ...identity, companyIdColumn: identity.companyIdColumn ?? company, guessed: true };
  }
  const hasRule = hasIdentifierRule(asked.stated, kind, [column, company]);
  const reading = { path: file, paths: inputs, kind, column, company, ...(hasRule && { hasRule }) };
  // Any other column would be a guess, such as the title on a cover.
  const isLikely = column === asked.id || likeliestIds(kind, columns).includes(column);
  const otherwise = isLikely || mappedTo(ID_FIELD[kind], columns, rules) === column ? reading : null;
  if (sheets.length > 0) {
    throw new InputError(sentence, {
      file,
      hint: `if the rows are in another sheet, name it, such as ${JSON.stringify(sheets[0])}`,
      problem: { code: 'rows_in_sheet', path: file, sheets, otherwise },
    });
  }
  if (below[0]) throw new InputError(sentence, { file, ...inArray(file, below[0].path, otherwise) });
  throw new InputError(sentence, {
    file,
    hint: known
      ? `name the identifier's column, such as ${JSON.stringify(column)}`
      : 'say what the rows are, and name the column of their identifier',
    problem: { code: known ? 'no_identifier' : 'kind_unknown', ...reading },
  });
}

/**
 * Advice for an error: the rows are probably in an array.
 * @param otherwise what the rows are if they are not in the array; null if nothing suggests that
 */
export const inArray = (
  path: string,
  jsonPath: string,
  otherwise: Reading | null,
): Pick<ErrorDetails, 'hint' | 'problem'> => ({
  hint: `if the rows are in an array, name the path to it, such as ${jsonPath}`,
  problem: { code: 'rows_in_array', path, jsonPath, otherwise },
});

/** The likeliest identifier of a kind: by its name, also if it has another use, before any column. */
function likelyId(kind: Kind, columns: readonly string[], rules: MappingRules): string {
  const free = unused(columns, rules);
  const [named] = [...likeliestIds(kind, free), ...likeliestIds(kind, columns)];
  return mappedTo(ID_FIELD[kind], columns, rules) ?? named ?? free[0] ?? columns[0] ?? '';
}

/** The column that a rule maps to an identifier's key: such a rule does not make it the identifier, but was meant to. */
const mappedTo = (field: IdField, columns: readonly string[], { map }: MappingRules): string | undefined =>
  map.find(([column, key]) => key === field && columns.includes(column))?.[0];

/** Columns without another use. */
function unused(columns: readonly string[], { map, exclude }: MappingRules): string[] {
  const used = new Set([...map.map(([column]) => column), ...exclude]);
  return columns.filter((column) => !used.has(column));
}

/** Whether mapping files name columns or keys of identifiers in a way that an import refuses. */
export function hasIdentifierRule(
  stated: Stated | undefined,
  kind: Kind,
  columns: readonly (string | null)[],
): boolean {
  const { map, exclude, set, types } = stated?.files?.[kind] ?? NO_RULES;
  const ruled = [...map, ...types.filter(([, type]) => type !== 'lower')].map(([column]) => column);
  return (
    [...ruled, ...exclude].some((column) => columns.includes(column)) ||
    set.some(([key]) => key === ID_FIELD[kind] || key === ID_FIELD.companies)
  );
}
