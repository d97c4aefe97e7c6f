/** Shared by all commands that list records: selecting records, and the four forms of the result. */
import { count } from '../../engine/numbers.js';
import type { Context } from '../context.js';
import { given, LISTING } from '../options/index.js';
import { agoBriefly } from '../output/ago.js';
import { cellText, type ListRecord, toCsv, toNdjson } from '../output/records.js';
import { safeLine } from '../output/safe.js';
import { type Selection, select, selectsAll } from '../output/select.js';
import { formOn, type Styles } from '../output/style.js';
import { jsonFor, writeJson, writeOut } from '../output/write.js';
import type { Flags } from './command.js';

export interface Listing {
  form: 'table' | 'json' | 'csv' | 'ndjson';
  selection: Selection;
}

/** Reads the flags that select records and their form. */
export function readListing(flags: Flags): Listing {
  const { filter, sort, ...others } = given(LISTING, flags);
  const selection: Selection = { ...others };
  if (filter !== undefined) selection.filter = filter.map(([key, value]) => ({ key, value }));
  if (sort !== undefined) selection.sort = { key: sort.replace(/^-/, ''), descending: sort.startsWith('-') };
  const forms = (['json', 'csv', 'ndjson'] as const).filter((form) => flags[form] === true);
  return { form: forms[0] ?? 'table', selection };
}

export interface RecordList {
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
}

/** Prints the selected records in the requested form. @throws UsageError for an unknown field */
export async function printListing(
  list: RecordList,
  { form, selection }: Listing,
  context: Context,
): Promise<void> {
  const { stdout, stderr, flags } = context;
  if (form === 'json' && list.source !== undefined && selectsAll(selection)) {
    await writeJson(stdout, list.source.replace(/\n$/, ''));
    return;
  }
  const total = list.records.length;
  const isShortened =
    form === 'table' && list.newest !== undefined && total > list.newest && selectsAll(selection);
  const chosen = select(list.records, isShortened ? { limit: list.newest! } : selection, list.fields);
  if (chosen.records.length === 0 && !flags.quiet) {
    await writeOut(stderr, `${total === 0 ? list.empty : `no matches among ${count(total, 'record')}`}\n`);
  }
  if (form === 'json') await writeJson(stdout, JSON.stringify(chosen.records, null, 2));
  else if (form === 'ndjson') await writeOut(stdout, jsonFor(stdout, toNdjson(chosen.records)));
  else if (form === 'csv')
    await writeOut(stdout, forTerminal(toCsv(chosen.records, chosen.columns), context));
  else if (chosen.records.length > 0) await printTable(chosen, list, selection, context);
  if (isShortened && !flags.quiet) {
    await writeOut(
      stderr,
      `the newest ${list.newest} of ${count(total, 'record')}; for all: --limit ${total}\n`,
    );
  }
}

/** Prints all columns that were named; of the default columns, only those that fit the terminal. */
async function printTable(
  { records, columns }: { records: readonly ListRecord[]; columns: readonly string[] },
  list: RecordList,
  selection: Selection,
  { stdout, stderr, env, flags, clock }: Context,
): Promise<void> {
  // Loaded here, because the code that measures text takes 35 ms to load, and `--json` does not need it.
  const { renderFitting, renderTable } = await import('../output/table.js');
  const shown = selection.columns ? columns : (list.tableFields ?? columns);
  const heads = shown.map((field) => {
    const style = list.styles?.[field];
    const numeric = records.every((record) => typeof (record[field] ?? 0) === 'number');
    const align = numeric ? 'right' : 'left';
    return { header: field, align, whole: field === list.id, ...(style ? { style } : {}) } as const;
  });
  const now = clock.now();
  const rows = records.map((record) =>
    shown.map((field) => {
      const cell = cellText(record[field]);
      const isTime = stdout.isTTY && list.times?.includes(field) && !Number.isNaN(Date.parse(cell));
      // The age comes first, so that a narrow terminal cuts the time.
      return isTime ? `${agoBriefly(now - Date.parse(cell))} (${cell.replace(/\.\d+Z$/, 'Z')})` : cell;
    }),
  );
  const form = formOn(stdout, env, flags);
  if (selection.columns) {
    await writeOut(stdout, renderTable(heads, rows, form));
    return;
  }
  const { text, leftOut } = renderFitting(heads, rows, form);
  await writeOut(stdout, text);
  if (leftOut.length === 0 || flags.quiet) return;
  await writeOut(
    stderr,
    `hidden to fit the terminal: ${safeLine(leftOut.join(', '))}; choose with --columns\n`,
  );
}

/** Data for a pipe is unchanged; for a terminal it has no control characters. */
function forTerminal(text: string, { stdout }: Context): string {
  return stdout.isTTY ? text.split('\n').map(safeLine).join('\n') : text;
}
