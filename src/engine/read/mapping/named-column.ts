/** Columns by their names: the one that an option, the mapping or its own name makes an identifier, and the likeliest ones. */
import { UsageError } from '../../errors.js';
import { KINDS, type Kind } from '../../model.js';
import type { MappingRules } from '../../options/mapping-rules.js';
import type { ReadOptions } from '../../options.js';
import type { ColumnRule, IdField } from '../../problems.js';
import { columnIn } from './targets.js';

export interface Asked
  extends Pick<ReadOptions, 'kind' | 'id' | 'userId' | 'companyId' | 'rules' | 'byKind'> {
  path: string;
  /** All inputs, including this one. */
  inputs?: readonly string[] | undefined;
  /** Use the likeliest kind and identifier if the columns do not name them. */
  guess?: boolean | undefined;
  /** JSON: arrays that may hold the rows. */
  below?: readonly ArrayBelow[] | undefined;
  /** A workbook: other sheets that may hold the rows. */
  sheets?: readonly string[] | undefined;
}

/** An array of objects inside a JSON object. */
export interface ArrayBelow {
  /** In the form of `jsonPath`. */
  path: string;
  /** Names of the members of its first object. */
  names: readonly string[];
}

/** A column that was named, and the rule that named it. */
export interface Name {
  column: string;
  rule: ColumnRule;
}

/** The names given for the identifier of a kind, by precedence. */
export function namesOf(kind: Kind, asked: Omit<Asked, 'path' | 'rules'>): Name[] {
  const { id, userId, companyId, byKind } = asked;
  const own = kind === 'users' ? userId : companyId;
  return named([
    ['id', id],
    [kind === 'users' ? 'user_id' : 'company_id', own],
    ['id', byKind?.[kind]?.id],
  ]);
}

/** The columns given for the identifiers of both kinds. */
export const givenNames = (asked: Parameters<typeof namesOf>[1]): string[] =>
  KINDS.flatMap((kind) => namesOf(kind, asked).map(({ column }) => column));

export const companyNames = ({ companyId, byKind }: Pick<Asked, 'companyId' | 'byKind'>): Name[] =>
  named([
    ['company_id', companyId],
    ['company_id', byKind?.users?.companyId],
  ]);

const named = (names: readonly (readonly [ColumnRule, string | undefined])[]): Name[] =>
  names.flatMap(([rule, column]) => (column === undefined ? [] : [{ rule, column }]));

export const rulesOf = (kind: Kind, { rules, byKind }: Pick<Asked, 'rules' | 'byKind'>): MappingRules =>
  byKind?.[kind]?.rules ?? rules;

/** The column that was named; otherwise one with the field's name, or a similar one. */
export function find(
  columns: readonly string[],
  names: readonly Name[],
  kind: Kind,
  field: IdField,
  asked: Asked,
): string | undefined {
  const given = names.map(({ column }) => columnIn(columns, column)).find((name) => columns.includes(name));
  if (given !== undefined) return given;
  if (columns.includes(field)) return field;
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

/** Makes `Company ID`, `companyId`, and `company-id` equal to `company_id`. */
export const folded = (name: string): string => name.toLowerCase().replace(/[\s_-]+/g, '');

const fold = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');

const PERSON =
  /^(?:(?:first|last|given|family|sur|middle)name|surname|forename|username|login|(?:user|contact|person|member|lead|employee|subscriber|visitor)(?:id|key|uuid|guid|number|no)|birthday|dateofbirth|jobtitle|salutation)$/;
const COMPANY =
  /^(?:(?:company|account|organi[sz]ation)(?:name|domain|domainname|id|number|type)|industry|sector|annualrevenue|numberofemployees|employees|vatid|companysize)$/;
const EMAIL = /^(?:.*email(?:address)?|mail)$/;

/** Patterns for names of identifiers, best first. */
const IDS: Record<Kind, readonly RegExp[]> = {
  users: [
    /^(?:user|contact|person|member|customer|lead|employee|subscriber|visitor)(?:id|key|uuid|guid|number|no)$/,
    /^(?:id|uuid|guid|externalid)$/,
    EMAIL,
    /^(?:recordid|username|login|user)$/,
    /(?:id|key|uuid|guid)$/,
  ],
  companies: [
    /^(?:company|account|organi[sz]ation|org|customer|client|tenant|workspace|team)(?:id|key|uuid|guid|number|no)$/,
    /^(?:id|uuid|guid|externalid|recordid)$/,
    /^(?:symbol|ticker|slug|.*domain(?:name)?)$/,
    /(?:id|key|uuid|guid)$/,
  ],
};

export function likeliestKind(columns: readonly string[]): Kind {
  const has = (pattern: RegExp): boolean => columns.some((column) => pattern.test(fold(column)));
  const users = has(PERSON) || (!has(COMPANY) && has(EMAIL));
  return users ? 'users' : 'companies';
}

/** The columns whose names fit an identifier, the likeliest first. */
export const likeliestIds = (kind: Kind, columns: readonly string[]): string[] => [
  ...new Set(IDS[kind].flatMap((pattern) => columns.filter((column) => pattern.test(fold(column))))),
];

/** The likeliest identifier; null if no name matches. */
export const likeliestId = (kind: Kind, columns: readonly string[]): string | null =>
  likeliestIds(kind, columns)[0] ?? null;

const COMPANY_OF_USER = /(?:company|account|organi[sz]ation|tenant|workspace)(?:id|key|uuid|guid|number|no)$/;

/** The column that most likely names the company of a user; null if there is none, or more than one. */
export function likeliestCompany(columns: readonly string[]): string | null {
  const [found, other] = columns.filter((column) => COMPANY_OF_USER.test(fold(column)));
  return other === undefined ? (found ?? null) : null;
}
