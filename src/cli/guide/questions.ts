/** What an import has to ask a person, from what its inputs hold and what its flags already say. Pure. */

import { KEY_STYLES, type KeyStyle, SOME_ZONE } from '../../engine/model.js';
import type { Candidate, ColumnLook, Look, TypeChoice } from '../../engine/plan/look.js';
import { keyStyle } from '../../engine/read/index.js';

/** A look at an input, and whether this state has sent rows with its columns before. */
export type Found = Look & { known?: boolean };

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
  /** How columns become keys: the likeliest style first. A style that gives two columns one key is left out. */
  | { ask: 'keys'; columns: string[]; styles: KeyStyle[] }
  /** Which columns to send. */
  | { ask: 'columns'; choices: (ColumnOf & ColumnLook & { rows: number })[] }
  /** Which texts to convert. */
  | { ask: 'types'; choices: (ColumnOf & TypeChoice)[] }
  /** How to read values that can be read in several ways; text, unless the person decides. */
  | ({ ask: 'reading'; choices: TypeChoice[] } & ColumnOf)
  /** The time zone of these columns of one input. */
  | { ask: 'zone'; choices: (ColumnOf & TypeChoice)[] }
  /** Which texts mean that a cell is empty. */
  | { ask: 'markers'; choices: (Look['markers'][number] & { columns: string[] })[] };

export interface Answers {
  leftOut: readonly ColumnOf[];
  keys: KeyStyle | null;
  types: readonly (ColumnOf & TypeChoice)[];
  /** Time zones by the path of the input. */
  zones: ReadonlyMap<string, string>;
  nulls: readonly string[];
}

/** The first questions: what the inputs are. After the answers, look again with what was chosen. */
export const identityQuestions = (found: readonly Found[], { all }: Given): IdentityQuestion[] =>
  found
    .filter(({ guessed, candidates }) => (guessed || all) && candidates.length > 0)
    .map(({ path, rows, whole, candidates, named }) => {
      return { ask: 'identity', path, rows, whole, choices: candidates, columns: named };
    });

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
  const styles = STYLES.filter((style) => {
    return unseen.every(({ path }) => differ(columns.filter((one) => one.path === path).map(style.keyOf)));
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
  const markers = new Map<string, { text: string; cells: number; columns: string[] }>();
  for (const { markers: here, types } of open) {
    for (const { text, cells } of here) {
      const known = markers.get(text) ?? { text, cells: 0, columns: [] };
      const own = types.flatMap((type) => (type.markers.includes(text) ? [type.column] : []));
      const columns = [...new Set([...known.columns, ...own])];
      markers.set(text, { text, cells: known.cells + cells, columns });
    }
  }
  const questions: (Question | null)[] = [
    styles.length > 1 && names.some((name) => !isSnakeCase(name))
      ? { ask: 'keys', columns: names, styles: styles.map(({ style }) => style) }
      : null,
    columns.length > 0 ? { ask: 'columns', choices: columns } : null,
    single.length > 0 ? { ask: 'types', choices: single } : null,
    ...twofold.map((each): Question => ({ ask: 'reading', ...each })),
    ...(given.zone === null ? zoneQuestions(choices) : []),
    markers.size > 0 ? { ask: 'markers', choices: [...markers.values()] } : null,
  ];
  return questions.filter((question) => question !== null);
}

/** One for each input: an export of companies and one of users may come from different programs. */
function zoneQuestions(choices: readonly (ColumnOf & TypeChoice)[]): Question[] {
  const zoned = choices.filter(({ type }) => type.endsWith(`@${SOME_ZONE}`));
  const paths = [...new Set(zoned.map(({ path }) => path))];
  return paths.map((path) => ({ ask: 'zone', choices: zoned.filter((choice) => choice.path === path) }));
}

/** `snake_case` is suggested. */
const STYLES = [...KEY_STYLES]
  .sort((a, b) => Number(b === 'snake_case') - Number(a === 'snake_case'))
  .map((style) => ({ style, keyOf: ({ column }: ColumnOf) => keyStyle(style)(column) }));

const differ = (keys: readonly string[]): boolean => new Set(keys).size === keys.length;

const isSnakeCase = (name: string): boolean => /^[a-z0-9_]+$/.test(name);

/** The answers that take every suggestion. A time zone that is not given stays open. */
export function suggestedAnswers(found: readonly Found[], { zone }: Given): Answers {
  const types = found.flatMap(({ path, types }) => {
    const isOnly = (column: string): boolean => types.filter((one) => one.column === column).length === 1;
    return types.flatMap((choice) => (isOnly(choice.column) ? [{ path, ...choice }] : []));
  });
  return {
    leftOut: [],
    keys: null,
    types,
    zones: new Map(zone === null ? [] : found.map(({ path }) => [path, zone])),
    nulls: [...new Set(found.flatMap(({ markers }) => markers.map(({ text }) => text)))],
  };
}
