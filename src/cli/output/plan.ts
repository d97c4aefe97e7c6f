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
  return [
    section('Files', filesTable(files, form), form),
    ...files.flatMap((file) => {
      const columns = columnFacts(file, new Texts(new Set()));
      const rows = columns
        .slice(0, SHOWN)
        .map(({ name, key, type, empty, why }) => [
          ...[name, key ?? '(left out)', type, grouped(empty), why.full],
        ]);
      const table = renderTable(COLUMNS, rows, form) + moreOf(columns.length - SHOWN, 'more column');
      const lines = columns.flatMap(({ suggested }) => suggested.map((line) => `  ${safeLine(line)}\n`));
      const title = `Text in ${safeLine(file.path)} that could be sent as another type`;
      return [
        section(`Columns of ${safeLine(file.path)}`, table, form),
        ...(lines.length > 0 ? [section(title, shownOf(lines, 'more type'), form)] : []),
      ];
    }),
  ];
}

const COLUMNS: readonly Column[] = [
  { header: 'column' },
  { header: 'key' },
  { header: 'type', style: () => 'cyan' },
  { header: 'empty', align: 'right' },
  { header: 'why' },
];

function filesTable(files: readonly FilePlan[], form: TableForm): string {
  const filters = files.some(({ rows }) => rows.filtered > 0);
  const columns: Column[] = [
    ...['file', 'kind', 'format', 'encoding'].map((header) => ({ header })),
    { header: 'rows', align: 'right' },
    ...(filters ? [{ header: 'filtered', align: 'right' } as const] : []),
    { header: 'rejected', align: 'right', style: (text) => (text === '0' ? undefined : 'red') },
  ];
  const rowOf = (file: FilePlan): string[] => [
    ...[file.path, file.kind, formatName(file), file.encoding, grouped(file.rows.read)],
    ...(filters ? [grouped(file.rows.filtered)] : []),
    grouped(file.rows.rejected),
  ];
  return renderTable(columns, files.map(rowOf), form);
}

function sampleSections(files: readonly FilePlan[], form: TableForm): string[] {
  return files.flatMap(({ path, sample }) => {
    if (sample === null || sample === undefined) return [];
    const lines = safeJson(JSON.stringify(sample, null, 2)).match(/.+/g)!;
    const body = shownOf(
      lines.map((line) => `${line}\n`),
      'more line',
    );
    return [section(`First item of ${safeLine(path)}`, body, form)];
  });
}

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
  const table = renderTable(
    [{ header: 'key' }, { header: 'changed rows', align: 'right' }],
    keys.slice(0, SHOWN_KEYS).map(({ key, rows }) => [key, grouped(rows)]),
    form,
  );
  return `${lines.join('')}\n${table}${more > 0 ? `and ${count(more, 'more key')}\n` : ''}`;
}

function propertiesText({ near, types, new: added }: PropertyCheck): string {
  const lines = [
    ...near.map(({ key, like }) => `  ${safeLine(key)}: unknown; did you mean ${safeLine(like)}?`),
    ...types.map(
      ({ key, here, service }) =>
        `  ${safeLine(key)}: ${safeLine(here)} here, ${safeLine(service)} in the service`,
    ),
    ...(added.length > 0 ? [`  new: ${added.map(safeLine).join(', ')}`] : []),
  ];
  return `${lines.length > 0 ? lines.join('\n') : '  all keys are known, with the same types'}\n`;
}
