/** What helps with problems of inputs, columns, and cells: hints with the flags for them. */

import { ID_FIELD, type Kind, SOME_ZONE } from '../../engine/model.js';
import type { ColumnRule, Reading } from '../../engine/problems.js';
import type { Commands } from './commands.js';
import { type Call, type Dictionary, forOne, type Line, type Words } from './hint.js';
import { shellWord } from './shell.js';

/** The flag of each rule about columns. */
const RULE_FLAGS: Record<ColumnRule, string> = {
  ...{ map: '--map', include: '--include', exclude: '--exclude', types: '--type', where: '--where' },
  ...{ id: '--id', user_id: '--user-id', company_id: '--company-id' },
};
const IDENTIFIERS = ['--id', '--user-id', '--company-id'];

const flags = (name: string, values: readonly string[]): string =>
  values.map((value) => `--${name} ${shellWord(value)}`).join(' ');
const flag = (name: string, value: string): string => flags(name, [value]);
const typeFlag = (column: string, type: string): string => flag('type', `${column}=${type}`);

/**
 * The flags that give a column one of the types that its text would fit.
 * @param nulls texts that must count as empty for that
 */
export const suggestedLines = (
  column: string,
  types: readonly string[],
  nulls: readonly string[] = [],
): string[] =>
  types.map((type, index) => {
    const zone = type.endsWith(`@${SOME_ZONE}`) ? ' (with the zone of its times instead of UTC)' : '';
    const how = [flags('null', nulls), typeFlag(column, type.replace(`@${SOME_ZONE}`, '@UTC'))];
    return `${index > 0 ? 'or ' : ''}${how.filter(Boolean).join(' ')}${zone}`;
  });

/**
 * The command for the most likely reading of the columns. For several inputs, it uses a mapping file, because the
 * columns of one file may not fit the others.
 */
function readAs(
  { path, paths, kind, column, company, hasRule }: Reading,
  { wasTyped, ruled }: Commands,
): Line[] {
  // The command already writes a mapping file.
  if (wasTyped('--write-mapping')) return [];
  const rows = `if the rows are ${kind} by ${column || '""'}`;
  const identifiers = [column, company ?? column, ID_FIELD[kind], ID_FIELD.companies];
  // A flag is left out of the command; a rule of the file cannot be undone, so no command would work.
  if (hasRule) {
    const rules = ruled(identifiers) ? 'its rules and flags' : 'its rules';
    return [`${rows}: say so in the mapping file ("id"), and leave out ${rules} for identifiers`];
  }
  const without = ['--kind', '--id'];
  if (paths.length > 1) {
    const by = (command: string, more: string, flag: string) => {
      return { command, paths, identifiers, without: [...without, more], plus: [flag, 'mapping.json'] };
    };
    return [
      {
        do: 'say what each file contains in a mapping file',
        again: by('inspect', '--json', '--write-mapping'),
      },
      { do: 'check it, then import with it', again: by('import', '--mapping', '--mapping') },
    ];
  }
  const named = company === null || wasTyped('--company-id') ? [] : ['--company-id', company];
  const plus = ['--kind', kind, '--id', column, ...named];
  const lost = 'this leaves out --set company_id: name the column of companies with --company-id';
  return [
    { do: rows, again: { command: 'import', paths: [path], without, identifiers, plus } },
    ...(kind === 'users' && wasTyped('--set', `${ID_FIELD.companies}=`) ? [lost] : []),
  ];
}

/** More would hide what else may help. */
const MOST_SHEETS = 5;

/** A delimiter as a person can type it: `\\x01` for a control character. */
const typable = (delimiter: string): string =>
  delimiter < ' ' ? `\\x${delimiter.charCodeAt(0).toString(16).padStart(2, '0')}` : delimiter;

/** How a workbook has the cells of a type, which a spreadsheet program shows in other ways. */
function asStored(type: string): string {
  if (type === 'boolean') return ' (a workbook has TRUE and FALSE as true and false, however it shows them)';
  return type.startsWith('date')
    ? ' (a workbook has dates as 2024-03-31, however it shows them), and rejects text such as 31.03.2024'
    : '';
}

/** `wrong`: replaces the engine's sentence, if the problem is with a flag that was given. */
const wrong = (message: string, hint?: string | Line): Words => ({ message, ...(hint && { hint }) });

export const INPUT_WORDS = {
  wrong_encoding: ({ path, suggestions }, commands) => {
    if (suggestions.length === 0)
      return 'name the encoding of the file with --encoding, or export the file as UTF-8';
    const readings = suggestions.map(({ encoding, line }) => {
      return { do: `if the line is "${line}"`, again: { plus: ['--encoding', encoding] } };
    });
    // Files of one export have one encoding. If another is UTF-8, the next error says so.
    const isFirst = !commands.wasTyped('--encoding');
    const lines = isFirst ? readings : forOne(path, readings, commands);
    return ['choose the encoding in which the line reads correctly', ...lines];
  },
  bad_dialect: ({ option, value, wrong: why }) => wrong(`--${option}: ${JSON.stringify(value)} ${why}`),
  wrong_format: ({ likely: format }) =>
    format === null
      ? 'name the format with --format'
      : `if the file is ${format.toUpperCase()}, add --format ${format}`,
  sheet_empty: ({ others }) => {
    const by = (sheet: string): Call => ({ again: { plus: ['--sheet', sheet] } });
    const [first, ...more] = others.slice(0, MOST_SHEETS).map(by);
    return first ? { do: 'read another sheet', ...first, or: more } : 'check the workbook, and save it again';
  },
  other_sheets: ({ others }) => `choose one with --sheet, such as ${flag('sheet', others[0]!)}`,

  title_above_header: ({ path, lines }, commands) => {
    const again = { plus: ['--skip-lines', String(lines)] };
    return forOne(path, [{ do: 'to leave out what is above it', again }], commands);
  },
  other_delimiter: ({ path, delimiter }, commands) => {
    const again = { plus: ['--delimiter', typable(delimiter)] };
    return forOne(path, [{ do: `if "${typable(delimiter)}" separates its columns`, again }], commands);
  },
  kind_ambiguous: ({ path, user, company }, commands) => {
    const by = (kind: Kind, id: string, more: readonly string[] = []) => {
      const without = ['--id', '--user-id', ...more];
      return { command: 'import', without, plus: ['--kind', kind, '--id', id] };
    };
    const readings = [
      { do: 'if its rows are companies', again: by('companies', company, ['--company-id']) },
      { do: 'if they are users', again: by('users', user) },
    ];
    return forOne(path, readings, commands);
  },
  kind_unknown: readAs,
  no_identifier: readAs,
  rows_in_array: ({ path, jsonPath, otherwise }, commands) => [
    ...forOne(
      path,
      [{ do: `if the rows are in ${jsonPath}`, again: { plus: ['--json-path', jsonPath] } }],
      commands,
    ),
    ...(otherwise ? readAs(otherwise, commands) : []),
  ],
  rows_in_sheet: ({ path, sheets, otherwise }, commands) => {
    const readings = sheets.slice(0, MOST_SHEETS).map((sheet) => {
      return { do: `if the rows are in the sheet ${sheet}`, again: { plus: ['--sheet', sheet] } };
    });
    return [...forOne(path, readings, commands), ...(otherwise ? readAs(otherwise, commands) : [])];
  },
  names_alike: ({ field, columns: [column, other] }) => {
    const flag = `--${field.replace('_', '-')}`;
    const by = (name: string): Call => ({ again: { without: [flag], plus: [flag, name] } });
    return { do: 'say which one it is', ...by(column), or: [by(other)] };
  },
  zip_members: ({ path, members, more }, { paths }) => {
    const [first = '', ...others] = members;
    const by = (member: string): Call => {
      const named = paths.map((one) => (one === path ? member : one));
      return { again: { paths: named.includes(member) ? named : [member] } };
    };
    const rest = more > 0 ? [`and ${more} more files`] : [];
    return [{ do: 'read one of them', ...by(first), or: others.map(by) }, ...rest];
  },
  id_for_both: ({ column, kinds }, { wasTyped }) => {
    const name = 'name the columns with --user-id and --company-id';
    const plus = kinds.flatMap((kind) => [kind === 'users' ? '--user-id' : '--company-id', column]);
    return wrong(
      `--id ${column}: the inputs are companies and users, and --id is for inputs of one kind`,
      // The name may come from a mapping file.
      wasTyped('--id')
        ? { do: name, again: { without: ['--id'], plus } }
        : `${name}, or in a section for each kind of the mapping file`,
    );
  },
  unknown_column: ({ path, rule, column }, { saying }) =>
    wrong(`${saying(RULE_FLAGS[rule], column)}: ${path} has no column "${column}"`),
  rule_for_identifier: ({ rule, column }, { saying }) => {
    const what = rule === 'types' ? 'an identifier is always text' : 'it is the identifier';
    const said = saying(RULE_FLAGS[rule], column);
    if (said === RULE_FLAGS[rule])
      return wrong(`${said} ${column}: ${what}`, `leave ${said} out, or name another --id`);
    return wrong(`${said}: a rule for ${column}: ${what}`, 'leave the rule out, or name another identifier');
  },
  identifier_as_key: ({ key, kind, column }, { saying }) => {
    const isCompany = kind === 'users' && key === 'company_id';
    const name = isCompany ? 'company-id' : 'id';
    const what = `"${key}" is ${isCompany ? "the user's company" : 'the identifier'}, not metadata`;
    return column === null
      ? wrong(`${saying('--set', key)}: ${what}`, `leave it out, and name its column: --${name} <column>`)
      : wrong(
          `${saying('--map', column)}: ${what}`,
          `leave that out, and name the column instead: ${flag(name, column)}`,
        );
  },

  cells_of_other_type: ({ column, type, isPercent, isWorkbook }) =>
    isPercent
      ? `they have no "%": ${typeFlag(column, type)} sends the numbers as they are (a workbook has 12.5 % as 0.125)`
      : `${typeFlag(column, type)} ${type === 'string' ? 'keeps them as text' : 'reads them'}${isWorkbook ? asStored(type) : ''}`,

  missing_value: ({ texts, optional }) => {
    const allowed = `${flags('allow-id', texts)} accepts it`;
    return optional
      ? `${flags('null', texts)} leaves it out; ${allowed} as an identifier`
      : `if it is an identifier, ${allowed}`;
  },

  space_before_quote: ({ delimiter }) =>
    `if every cell is written like this, ${flag('delimiter', delimiter.replace('\t', '\\t'))} reads them`,
  odd_identifiers: ({ white, inside }) => {
    if (!white) return 'remove them where the file comes from';
    return inside
      ? '--trim removes what is around them; remove what is in them where the file comes from'
      : '--trim removes it';
  },
  no_pattern: ({ column, kind, zone, timed }) => {
    if (timed) return `it has a time; to leave the times out: ${typeFlag(column, `date:${timed}`)}`;
    const type = kind === 'date' ? 'date:dd.MM.yyyy' : `datetime:dd.MM.yyyy HH:mm@${zone ?? 'UTC'}`;
    return `name the pattern of its values, such as ${typeFlag(column, type)}`;
  },
  two_patterns: ({ column, readings }) =>
    readings.map(({ type, reading }) => `for ${reading}: ${typeFlag(column, type)}`),
  null_markers: ({ column, markers, types }) =>
    types.every((type) => type === 'integer' || type === 'number')
      ? flags('null', markers)
      : suggestedLines(column, types, markers),
  looks_typed: ({ path }, { wasTyped }) => {
    if (path === '-' || wasTyped('--dry-run')) return [];
    const without = ['--json', '--ndjson', '--quiet', '--outcomes', '--resume'];
    // An inspect would look at other rows.
    const isOfSome = wasTyped('--where') || wasTyped('--limit');
    const how = isOfSome ? { command: 'import', plus: ['--dry-run'] } : { command: 'inspect' };
    return { do: 'to see the flags', again: { ...how, paths: [path], without } };
  },
  // A mapping file has said what the identifier is, unless a flag says otherwise.
  identifier_repeats: ({ column }, { wasTyped }) =>
    wasTyped('--mapping') && !IDENTIFIERS.some((flag) => wasTyped(flag))
      ? []
      : `is ${column} the identifier?`,
  stray_values: ({ column, markers, type, rows }) => {
    const [how] = suggestedLines(column, [type], markers);
    return `to convert them and reject ${rows === 1 ? 'that row' : `those ${rows} rows`}: ${how}`;
  },
} satisfies Partial<Dictionary>;
