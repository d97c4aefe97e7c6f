/** What all commands share that list records: a list is data, printed in one of four forms. */
import { count } from '../../engine/util/numbers.js';
import type { Context } from '../context.js';
import { given, LISTING } from '../options/index.js';
import type { ListRecord, Selection } from '../output/records.js';
import * as lists from '../output/records.js';
import type { Column } from '../output/table.js';
import { jsonFor, type Styles, safeLine, tableForm, writeJson, writeOut } from '../output/terminal.js';
import { type Flags, type Line, type Spec, say, type Tree } from './command.js';

/** A list: its records, and how they are shown. */
export interface List {
  records: readonly ListRecord[];
  /** Fields that are shown even if no record has them, in order. */
  fields: readonly string[];
  /** Fields of a table unless `--columns` names others. Default: all fields. */
  tableFields?: readonly string[];
  /** The field that users copy from a table. Other fields are cut first. */
  id?: string;
  /** Fields with times. At a terminal, a table also shows how long ago each was. */
  times?: readonly string[];
  /** The original JSON text of `records`. It is printed unchanged if nothing is selected. */
  source?: string;
  /** So many records of a table are shown if nothing is selected; the newest come first. Default: all. */
  newest?: number;
  /** Text for stderr if there are no records at all. */
  empty: string;
  /** Colors of a field's values. */
  styles?: Readonly<Record<string, (text: string) => keyof Styles | undefined>>;
  /** What is still to be selected, if some of it was done when the records were read. */
  selection?: Selection;
  /** What is said behind the list. */
  after?: readonly string[];
}

/** What the flags ask for. */
export type Listing = { form: 'table' | 'json' | 'csv' | 'ndjson'; selection: Selection };

/** A command that prints the list that `find` makes of its words and flags. */
export const list = (
  find: (line: Line, context: Context, listing: Listing, tree: Tree) => Promise<List>,
  commands: Readonly<Record<string, Spec>> = {},
): Spec => ({
  commands,
  run: async (line, context, tree) => {
    const listing = listingOf(line.flags);
    await printList(await find(line, context, listing, tree), listing, context);
  },
});

export function listingOf(flags: Flags): Listing {
  const { sort, ...selection }: Omit<Selection, 'sort'> & { sort?: string } = given(LISTING, flags);
  const by = sort && { key: sort.replace(/^-/, ''), descending: sort.startsWith('-') };
  const form = (['json', 'csv', 'ndjson'] as const).find((name) => flags[name] === true);
  return { form: form ?? 'table', selection: { ...selection, ...(by && { sort: by }) } };
}

/** Prints the selected records in the requested form. @throws UsageError for an unknown field */
export async function printList(list: List, listing: Listing, context: Context): Promise<void> {
  const { stdout } = context;
  const { form } = listing;
  const { records: all, fields, newest = Number.POSITIVE_INFINITY, source, after = [] } = list;
  const { selection = listing.selection } = list;
  const whole = lists.selectsAll(selection);
  const total = all.length;
  const isShortened = form === 'table' && total > newest && whole;
  const { records, columns } = lists.select(all, isShortened ? { limit: newest } : selection, fields);
  const isSource = form === 'json' && source !== undefined && whole;
  if (records.length === 0 && !isSource)
    await say(context, total === 0 ? list.empty : `no matches among ${count(total, 'record')}`);
  if (form === 'json')
    await writeJson(stdout, isSource ? source.replace(/\n$/, '') : JSON.stringify(records, null, 2));
  else if (form === 'ndjson') await writeOut(stdout, jsonFor(stdout, lists.toNdjson(records)));
  else if (form === 'csv') {
    const csv = lists.toCsv(records, columns);
    await writeOut(stdout, stdout.isTTY ? csv.split('\n').map(safeLine).join('\n') : csv);
  } else if (records.length > 0) {
    const hidden = await printTable(records, selection.columns ? columns : null, list, context);
    const what = `hidden to fit the terminal: ${safeLine(hidden.join(', '))}; choose with --columns`;
    if (hidden.length > 0) await say(context, what);
  }
  if (isShortened)
    await say(context, `the newest ${newest} of ${count(total, 'record')}; for all: --limit ${total}`);
  for (const line of after) await say(context, line);
}

/**
 * Prints all columns that were named; of the default columns, only those that fit the terminal.
 * @returns the columns that did not fit
 */
async function printTable(
  records: readonly ListRecord[],
  named: readonly string[] | null,
  list: List,
  context: Context,
): Promise<readonly string[]> {
  // Loaded here, because the code that measures text takes 35 ms to load, and `--json` does not need it.
  const { renderFitting } = await import('../output/table.js');
  const { stdout, clock } = context;
  const { id, styles = {}, times = [], fields, tableFields } = list;
  const shown = named ?? tableFields ?? lists.select(records, {}, fields).columns;
  const heads = shown.map((field): Column => {
    const isNumeric = records.every((record) => typeof (record[field] ?? 0) === 'number');
    const align = isNumeric ? 'right' : 'left';
    return { header: field, align, whole: field === id, ...(styles[field] && { style: styles[field] }) };
  });
  const now = clock.now();
  const rows = records.map((record) =>
    shown.map((field) => {
      const cell = lists.cellText(record[field]);
      const isTime = stdout.isTTY && times.includes(field) && !Number.isNaN(Date.parse(cell));
      // The age comes first, so that a narrow terminal cuts the time.
      return isTime ? `${lists.ago(now - Date.parse(cell))} (${cell.replace(/\.\d+Z$/, 'Z')})` : cell;
    }),
  );
  const least = named ? heads.length : undefined;
  const { text, leftOut } = renderFitting(heads, rows, tableForm(context), least);
  await writeOut(stdout, text);
  return leftOut;
}
