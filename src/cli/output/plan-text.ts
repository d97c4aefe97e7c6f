/** The plan of an import as text (`--dry-run`). */
import type { FilePlan, Plan } from '../../engine/model.js';
import { count, grouped, roughly } from '../../engine/numbers.js';
import type { PlanChanges, PropertyCheck } from '../../engine/plan-changes.js';
import { formatSize } from '../../engine/size.js';
import { suggestedLines } from '../advice/input-words.js';
import { safeJson, safeLine } from './safe.js';
import { stylesFor } from './style.js';
import { renderTable, type TableForm } from './table.js';

/**
 * The files, their columns with types and reasons, what would be sent, an item of each file, and the property
 * check.
 */
export function planText(plan: Plan, form: TableForm): string {
  return joined([
    ...filesSections(plan.files, form),
    section('To send', toSend(plan), form),
    ...(plan.changes
      ? [section('Compared with the last imports', changesText(plan.changes, form), form)]
      : []),
    ...sampleSections(plan.files, form),
    ...(plan.properties
      ? [section('Keys compared with the service', propertiesText(plan.properties), form)]
      : []),
  ]);
}

/** The same for files without a plan, so without what would be sent. */
export function filesText(files: readonly FilePlan[], form: TableForm): string {
  return joined([...filesSections(files, form), ...sampleSections(files, form)]);
}

const joined = (sections: readonly string[]): string => sections.join('').replace(/\n$/, '');

const section = (title: string, body: string, { color }: TableForm): string =>
  `${stylesFor(color).bold(title)}\n${body}\n`;

const filesSections = (files: readonly FilePlan[], form: TableForm): string[] => [
  section('Files', filesTable(files, form), form),
  ...files.flatMap((file) => [
    section(`Columns of ${safeLine(file.path)}`, columnsTable(file, form), form),
    ...suggestedSection(file, form),
  ]),
];

/** Types that all values of a text column would fit, as flags to paste. */
function suggestedSection(file: FilePlan, form: TableForm): string[] {
  const lines = file.columns.flatMap(({ column, suggested }) => suggestedLines(column, suggested ?? []));
  if (lines.length === 0) return [];
  const body = shownOf(
    lines.map((line) => `  ${safeLine(line)}\n`),
    'more type',
  );
  return [section(`Text in ${safeLine(file.path)} that could be sent as another type`, body, form)];
}

const sampleSections = (files: readonly FilePlan[], form: TableForm): string[] =>
  files
    .filter(({ sample }) => sample !== null && sample !== undefined)
    .map(({ path, sample }) =>
      section(
        `First item of ${safeLine(path)}`,
        shownOf(
          safeJson(JSON.stringify(sample, null, 2))
            .match(/.+/g)!
            .map((line) => `${line}\n`),
          'more line',
        ),
        form,
      ),
    );

function filesTable(files: readonly FilePlan[], form: TableForm): string {
  const filters = files.some(({ rows }) => rows.filtered > 0);
  return renderTable(
    [
      { header: 'file' },
      { header: 'kind' },
      { header: 'format' },
      { header: 'encoding' },
      { header: 'rows', align: 'right' },
      ...(filters ? [{ header: 'filtered', align: 'right' as const }] : []),
      { header: 'rejected', align: 'right', style: (text) => (text === '0' ? undefined : 'red') },
    ],
    files.map((file) => [
      file.path,
      file.kind,
      formatName(file),
      file.encoding,
      grouped(file.rows.read),
      ...(filters ? [grouped(file.rows.filtered)] : []),
      grouped(file.rows.rejected),
    ]),
    form,
  );
}

/** `csv (;, quote ', 2 lines skipped)`: the format, and how its dialect differs from a usual CSV. */
function formatName({ format, dialect }: FilePlan): string {
  if (!dialect) return format;
  const { delimiter, quote, escape: own, comment, skip_lines, lenient_quotes } = dialect;
  const parts = [
    ...(delimiter === ',' ? [] : [characterName(delimiter)]),
    ...(quote === '"' ? [] : [quote === null ? 'no quotes' : `quote ${characterName(quote)}`]),
    ...(own === null ? [] : [`escape ${characterName(own)}`]),
    ...(comment === null ? [] : [`comments ${characterName(comment)}`]),
    ...(skip_lines === 0 ? [] : [`${count(skip_lines, 'line')} skipped`]),
    ...(lenient_quotes ? ['lenient quotes'] : []),
  ];
  return parts.length === 0 ? format : `${format} (${parts.join(', ')})`;
}

/** Invisible characters in the form in which they can be typed: `tab`, `\x01`. */
const characterName = (text: string): string =>
  text === '\t'
    ? 'tab'
    : text.replace(/[\0-\x1f\x7f]/g, (code) => `\\x${code.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** The most columns shown, and lines about them; the JSON document has all of them. */
const SHOWN = 200;

/** Lines, or those of them that are shown. */
function shownOf(lines: readonly string[], what: string): string {
  const more = lines.length - SHOWN;
  return lines.slice(0, SHOWN).join('') + (more > 0 ? moreOf(more, what) : '');
}

const moreOf = (more: number, what: string): string => `and ${count(more, what)}; --json shows all of them\n`;

function columnsTable(file: FilePlan, form: TableForm): string {
  const more = file.columns.length - SHOWN;
  const table = renderTable(
    [
      { header: 'column' },
      { header: 'key' },
      { header: 'type', style: () => 'cyan' },
      { header: 'empty', align: 'right' },
      { header: 'why' },
    ],
    file.columns
      .slice(0, SHOWN)
      .map((column) => [
        column.column,
        column.key ?? '(left out)',
        column.type ?? (column.key === null ? '' : 'as written'),
        grouped(column.empty),
        column.reason,
      ]),
    form,
  );
  return more > 0 ? `${table}${moreOf(more, 'more column')}` : table;
}

function toSend(plan: Plan): string {
  const time =
    plan.estimated_seconds === null
      ? 'unknown: this account has no past jobs to estimate from'
      : `about ${roughly(plan.estimated_seconds * 1_000)}`;
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
  const { keys, ...classes } = changes;
  const lines = Object.entries(classes).map(([name, rows = 0]) => `  ${name.padEnd(10)}  ${grouped(rows)}\n`);
  if (!keys || keys.length === 0) return lines.join('');
  const more = keys.length - SHOWN_KEYS;
  const table = renderTable(
    [{ header: 'key' }, { header: 'changed rows', align: 'right' }],
    keys.slice(0, SHOWN_KEYS).map(({ key, rows }) => [key, grouped(rows)]),
    form,
  );
  return `${lines.join('')}\n${table}${more > 0 ? `and ${count(more, 'more key')}\n` : ''}`;
}

function propertiesText(check: PropertyCheck): string {
  const lines = [
    ...check.near.map(({ key, like }) => `  ${safeLine(key)}: unknown; did you mean ${safeLine(like)}?`),
    ...check.types.map(
      ({ key, here, service }) =>
        `  ${safeLine(key)}: ${safeLine(here)} here, ${safeLine(service)} in the service`,
    ),
    ...(check.new.length > 0 ? [`  new: ${check.new.map(safeLine).join(', ')}`] : []),
  ];
  return `${lines.length > 0 ? lines.join('\n') : '  all keys are known, with the same types'}\n`;
}
