/** The plan of an import as text (`--dry-run`). */

import type { PlanChanges, PropertyCheck } from '../../engine/model/plan-changes.js';
import type { FilePlan, Plan } from '../../engine/model.js';
import { count, grouped } from '../../engine/util/numbers.js';
import { formatSize } from '../../engine/util/size.js';
import { changesIn, columnFacts, estimateOf, formatName, Texts } from '../facts/outcome.js';
import { type Column, renderTable, type TableForm } from './table.js';
import { safeJson, safeLine, stylesFor } from './terminal.js';

/**
 * The files, their columns with types and reasons, what would be sent, an item of each file, and the property
 * check.
 */
export function planText(plan: Plan, form: TableForm): string {
  const { files, changes, properties } = plan;
  return joined([
    ...filesSections(files, form),
    section('To send', toSend(plan), form),
    changes && section('Compared with the last imports', changesText(changes, form), form),
    ...sampleSections(files, form),
    properties && section('Keys compared with the service', propertiesText(properties), form),
  ]);
}

/** The same for files without a plan, so without what would be sent. */
export const filesText = (files: readonly FilePlan[], form: TableForm): string =>
  joined([...filesSections(files, form), ...sampleSections(files, form)]);

const joined = (sections: readonly (string | undefined)[]): string => sections.join('').replace(/\n$/, '');

const section = (title: string, body: string, { color }: TableForm): string =>
  `${stylesFor(color).bold(title)}\n${body}\n`;

/** The most columns shown, and lines about them; the JSON document has all of them. */
const SHOWN = 200;

/** Lines, or those of them that are shown. */
const shownOf = (lines: readonly string[], what: string): string =>
  lines.slice(0, SHOWN).join('') + moreOf(lines.length - SHOWN, what);

const moreOf = (more: number, what: string): string =>
  more > 0 ? `and ${count(more, what)}; --json shows all of them\n` : '';

function filesSections(files: readonly FilePlan[], form: TableForm): string[] {
  const columnsOf = (file: FilePlan): string[] => {
    const columns = columnFacts(file, new Texts());
    const rows = columns.slice(0, SHOWN).map(({ name, key, type, empty, why }) => {
      return [name, key ?? '(left out)', type, grouped(empty), why.full];
    });
    const table = renderTable(COLUMNS, rows, form) + moreOf(columns.length - SHOWN, 'more column');
    const lines = columns.flatMap(({ suggested }) => suggested.map((line) => `  ${safeLine(line)}\n`));
    const path = safeLine(file.path);
    const shown = section(`Columns of ${path}`, table, form);
    const title = `Text in ${path} that could be sent as another type`;
    return lines.length === 0 ? [shown] : [shown, section(title, shownOf(lines, 'more type'), form)];
  };
  return [section('Files', filesTable(files, form), form), ...files.flatMap(columnsOf)];
}

const COLUMNS: readonly Column[] = [
  ...[{ header: 'column' }, { header: 'key' }, { header: 'type', style: () => 'cyan' as const }],
  ...[{ header: 'empty', align: 'right' as const }, { header: 'why' }],
];

function filesTable(files: readonly FilePlan[], form: TableForm): string {
  const filters = files.some(({ rows }) => rows.filtered > 0);
  const red = (text: string) => (text === '0' ? undefined : ('red' as const));
  const names = filters ? (['read', 'filtered', 'rejected'] as const) : (['read', 'rejected'] as const);
  const columns: Column[] = [
    ...['file', 'kind', 'format', 'encoding'].map((header) => ({ header })),
    ...names.map((name) => ({ header: name === 'read' ? 'rows' : name, align: 'right' as const })),
  ];
  columns.at(-1)!.style = red;
  const rows = files.map((file) => {
    const numbers = names.map((name) => grouped(file.rows[name]));
    return [file.path, file.kind, formatName(file), file.encoding, ...numbers];
  });
  return renderTable(columns, rows, form);
}

const sampleSections = (files: readonly FilePlan[], form: TableForm): string[] =>
  files.flatMap(({ path, sample }) => {
    if (sample === null || sample === undefined) return [];
    const lines = safeJson(JSON.stringify(sample, null, 2))
      .match(/.+/g)!
      .map((line) => `${line}\n`);
    return [section(`First item of ${safeLine(path)}`, shownOf(lines, 'more line'), form)];
  });

function toSend(plan: Plan): string {
  const time = estimateOf(plan) ?? 'unknown: this account has no past jobs to estimate from';
  return [
    `  requests    ${grouped(plan.requests)}`,
    `  bytes       ${formatSize(plan.bytes)}`,
    `  duplicates  ${plan.duplicates === 0 ? '0' : count(plan.duplicates, 'row')}`,
    ...(plan.requests > 0 ? [`  time        ${time}`] : []),
    '',
  ].join('\n');
}

/** The maximum number of keys shown; the JSON document has all of them. */
const SHOWN_KEYS = 20;

function changesText(changes: PlanChanges, form: TableForm): string {
  const { keys = [] } = changes;
  const lines = changesIn(changes).map(([name, rows]) => `  ${name.padEnd(10)}  ${grouped(rows)}\n`);
  if (keys.length === 0) return lines.join('');
  const more = keys.length - SHOWN_KEYS;
  const rows = keys.slice(0, SHOWN_KEYS).map(({ key, rows }) => [key, grouped(rows)]);
  const table = renderTable([{ header: 'key' }, { header: 'changed rows', align: 'right' }], rows, form);
  return `${lines.join('')}\n${table}${more > 0 ? `and ${count(more, 'more key')}\n` : ''}`;
}

function propertiesText({ near, types, new: added }: PropertyCheck): string {
  const lines = [
    ...near.map(({ key, like }) => safeLine(`  ${key}: unknown; did you mean ${like}?`)),
    ...types.map((one) => safeLine(`  ${one.key}: ${one.here} here, ${one.service} in the service`)),
    ...(added.length > 0 ? [`  new: ${added.map(safeLine).join(', ')}`] : []),
  ];
  return `${lines.length > 0 ? lines.join('\n') : '  all keys are known, with the same types'}\n`;
}
