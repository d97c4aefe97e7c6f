/** What an import has to ask a person, from what its inputs hold and what its flags already say. Pure. */

import { ID_FIELD, KEY_STYLES, type KeyStyle, KINDS, type Kind, SOME_ZONE } from '../../engine/model.js';
import type { Candidate, ColumnLook, Look, TypeChoice } from '../../engine/plan/look.js';
import { keyStyle, namedLikeCompanies } from '../../engine/read/index.js';
import { count } from '../../engine/util/numbers.js';
import { shellWord } from '../advice/shell.js';
import { type Unlike, unlikeText } from './shared-types.js';

/**
 * A look at an input, and whether this state has sent rows with its columns before. A type that several inputs of a kind
 * share is only at one of them.
 */
export type Found = Look & { known?: boolean; unlike: Unlike[] };

/** What flags, mapping files, and config already decide. */
export interface Given {
  /** `--guide`: asks everything, whatever is known. */
  all: boolean;
  /** Rules for columns or keys were given, so these are not asked about. */
  columns: boolean;
  /** Time zone of dates without an offset. */
  zone: string | null;
}

/** A column of an input, by the path of the input. */
export type ColumnOf = { path: string; column: string };

/** What the rows of an input are, and which column identifies them. The first choice is the likeliest. */
export interface IdentityQuestion {
  ask: 'identity';
  path: string;
  rows: number;
  whole: boolean;
  choices: Candidate[];
  columns: { column: string; values: string[] }[];
}

export type Question =
  | IdentityQuestion
  /** How columns become keys: the likeliest style first. A style that gives two columns one key, or one that of an identifier, is left out. */
  | { ask: 'keys'; columns: string[]; styles: KeyStyle[] }
  /** Which columns to send. */
  | { ask: 'columns'; choices: (ColumnOf & ColumnLook & { rows: number })[] }
  /** Which texts to convert. */
  | { ask: 'types'; choices: (ColumnOf & TypeChoice)[] }
  /** How to read values that can be read in several ways; text, unless the person decides. */
  | ({ ask: 'reading'; choices: TypeChoice[] } & ColumnOf)
  /** The time zone of these columns. */
  | { ask: 'zone'; choices: (ColumnOf & TypeChoice)[] }
  /** Which texts mean that a cell is empty. */
  | { ask: 'markers'; choices: MarkerChoice[] };

/** A text that may mean no value, and all cells that would be empty then. */
export interface MarkerChoice {
  text: string;
  columns: (ColumnOf & { kind: Kind; cells: number })[];
}

export interface Answers {
  leftOut: readonly ColumnOf[];
  keys: KeyStyle | null;
  types: readonly (ColumnOf & TypeChoice)[];
  /** Of all times that need one. */
  zone: string | null;
  nulls: readonly string[];
}

/** The first questions: what the inputs are. After the answers, look again with what was chosen. */
export const identityQuestions = (found: readonly Found[], { all }: Given): IdentityQuestion[] =>
  found
    .filter(({ guessed, candidates }) => (guessed || all) && candidates.length > 0)
    .map(({ path, rows, whole, candidates, named }) => {
      return { ask: 'identity', path, rows, whole, choices: candidates, columns: named };
    });

/** A column of users that may name their company. */
export type CompanyQuestion = ColumnOf & { id: string; values: string[] };

/** Users without a company that have a column like the identifier of the companies beside them, and no rule for it. */
export function companyQuestions(found: readonly Found[]): CompanyQuestion[] {
  const ids = found.flatMap(({ kind, id }) => (kind === 'companies' ? [id] : []));
  return found.flatMap(({ path, kind, id, company, columns, rules }) => {
    if (kind !== 'users' || company !== null) return [];
    const ruled = [...[...rules.map, ...rules.types].map(([column]) => column), ...rules.include];
    const open = columns.filter(({ column, key }) => key !== null && !ruled.includes(column));
    const [named] = namedLikeCompanies(
      open.map(({ column }) => column),
      ids,
    );
    return open.flatMap(({ column, values }) => (column === named ? [{ path, id, column, values }] : []));
  });
}

/**
 * The other questions, in their order.
 * @param wasAsked inputs whose identity was asked about: their columns are new to this person
 */
export function mappingQuestions(found: readonly Found[], given: Given, wasAsked: ReadonlySet<string>) {
  const open = found.filter(({ path, known }) => given.all || !known || wasAsked.has(path));
  const unseen = given.columns ? [] : open.filter(({ path }) => given.all || wasAsked.has(path));
  // A rule is for all inputs of a kind, so a column of several is asked about once.
  const columns = unseen.flatMap(({ path, kind, rows, columns }, at) => {
    const before = unseen.slice(0, at).filter((one) => one.kind === kind);
    const isAsked = (column: string) =>
      before.some((one) => one.columns.some((look) => look.column === column));
    return columns.flatMap((look) =>
      look.key === null || isAsked(look.column) ? [] : [{ path, rows, ...look }],
    );
  });
  const names = [...new Set(columns.map(({ column }) => column))];
  const styles = STYLES.filter((style, at) => {
    const isNew = STYLES.slice(0, at).every((other) =>
      columns.some((one) => other.keyOf(one) !== style.keyOf(one)),
    );
    return (
      isNew && unseen.every(({ path }) => differ(columns.filter((one) => one.path === path).map(style.keyOf)))
    );
  });
  const choices = open.flatMap(({ path, types }) => types.map((choice) => ({ path, ...choice })));
  const isTwofold = ({ path, column }: ColumnOf): boolean =>
    choices.filter((one) => one.path === path && one.column === column).length > 1;
  const single = choices.filter((choice) => !isTwofold(choice));
  const twofold = open.flatMap(({ path, types }) =>
    [...new Set(types.map(({ column }) => column))]
      .filter((column) => isTwofold({ path, column }))
      .map((column) => ({ path, column, choices: types.filter((one) => one.column === column) })),
  );
  const markers = markersOf(found, open);
  const zoned = choices.filter(({ type }) => type.endsWith(`@${SOME_ZONE}`));
  const questions: (Question | null)[] = [
    styles.length > 1 && names.some((name) => !isSnakeCase(name))
      ? { ask: 'keys', columns: names, styles: styles.map(({ style }) => style) }
      : null,
    columns.length > 0 ? { ask: 'columns', choices: columns } : null,
    single.length > 0 ? { ask: 'types', choices: single } : null,
    ...twofold.map((each): Question => ({ ask: 'reading', ...each })),
    given.zone === null && zoned.length > 0 ? { ask: 'zone', choices: zoned } : null,
    markers.length > 0 ? { ask: 'markers', choices: markers } : null,
  ];
  return questions.filter((question) => question !== null);
}

/** The kinds with a type that needs this text to count as empty. */
const kindsWith = (found: readonly Found[], text: string): Set<Kind> =>
  new Set(
    found.flatMap(({ kind, types }) => (types.some(({ markers }) => markers.includes(text)) ? [kind] : [])),
  );

/** The texts that types of these inputs need to count as empty: a rule for all inputs of a kind, and all of their columns. */
function markersOf(found: readonly Found[], open: readonly Found[]): MarkerChoice[] {
  const texts = new Set(open.flatMap(({ types }) => types.flatMap(({ markers }) => markers)));
  return [...texts].map((text) => {
    const kinds = kindsWith(open, text);
    const columns = found.flatMap(({ path, kind, id, company, markers, columns }) => {
      const isSent = (column: string): boolean =>
        [id, company].includes(column) || columns.some((one) => one.column === column && one.key !== null);
      const cells = markers.find((one) => one.text === text)?.columns ?? [];
      return kinds.has(kind)
        ? cells.filter(({ column }) => isSent(column)).map((one) => ({ path, kind, ...one }))
        : [];
    });
    return { text, columns };
  });
}

/** The columns that would only lose text: they gain no type by it. */
export function losing(
  { text, columns }: MarkerChoice,
  types: readonly (ColumnOf & TypeChoice)[],
  found: readonly Found[],
): MarkerChoice['columns'] {
  const kindOf = (path: string): Kind => found.find((one) => one.path === path)!.kind;
  return columns.filter(
    ({ kind, column }) =>
      !types.some((one) => one.column === column && kindOf(one.path) === kind && one.markers.includes(text)),
  );
}

/** `snake_case` is suggested. */
const STYLES = [...KEY_STYLES]
  .sort((a, b) => Number(b === 'snake_case') - Number(a === 'snake_case'))
  .map((style) => ({ style, keyOf: ({ column }: ColumnOf) => keyStyle(style)(column) }));

/** Whether columns can have these keys: each its own, and none that of an identifier. */
const differ = (keys: readonly string[]): boolean =>
  new Set([...keys, ...Object.values(ID_FIELD)]).size === keys.length + KINDS.length;

const isSnakeCase = (name: string): boolean => /^[a-z0-9_]+$/.test(name);

/**
 * The answers that take every suggestion. A time zone that is not given stays open.
 * @returns `left`: why some suggestions are not taken
 */
export function suggestedAnswers(found: readonly Found[], { zone }: Given) {
  const types = found.flatMap(({ path, types }) => {
    const isOnly = (column: string): boolean => types.filter((one) => one.column === column).length === 1;
    return types.flatMap((choice) => (isOnly(choice.column) ? [{ path, ...choice }] : []));
  });
  const markers = markersOf(found, found);
  const isSure = (marker: MarkerChoice): boolean => losing(marker, types, found).length === 0;
  const nulls = markers.filter(isSure).map(({ text }) => text);
  const left = markers.flatMap((marker) => {
    const { text, columns } = marker;
    const lost = losing(marker, types, found);
    const needing = columns.filter((one) => !lost.includes(one)).map(({ column }) => column);
    const others = lost.map(({ path, column, cells }) => `${count(cells, 'cell')} of ${column} in ${path}`);
    return others.length === 0 || needing.length === 0
      ? []
      : [
          `${JSON.stringify(text)} is not treated as empty, because that would empty ${others.join(' and ')}; ${needing.join(' and ')} ${needing.length === 1 ? 'is' : 'are'} not converted`,
        ];
  });
  const companies = companyQuestions(found).map(
    ({ path, id, column }) =>
      `${column} in ${path} is not taken as the company of users, although it is named like the identifier of companies; if it is, add ${['--company-id', column, '--user-id', id].map(shellWord).join(' ')}`,
  );
  const answers: Answers = { leftOut: [], keys: null, types, zone, nulls };
  return { answers, left: [...companies, ...found.flatMap((one) => one.unlike.map(unlikeText)), ...left] };
}
