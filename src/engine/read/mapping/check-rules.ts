/** Checks that the rules about columns fit the inputs. A rule applies to every input that has its column. */
import { UsageError } from '../../errors.js';
import { ID_FIELD, KINDS, type Kind } from '../../model.js';
import type { ReadOptions } from '../../options.js';
import type { ColumnRule, Warning } from '../../problems.js';
import { nearest } from '../../util/nearest.js';
import { MAX_FIELDS } from '../json/fields.js';
import type { OpenedInput, Scan } from '../types.js';
import { list } from '../wording.js';
import { columnIn, type Mapped, unknownColumn } from './targets.js';

/** An input and its known columns. */
interface Checked extends Mapped {
  columns: readonly string[];
  /** Whether there may be more columns: fields of JSON items are met one by one. */
  open: boolean;
}

type Asked = Pick<ReadOptions, 'kind' | 'id' | 'userId' | 'companyId' | 'byKind'>;
type Named = readonly [rule: ColumnRule, column: string];

/**
 * Refuses rules that apply to none of the inputs, as far as that is known before they are read.
 * @throws UsageError for a column that no input has, for a rule that gives an identifier's column another use or has its
 * key, and for a sheet if no input is a workbook
 * @returns warnings of rules that miss one of several inputs
 */
export function checkOpened(
  inputs: readonly OpenedInput[],
  asked: Asked & Pick<ReadOptions, 'sheet'>,
): Warning[] {
  const [first] = inputs;
  const isSheet = ({ isRejects, format }: OpenedInput): boolean => isRejects === true || format === 'xlsx';
  if (asked.sheet !== undefined && first && !inputs.some(isSheet)) {
    throw new UsageError(`sheet is for a workbook, and ${first.path} is ${first.format}`, {
      hint: 'leave the sheet out',
      problem: { code: 'sheet_of_other_format', format: first.format },
    });
  }
  for (const input of inputs) checkKeys(input);
  checkRules(
    inputs.map((input) => ({ ...input, open: hasFields(input) })),
    asked,
  );
  return inputs.flatMap((input) => missedBy(input, inputs, asked));
}

/** Of an input whose columns seem to be renamed: a rule names a column that it lacks, and another one of its kind has. */
function missedBy(input: OpenedInput, inputs: readonly OpenedInput[], asked: Asked): Warning[] {
  if (hasFields(input) || input.again) return [];
  const has = new Set(input.columns);
  const others = inputs.filter(({ kind, again }) => kind === input.kind && !again);
  const missed = new Map<string, string>();
  for (const [, column] of namedIn(input, asked)) {
    const other = has.has(column) ? undefined : others.find(({ columns }) => columns.includes(column));
    const own = input.columns.filter((name) => other && !other.columns.includes(name));
    const begin = column.toLowerCase();
    const isLonger = (name: string): boolean => begin.length > 3 && name.toLowerCase().startsWith(begin);
    const like = nearest(column, own) ?? own.find(isLonger);
    if (like !== undefined) missed.set(column, like);
  }
  if (missed.size === 0) return [];
  const message = `${input.path}: rules name ${list([...missed.keys()])}, which only other inputs have; did you mean its ${list([...missed.values()])}?`;
  return [{ message }];
}

/** The same once all fields of JSON items are known. @throws UsageError */
export function checkScanned(
  inputs: readonly {
    opened: OpenedInput;
    scan: Pick<Scan, 'columns' | 'rows'>;
  }[],
  asked: Asked,
): void {
  if (!inputs.some(({ opened }) => hasFields(opened))) return;
  const known = inputs.map(({ opened, scan: { columns, rows } }) => ({
    ...opened,
    columns: [...new Set([...opened.columns, ...columns.map(({ column }) => column)])],
    // Without items, any fields are possible.
    open: hasFields(opened) && (rows.read === 0 || columns.length >= MAX_FIELDS),
  }));
  checkRules(known, asked);
}

/** Whether items may have fields that the first items lack. */
export const hasFields = ({ format }: OpenedInput): boolean => format === 'json' || format === 'ndjson';

/** The keys of identifiers are not metadata: the service would take them for something else. @throws UsageError */
function checkKeys({ rules, kind }: Mapped): void {
  const keys = [
    ...rules.map.map(([column, key]) => ['map', key, column] as const),
    ...rules.set.map(([key]) => ['set', key, null] as const),
  ];
  for (const [rule, key, column] of keys) {
    const isOwn = key === ID_FIELD[kind];
    // A user's company is an identifier, too (spec: User). A company's `user_id` is nothing but metadata.
    if (!isOwn && key !== ID_FIELD.companies) continue;
    throw new UsageError(
      `${rule}: "${key}" is ${isOwn ? 'the identifier' : "the user's company"}, not metadata`,
      {
        hint: `name the ${isOwn ? "identifier's" : "company's"} column instead`,
        problem: { code: 'identifier_as_key', key, kind, column },
      },
    );
  }
}

function checkRules(inputs: readonly Checked[], asked: Asked): void {
  checkId(inputs, asked.id);
  /** Each rule, with the inputs to which it applies. */
  const rules = new Map<string, { named: Named; under: Set<Checked> }>();
  for (const input of inputs) {
    for (const [rule, name] of namedIn(input, asked)) {
      const named: Named = [rule, columnIn(input.columns, name)];
      const known = rules.get(String(named)) ?? { named, under: new Set() };
      rules.set(String(named), { named, under: known.under.add(input) });
    }
  }
  for (const { named, under } of rules.values()) checkOne(named, [...under]);
}

/** The columns that an input's rules name, or are named as identifiers of its kind. */
function namedIn({ rules, again, kind }: Mapped, { userId, companyId, byKind }: Asked): Named[] {
  const set = new Set(rules.set.map(([key]) => key));
  const own = byKind?.[kind];
  // A rejects file may lack columns that the rules of its run name.
  const counts = (column: string): boolean => !again || again.named.includes(column);
  const named: readonly (readonly [rule: ColumnRule, columns: readonly string[]])[] = [
    ['map', rules.map.map(([column]) => column).filter(counts)],
    ['include', rules.include.filter(counts)],
    ['exclude', rules.exclude.filter(counts)],
    ['types', rules.types.flatMap(([column]) => (set.has(column) || !counts(column) ? [] : column))],
    ['user_id', [userId ?? []].flat()],
    ['company_id', [companyId ?? []].flat()],
    ['id', [own?.id ?? []].flat()],
    ['company_id', [own?.companyId ?? []].flat()],
  ];
  return named.flatMap(([rule, columns]) => columns.map((column): Named => [rule, column]));
}

/** @param under the inputs that have the rule */
function checkOne([rule, column]: Named, under: readonly Checked[]): void {
  const isIdRule = rule === 'id' || rule === 'user_id' || rule === 'company_id';
  // A column without a name is left out of a table, but can be the identifier in JSON.
  const isLeftOut = ({ idColumn, companyIdColumn }: Mapped): boolean =>
    isIdRule && column === '' && idColumn !== '' && companyIdColumn !== '';
  const having = under.filter((input) => input.columns.includes(column) && !isLeftOut(input));
  const isOpen = under.some(({ open }) => open);
  if (having.length === 0) {
    if (isOpen) return;
    const columns = [...new Set(under.flatMap((input) => input.columns))];
    throw unknownColumn(rule, column, columns, under.map(({ path }) => path).join(', '));
  }
  if (rule === 'include' || isIdRule) return;
  const isIdentifier = ({ idColumn, companyIdColumn }: Mapped): boolean =>
    column === idColumn || column === companyIdColumn;
  // In other inputs, the column may be metadata.
  if (!having.every(isIdentifier) || isOpen) return;
  // An identifier is text; only its case may change.
  const isLower = ({ rules: { types } }: Mapped): boolean =>
    types.every(([named, type]) => named !== column || type === 'lower');
  if (rule === 'types' && under.every(isLower)) return;
  const use = rule === 'types' ? 'an identifier is always text' : 'it is the identifier';
  throw new UsageError(`${rule}: ${column}: ${use}`, {
    hint: 'leave the rule out, or name another identifier',
    problem: { code: 'rule_for_identifier', rule, column },
  });
}

/** One column cannot be the identifier of two kinds. */
function checkId(inputs: readonly Checked[], id: string | undefined): void {
  if (id === undefined) return;
  const has = ({ columns }: Checked): boolean => columns.includes(columnIn(columns, id));
  const kinds = KINDS.filter((kind) => inputs.some((input) => input.kind === kind));
  if (kinds.length > 1) {
    const having = (kind: Kind): boolean => inputs.some((input) => input.kind === kind && has(input));
    throw new UsageError(`id: "${id}" cannot be the identifier of companies and of users`, {
      hint: 'name the column of each',
      problem: { code: 'id_for_both', column: id, kinds: kinds.filter(having) },
    });
  }
  for (const input of inputs) {
    if (input.idColumn !== id && !has(input)) throw unknownColumn('id', id, input.columns, input.path);
  }
}
