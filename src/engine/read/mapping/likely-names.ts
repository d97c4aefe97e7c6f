/** The likeliest kind and identifiers of columns, by their names alone. */
import type { Kind } from '../../model.js';

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

const COMPANY_OF_USER = /(?:company|account|organi[sz]ation|tenant|workspace)(?:id|key|uuid|guid|number|no)$/;

const matching = (pattern: RegExp, columns: readonly string[]): string[] =>
  columns.filter((column) => pattern.test(fold(column)));

export function likeliestKind(columns: readonly string[]): Kind {
  const has = (pattern: RegExp): boolean => matching(pattern, columns).length > 0;
  return has(PERSON) || (!has(COMPANY) && has(EMAIL)) ? 'users' : 'companies';
}

/** The columns whose names fit an identifier, the likeliest first. */
export const likeliestIds = (kind: Kind, columns: readonly string[]): string[] => [
  ...new Set(IDS[kind].flatMap((pattern) => matching(pattern, columns))),
];

/** Names for an identifier of anything: such a column of users is about them. */
const OF_ANYTHING = /^(?:id|uuid|guid|externalid|recordid|name)$/;

/** The columns of users that are named like the identifier of companies. */
export function namedLikeCompanies(columns: readonly string[], ids: readonly string[]): string[] {
  const names = ids.map(fold);
  return columns.filter((column) => names.includes(fold(column)) && !OF_ANYTHING.test(fold(column)));
}

/** The column that most likely names the company of a user; null if there is none, or more than one. */
export function likeliestCompany(columns: readonly string[]): string | null {
  const [found, other] = matching(COMPANY_OF_USER, columns);
  return other === undefined ? (found ?? null) : null;
}
