/** Texts for problems with inputs, columns, and cells: hints with the flags that help. */
import { ID_FIELD, type Kind, SOME_ZONE } from '../../engine/model.js';
import type { ColumnRule, Problem, ProblemOf, Reading } from '../../engine/problems.js';
import type { Commands } from './commands.js';
import { toRun } from './hint.js';
import { shellWord } from './shell.js';

export interface Words {
  /** Replaces the engine's sentence, if the problem is with a flag that was given. */
  message?: string;
  /** The hint; may have several lines. Absent if the engine's own hint is enough. */
  hint?: string;
}

export type Dictionary = { [C in Problem['code']]: (problem: ProblemOf<C>, commands: Commands) => Words };

/** The flag of each rule about columns. */
const RULE_FLAGS: Record<ColumnRule, string> = {
  map: '--map',
  include: '--include',
  exclude: '--exclude',
  types: '--type',
  id: '--id',
  user_id: '--user-id',
  company_id: '--company-id',
  where: '--where',
};

/**
 * The command for the most likely reading of the columns. For several inputs, it uses a mapping file, because
 * the columns of one file may not fit the others.
 */
function readAs({ again, hasRuleFor, wasTyped }: Commands, reading: Reading): Words {
  const { path, paths, kind, column, company, hasRule } = reading;
  // The command already writes a mapping file.
  if (wasTyped('--write-mapping')) return {};
  const without = ['--kind', '--id'];
  const identifiers = company === null ? [column] : [column, company];
  const keys = [ID_FIELD[kind], ID_FIELD.companies];
  // A flag cannot undo a rule of the file, so no command would work. A rule of a flag is left out.
  if (hasRule && wasTyped('--mapping') && !hasRuleFor(identifiers, keys)) {
    return {
      hint: `if the rows are ${kind} by ${column}: say so in the mapping file ("id"), and leave out its rules for identifiers`,
    };
  }
  const isOneCompany = kind === 'users' && hasRuleFor([], [ID_FIELD.companies]);
  const lost = isOneCompany
    ? '\nthis leaves out --set company_id: name the column of companies with --company-id'
    : '';
  if (paths.length <= 1) {
    const named = company === null || wasTyped('--company-id') ? [] : ['--company-id', company];
    const plus = ['--kind', kind, '--id', column, ...named];
    const next = again({ command: 'import', paths: [path], without, identifiers, keys, plus });
    return { hint: toRun(`if the rows are ${kind} by ${column}`, next) + lost };
  }
  const file = 'mapping.json';
  const next = (command: string, without: readonly string[], flag: string): string =>
    again({ command, paths, without, identifiers, keys, plus: [flag, file] });
  const lines = [
    toRun(
      'say what each file contains in a mapping file',
      next('inspect', [...without, '--json'], '--write-mapping'),
    ),
    toRun('check it, then import with it', next('import', [...without, '--mapping'], '--mapping')),
  ];
  return { hint: lines.join('\n') };
}
/** Types that a column can have without a rule. */
const PLAIN = /^(?:integer|number)$/;

const typeFlag = (column: string, type: string): string => `--type ${shellWord(`${column}=${type}`)}`;

/** How a workbook has the cells of a type, which a spreadsheet program shows in other ways. */
const asStored = (type: string): string => {
  if (type === 'boolean') return ' (a workbook has TRUE and FALSE as true and false, however it shows them)';
  return type.startsWith('date')
    ? ' (a workbook has dates as 2024-03-31, however it shows them), and rejects text such as 31.03.2024'
    : '';
};

const nullFlags = (markers: readonly string[]): string[] =>
  markers.map((marker) => `--null ${shellWord(marker)}`);

/** The flags that give a column one of the types that its text would fit. */
export function suggestedLines(column: string, types: readonly string[]): string[] {
  return types.map((type, index) => {
    const flag = typeFlag(column, type.replace(`@${SOME_ZONE}`, '@UTC'));
    const zone = type.endsWith(`@${SOME_ZONE}`) ? ' (with the zone of its times instead of UTC)' : '';
    return `${index > 0 ? 'or ' : ''}${flag}${zone}`;
  });
}

export const INPUT_WORDS = {
  unknown_encoding: ({ label }) => ({ message: `--encoding: "${label}" is not a known encoding` }),
  wrong_encoding: ({ suggestions }) => {
    if (suggestions.length === 0) {
      return { hint: 'name the encoding of the file with --encoding, or export the file as UTF-8' };
    }
    const width = Math.max(...suggestions.map(({ encoding }) => encoding.length));
    const lines = suggestions.map(({ encoding, line }) => `--encoding ${encoding.padEnd(width)}  ${line}`);
    return { hint: ['choose the encoding in which the line reads right:', ...lines].join('\n') };
  },
  bad_dialect: ({ option, value, wrong }) => ({ message: `--${option}: ${JSON.stringify(value)} ${wrong}` }),
  title_above_header: ({ lines }) => ({ hint: `to leave out what is above it, add --skip-lines ${lines}` }),
  duplicate_column: ({ column }) => ({
    hint: `rename or remove one of them, or add --rename-duplicates to call the second one ${shellWord(`${column}_2`)}`,
  }),
  wrong_format: ({ likely }) => ({
    hint:
      likely === null
        ? 'name the format with --format'
        : `if the file is ${likely.toUpperCase()}, add --format ${likely}`,
  }),
  wrong_path: () => ({ hint: 'name the path to the array of items with --json-path' }),
  bad_path: ({ path }) => ({ message: `--json-path: "${path}" must be names separated by dots` }),
  path_of_lines: ({ format }) => ({
    message: `--json-path leads to an array in a JSON file; the format is ${format}`,
    hint: 'leave --json-path out, or set --format json',
  }),
  both_kinds: () => ({ hint: 'import them one after the other: add --kind companies, then --kind users' }),
  item_too_long: () => ({
    hint: 'it does not fit into a request; check the format, or set it with --format',
  }),
  cell_too_long: () => ({ hint: 'shorten it, or raise it with -o max_cell' }),
  quote_not_closed: () => ({
    hint: 'close it, double a quote that belongs to the text (""), or raise -o max_cell for a longer cell',
  }),
  unknown_sheet: ({ path, sheet }) => ({ message: `--sheet: ${path} has no sheet "${sheet}"` }),
  sheet_of_other_format: ({ format }) => ({
    message: `--sheet names a sheet of a workbook; the format is ${format}`,
    hint: 'leave --sheet out',
  }),
  sheet_empty: ({ others: [other] }) => ({
    hint:
      other === undefined
        ? 'check the workbook, and save it again'
        : `read another sheet: --sheet ${shellWord(other)}`,
  }),
  other_sheets: ({ others }) => ({
    hint: `choose one with --sheet, such as --sheet ${shellWord(others[0]!)}`,
  }),
  error_cells: ({ text }) => ({
    hint: `fix the formula, or read it as empty with --null ${shellWord(text)}`,
  }),
  stdin_is_terminal: (_, { command }) => ({
    hint: toRun('pipe a file in', `${command('import', '-')} < companies.csv`),
  }),

  one_rejects_file: () => ({
    message: '--rejects takes one file, but there are several inputs',
    hint: 'leave it out: each input then gets its own rejects file',
  }),
  other_kind_of_file: () => ({}),

  kind_mismatch: ({ path, kind, found }) => ({
    message: `--kind ${kind}: ${path} contains {"${found}": […]}`,
    hint: 'leave --kind out',
  }),
  kind_unknown: (problem, commands) => readAs(commands, problem),
  no_identifier: (problem, commands) => readAs(commands, problem),
  rows_in_array: ({ path, jsonPath, otherwise }, commands) => {
    const next = commands.again({ paths: [path], plus: ['--json-path', jsonPath] });
    const line = toRun(`if the rows are in ${jsonPath}`, next);
    const { hint } = otherwise ? readAs(commands, otherwise) : {};
    return { hint: hint === undefined ? line : `${line}\n${hint}` };
  },
  rows_in_sheet: ({ sheet, otherwise }, commands) => {
    const next = commands.again({ paths: otherwise.paths, plus: ['--sheet', sheet] });
    const line = toRun(`if the rows are in the sheet ${sheet}`, next);
    const { hint } = readAs(commands, otherwise);
    return { hint: hint === undefined ? line : `${hint}\n${line}` };
  },
  kind_ambiguous: ({ path, user, company }, { again }) => {
    const as = (kind: Kind, column: string, without: readonly string[]): string =>
      again({ command: 'import', paths: [path], without, plus: ['--kind', kind, '--id', column] });
    return {
      hint: [
        toRun('if its rows are companies', as('companies', company, ['--id', '--user-id', '--company-id'])),
        toRun('if they are users', as('users', user, ['--id', '--user-id'])),
      ].join('\n'),
    };
  },
  names_alike: ({ field, columns: [column] }, { again }) => {
    const flag = field === 'user_id' ? '--user-id' : '--company-id';
    return { hint: toRun('say which one it is', again({ without: [flag], plus: [flag, column] })) };
  },
  id_for_both: ({ column, kinds }, { again, wasTyped }) => {
    const plus = kinds.flatMap((kind) => [kind === 'users' ? '--user-id' : '--company-id', column]);
    return {
      message: `--id ${column}: the inputs are companies and users, and --id is for inputs of one kind`,
      // The name may come from a mapping file.
      hint: wasTyped('--id')
        ? toRun('name the columns with --user-id and --company-id', again({ without: ['--id'], plus }))
        : 'name the columns with --user-id and --company-id, or in a section for each kind of the mapping file',
    };
  },
  unknown_column: ({ path, rule, column }) => ({
    message: `${RULE_FLAGS[rule]}: ${path} has no column "${column}"`,
  }),
  rule_for_identifier: ({ rule, column }) => ({
    message: `${RULE_FLAGS[rule]} ${column}: ${rule === 'types' ? 'an identifier is always text' : 'it is the identifier'}`,
    hint: `leave ${RULE_FLAGS[rule]} out, or name another --id`,
  }),
  identifier_as_key: ({ key, kind, column }) => {
    const isCompany = kind === 'users' && key === 'company_id';
    const what = isCompany ? "the user's company" : 'the identifier';
    const flag = `${isCompany ? '--company-id' : '--id'} ${column === null ? '<column>' : shellWord(column)}`;
    return {
      message: `${column === null ? '--set' : '--map'}: "${key}" is ${what}, not metadata`,
      hint:
        column === null
          ? `leave it out, and name its column: ${flag}`
          : `leave that out, and name the column instead: ${flag}`,
    };
  },
  same_key: () => ({ hint: 'leave one of them out with --exclude, or give it another key with --map' }),
  constant_of_other_type: ({ key, value, type }) => ({
    message: `--set ${key}: "${value}" is not of type ${type} (--type)`,
    hint: `change the value, or leave out --type ${shellWord(`${key}=${type}`)}`,
  }),

  cells_of_other_type: ({ column, type, isPercent, isWorkbook }) => ({
    hint: isPercent
      ? `they have no "%": ${typeFlag(column, type)} sends the numbers as they are (a workbook has 12.5 % as 0.125)`
      : `${typeFlag(column, type)} ${type === 'string' ? 'keeps them as text' : 'reads them'}${isWorkbook ? asStored(type) : ''}`,
  }),

  backslash_escapes: () => ({ hint: `if backslashes make quotes text in this file, add --escape '\\'` }),
  stray_quotes: () => ({ hint: '--lenient-quotes reads them' }),
  short_rows: () => ({ hint: 'if only their last cells are missing, --short-rows pad reads them as empty' }),
  missing_value: ({ texts, optional }) => {
    const allowed = texts.map((text) => `--allow-id ${shellWord(text)}`).join(' ');
    return {
      hint: optional
        ? `${nullFlags(texts).join(' ')} leaves it out; ${allowed} accepts it as an identifier`
        : `if it is an identifier, ${allowed} accepts it`,
    };
  },
  white_space: () => ({ hint: '--trim removes the white space around them' }),
  inexact_number: () => ({ hint: '--round-numbers rounds them' }),

  nameless_column: () => ({ hint: 'name it in the header to send it' }),
  excel_text: () => ({ hint: '--excel-text reads them as 0012' }),
  space_before_quote: ({ delimiter }) => ({
    hint: `if every cell is written like this, --delimiter ${shellWord(delimiter.replace('\t', '\\t'))} reads them`,
  }),
  quotes_in_text: () => ({ hint: 'if quotes are text in this file, add --quote none' }),
  apostrophes: () => ({ hint: `if they are quotes, add --quote "'"` }),
  odd_identifiers: ({ white, inside }) => {
    if (!white) return { hint: 'remove them where the file comes from' };
    return {
      hint: inside
        ? '--trim removes what is around them; remove what is in them where the file comes from'
        : '--trim removes it',
    };
  },
  zone_missing: ({ column, type }) => ({
    hint: `name the zone of its times, such as ${typeFlag(column, `${type}@Europe/Berlin`)} or ${typeFlag(column, `${type}@UTC`)}`,
  }),
  unknown_zone: ({ column, type, zone }) => ({
    message: `--type ${column}: "${zone}" is not a time zone`,
    hint: `name one such as Europe/Berlin: ${typeFlag(column, type.replace(/@[^@]*$/, '@Europe/Berlin'))}`,
  }),
  no_pattern: ({ column, kind, zone, timed }) => ({
    hint: timed
      ? `it has a time; to leave the times out: ${typeFlag(column, `date:${timed}`)}`
      : `name the pattern of its values, such as ${typeFlag(column, kind === 'date' ? 'date:dd.MM.yyyy' : `datetime:dd.MM.yyyy HH:mm@${zone ?? 'UTC'}`)}`,
  }),
  two_patterns: ({ column, readings }) => ({
    hint: readings.map(({ type, reading }) => `for ${reading}: ${typeFlag(column, type)}`).join('\n'),
  }),
  stray_date: ({ column, type }) => ({
    hint: `reject the rows that do not fit: ${typeFlag(column, type)}`,
  }),

  mixed_currencies: ({ column }) => ({ hint: `${typeFlag(column, 'string')} keeps them with the amounts` }),
  digits_lost: ({ column }) => ({ hint: `${typeFlag(column, 'string')} keeps them` }),
  point_for_thousands: ({ column, type }) => ({
    hint: `${typeFlag(column, type)} reads thousands; ${typeFlag(column, 'number')} keeps them as they are`,
  }),
  null_markers: ({ column, markers, type }) => ({
    hint: [...nullFlags(markers), ...(PLAIN.test(type) ? [] : suggestedLines(column, [type]))].join(' '),
  }),
  looks_typed: ({ path }, { again, wasTyped }) =>
    path === '-' || wasTyped('--dry-run')
      ? {}
      : {
          hint: toRun('to see the flags', again({ command: 'inspect', paths: [path], without: ['--json'] })),
        },
  // A mapping file has said what the identifier is, unless a flag says otherwise.
  identifier_repeats: ({ column }, { wasTyped }) =>
    wasTyped('--mapping') && !['--id', '--user-id', '--company-id'].some(wasTyped)
      ? {}
      : { hint: `is ${column} the identifier?` },
  capital_emails: ({ column }) => ({ hint: `${typeFlag(column, 'lower')} sends them in lower case` }),
  stray_values: ({ column, markers, type, rows }) => ({
    hint: `to convert them and reject ${rows === 1 ? 'that row' : `those ${rows} rows`}: ${[...nullFlags(markers), ...suggestedLines(column, [type])].join(' ')}`,
  }),
  type_changed: ({ column, before }) => ({ hint: `${typeFlag(column, before)} pins it` }),
} satisfies Partial<Dictionary>;
