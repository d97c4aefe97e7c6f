/** Puts the questions of a guided import to a person, and collects the answers. */

import type { CellType, KeyStyle, Kind, Plan, Summary } from '../../engine/model.js';
import { KINDS, SOME_ZONE } from '../../engine/model.js';
import type { Candidate, TypeChoice } from '../../engine/plan/look.js';
import type { SavedPlan } from '../../engine/plan/saved-plan.js';
import { converterOf, keyStyle } from '../../engine/read/index.js';
import { count, grouped } from '../../engine/util/numbers.js';
import { causeText } from '../facts/index.js';
import { planLine, whyOf } from '../facts/outcome.js';
import type { Choice, Prompter } from '../prompts/plain.js';
import {
  type Answers,
  type ColumnOf,
  type CompanyQuestion,
  type Found,
  type Given,
  type IdentityQuestion,
  losing,
  type Question,
} from './questions.js';

/** Asks what the rows of an input are. */
export async function askIdentity(
  { path, rows, whole, choices, columns }: IdentityQuestion,
  prompter: Prompter,
): Promise<{ kind: Kind; id: string }> {
  const seen = whole ? count(rows, 'row') : `the first ${count(rows, 'row')}`;
  const offered: Choice<Candidate | null>[] = choices.map((candidate) => {
    const label = `${candidate.kind}, identified by ${candidate.column}`;
    return { value: candidate, label, hint: aboutIds(candidate, rows) };
  });
  offered.push({ value: null, label: 'another column' });
  const chosen = await prompter.choose(`${path}: what are its rows? (${seen})`, offered);
  if (chosen !== null) return { kind: chosen.kind, id: chosen.column };
  const kinds = [...new Set([choices[0]!.kind, ...KINDS])].map((kind) => ({ value: kind, label: kind }));
  const kind = await prompter.choose<Kind>(`${path}: are its rows companies or users?`, kinds);
  const named = columns.map(({ column, values }) => {
    return { value: column, label: column, hint: values.map(short).join(', ') || undefined };
  });
  return { kind, id: await prompter.find(`Which column identifies the ${kind}?`, named) };
}

/** Asks whether a column names the company of users. */
export const askCompany = ({ path, column, values }: CompanyQuestion, prompter: Prompter): Promise<boolean> =>
  prompter.confirm(`${path}: is ${column} the company of a user? (${values.map(short).join(', ')})`, true);

/** `1001, 1002, 1003; 500 different in 500 rows`. */
function aboutIds({ values, different, filled }: Candidate, rows: number): string {
  const empty = rows - filled;
  const missing = empty > 0 ? `, ${grouped(empty)} empty` : '';
  return `${values.map(short).join(', ')}; ${grouped(different)} different in ${count(rows, 'row')}${missing}`;
}

/** Asks the other questions. */
export async function askAll(
  questions: readonly Question[],
  found: readonly Found[],
  { given, prompter }: { given: Given; prompter: Prompter },
): Promise<Answers> {
  const named = namesFor(found, true);
  const namedHere = namesFor(found, false);
  let { zone } = given;
  const types: (ColumnOf & TypeChoice)[] = [];
  let leftOut: readonly ColumnOf[] = [];
  let keys: KeyStyle | null = null;
  let nulls: readonly string[] = [];
  const isSent = ({ path, column }: ColumnOf): boolean =>
    !leftOut.some((one) => one.path === path && one.column === column);
  type Said<T> = (one: T) => string;
  /** Any of the choices, each with what is said about it. */
  const tick = <T>(question: string, all: readonly T[], label: Said<T>, hint: Said<T>): Promise<T[]> => {
    const choices = all.map((value) => ({ value, label: label(value), hint: hint(value) }));
    return prompter.tick(question, choices);
  };
  for (const question of questions) {
    if (question.ask === 'columns') {
      const about = (one: Columns): string => aboutColumn(one, keys);
      const sent = await tick('Which columns to send?', question.choices, named, about);
      leftOut = question.choices.filter((choice) => !sent.includes(choice));
    } else if (question.ask === 'keys') {
      const { columns, styles } = question;
      const different = (column: string) => new Set(styles.map((style) => keyStyle(style)(column))).size;
      const [example = ''] = [...columns].sort((a, b) => different(b) - different(a));
      const choices = styles.map((style) => ({ value: style, label: keyStyle(style)(example), hint: style }));
      keys = await prompter.choose('How are the columns named at the service?', choices);
    } else if (question.ask === 'types') {
      const choices = question.choices.filter(isSent);
      if (choices.length > 0)
        types.push(...(await tick('Which values to convert?', choices, named, aboutType)));
    } else if (question.ask === 'reading' && isSent(question)) {
      const { path, choices } = question;
      const likely = types.flatMap((one) => (one.path === path ? [isDayFirst(one.type)] : []));
      const sorted = [...choices].sort((a, b) => agreeing(b, likely) - agreeing(a, likely));
      const readings = sorted.map((choice) => {
        const label = `${quoted(choice.before)} is ${choice.after ?? inNoZone(choice)}`;
        return { value: choice, label, hint: choice.type.replace(`@${SOME_ZONE}`, '') };
      });
      const asText = { value: { ...choices[0]!, type: 'string', markers: [] }, label: 'as text, as written' };
      const all: Choice<TypeChoice>[] = [...readings, asText];
      // Enter takes text: a wrong guess would be wrong data.
      const read = await prompter.choose(
        `${named(question)}: how are its values read?`,
        all,
        readings.length,
      );
      types.push({ path, ...read });
    } else if (question.ask === 'zone') {
      const [first, ...others] = question.choices.filter(({ path, column, type }) => {
        return types.some((one) => one.path === path && one.column === column && one.type === type);
      });
      if (first) zone = await askZone([first, ...others], named, prompter);
    } else if (question.ask === 'markers') {
      const texts = question.choices.flatMap(({ text, columns }): Choice<string>[] => {
        const marker = { text, columns: columns.filter(isSent) };
        const lost = losing(marker, types, found);
        const hint = marker.columns.map((column) => {
          const { company } = found.find(({ path }) => path === column.path)!;
          const end = column.column === company ? 'would be left out' : 'stays text';
          return `${count(column.cells, 'cell')} of ${namedHere(column)}${lost.includes(column) ? `, which ${end}` : ''}`;
        });
        return hint.length === 0
          ? []
          : [{ value: text, label: text, hint: hint.join('; '), isTicked: lost.length === 0 }];
      });
      if (texts.length > 0) nulls = await prompter.tick('Which of these mean that a cell is empty?', texts);
      for (const one of types) {
        const text = one.markers.find((marker) => !nulls.includes(marker));
        if (text !== undefined)
          prompter.show([`${named(one)} is not converted, because ${quoted(text)} is not treated as empty`]);
      }
    }
  }
  return { leftOut, keys, types, zone, nulls };
}

/** Whether the day comes before the month in a type of dates; null in another type. */
const isDayFirst = (type: string): boolean | null => {
  const [, first] = /^date(?:time)?:[^dM]*([dM])/.exec(type) ?? [];
  return first === undefined ? null : first === 'd';
};
/** How many types read dates as this one does. */
const agreeing = ({ type }: TypeChoice, others: readonly (boolean | null)[]): number =>
  others.filter((other) => other !== null && other === isDayFirst(type)).length;
/** A point in time, as far as it is known without a zone. */
const inNoZone = ({ before, type }: TypeChoice): string =>
  converterOf(type.replace(SOME_ZONE, 'UTC') as CellType)
    ?.json(before)
    ?.replace('Z"', '"') ?? type;

type Columns = Extract<Question, { ask: 'columns' }>['choices'][number];

function aboutColumn({ column, key, values, filled, rows }: Columns, keys: KeyStyle | null): string {
  const sentAs = keys === null ? key : keyStyle(keys)(column);
  const as = sentAs === column ? '' : `as ${sentAs}, `;
  const inRows = filled === rows ? 'in every row' : `in ${grouped(filled)} of ${count(rows, 'row')}`;
  return `${as}${inRows}${values[0] === undefined ? '' : `, such as ${quoted(values[0])}`}`;
}

type Named = (column: ColumnOf) => string;

/**
 * Columns of several inputs are named with the kind of their rows, or with the input if that is not enough.
 * @param isForAll whether what is asked holds for all inputs of the kind that have the column
 */
function namesFor(found: readonly Found[], isForAll: boolean): Named {
  if (found.length === 1) return ({ column }) => column;
  const isOnePerKind = new Set(found.map(({ kind }) => kind)).size === found.length;
  return ({ path, column }) => {
    const { kind } = found.find((one) => one.path === path)!;
    const having = found.filter((one) => {
      const isAlike = isForAll && one.kind === kind && one.named.some((each) => each.column === column);
      return one.path === path || isAlike;
    });
    return `${isOnePerKind ? kind : having.map((one) => one.path).join(', ')}: ${column}`;
  };
}

const aboutType = ({ before, after, type, markers, strays }: TypeChoice): string =>
  [
    `${quoted(before)} → ${after ?? 'a point in time'}, ${type.replace(`@${SOME_ZONE}`, '')}`,
    ...(markers.length > 0 ? [`${markers.map(quoted).join(', ')} means empty`] : []),
    ...(strays > 0 ? [`rejects ${count(strays, 'row')} that ${strays === 1 ? 'does' : 'do'} not fit`] : []),
  ].join('; ');

/** Asks for the time zone of columns, and shows a cell in it. */
async function askZone(
  zoned: readonly [ColumnOf & TypeChoice, ...(ColumnOf & TypeChoice)[]],
  named: Named,
  prompter: Prompter,
): Promise<string> {
  const { before, type } = zoned[0];
  const choices = zones((zone) => {
    const json = converterOf(type.replace(SOME_ZONE, zone) as CellType)?.json(before);
    return json ? `${quoted(before)} → ${json}` : undefined;
  });
  return prompter.find(`In which time zone are the times of ${zoned.map(named).join(', ')}?`, choices);
}

/** This machine's zone first, then UTC, then all others. @param hintFor what is said of each */
export function zones(hintFor: (zone: string) => string | undefined = () => undefined): Choice<string>[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const all = [...new Set([own, 'UTC', ...Intl.supportedValuesOf('timeZone')])];
  return all.map((zone) => ({ value: zone, label: zone, hint: hintFor(zone) }));
}

const short = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
const quoted = (text: string): string => `"${short(text)}"`;

export interface Rehearsal {
  /** What will be sent. */
  saved: SavedPlan;
  plan: Plan;
  summary: Summary;
}

/** The first item of each input as it will be sent, what else was found, and what is to be sent in all. */
export function planLines({ plan, saved, summary }: Rehearsal): string[] {
  const items = plan.files.flatMap(({ path, sample }) =>
    sample === null ? [] : [`First item of ${path}:`, ...JSON.stringify(sample, null, 2).split('\n')],
  );
  const warnings = summary.warnings.map((warning) => `warning: ${warning}`);
  if (summary.status === 'held') return [...items, ...warnings, `nothing will be sent: ${whyOf(summary)}`];
  return [...items, ...warnings, planLine({ ...saved.totals, stopped_by: null })];
}

const MOST_CAUSES = 8;

/** The invalid rows by cause. */
export function invalidLines({ summary, plan }: Rehearsal): string[] {
  const { causes } = summary;
  const shown = causes.slice(0, MOST_CAUSES).map((cause) => {
    return `${plan.files.length > 1 ? `${cause.file}: ` : ''}${causeText(cause)}`;
  });
  const more = causes.length - shown.length;
  return more > 0 ? [...shown, `and ${count(more, 'more cause')}`] : shown;
}
