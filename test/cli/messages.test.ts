/** What a person reads about each problem: one row for each code, so a new code needs a sentence here too. */
import { expect, test } from 'vitest';
import { type Commands, commandsOf } from '../../src/cli/advice/commands.js';
import { errorWords, warningText, wordsOf } from '../../src/cli/advice/words.js';
import { factsOf, inWords } from '../../src/cli/facts/index.js';
import { InputError, StateError, UsageError } from '../../src/engine/errors.js';
import type { ImportEvent } from '../../src/engine/events.js';
import type { Problem, ProblemOf } from '../../src/engine/problems.js';
import { aSummary } from '../support/runs.js';

const commands = commandsOf({ argv: [], world: { env: {}, platform: 'linux', cwd: '/' } });

const CASES: {
  [C in Problem['code']]: [data: Omit<ProblemOf<C>, 'code'>, hint: string | undefined, message?: string];
} = {
  unknown_encoding: [{ label: 'cp99' }, undefined, '--encoding: "cp99" is not a known encoding'],
  wrong_encoding: [
    {
      suggestions: [
        { encoding: 'windows-1252', line: 'c1,Café' },
        { encoding: 'iso-8859-2', line: 'c1,Cafĕ' },
      ],
    },
    'choose the encoding in which the line reads right:\n--encoding windows-1252  c1,Café\n--encoding iso-8859-2    c1,Cafĕ',
  ],
  bad_dialect: [
    { option: 'quote', value: 'ab', wrong: 'is not one character' },
    undefined,
    '--quote: "ab" is not one character',
  ],
  title_above_header: [{ lines: 3 }, 'to leave out what is above it, add --skip-lines 3'],
  duplicate_column: [
    { column: 'First name' },
    "rename or remove one of them, or add --rename-duplicates to call the second one 'First name_2'",
  ],
  wrong_format: [{ likely: 'csv' }, 'if the file is CSV, add --format csv'],
  wrong_path: [{}, 'name the path to the array of items with --json-path'],
  bad_path: [{ path: 'a..b' }, undefined, '--json-path: "a..b" must be names separated by dots'],
  path_of_lines: [
    { format: 'ndjson' },
    'leave --json-path out, or set --format json',
    '--json-path leads to an array in a JSON file; the format is ndjson',
  ],
  both_kinds: [{}, 'import them one after the other: add --kind companies, then --kind users'],
  item_too_long: [
    { maxBytes: 9 },
    'it does not fit into a request; check the format, or set it with --format',
  ],
  cell_too_long: [{ maxBytes: 9 }, 'shorten it, or raise it with -o max_cell'],
  too_many_columns: [
    { columns: 20_000 },
    'leave some out of the export; for a CSV, check that its delimiter is the right one; to read them all:\n  profiles import -o max_columns=20000',
  ],
  over_limit: [{ option: 'maxDepth', needed: 65 }, '-o max_depth=65 reads them'],
  quote_not_closed: [
    { maxBytes: 9 },
    'close it, double a quote that belongs to the text (""), or raise -o max_cell for a longer cell',
  ],
  unknown_sheet: [{ path: 'a.xlsx', sheet: 'X' }, undefined, '--sheet: a.xlsx has no sheet "X"'],
  sheet_of_other_format: [
    { format: 'csv' },
    'leave --sheet out',
    '--sheet names a sheet of a workbook; the format is csv',
  ],
  sheet_empty: [{ others: ['May 2026'] }, "read another sheet: --sheet 'May 2026'"],
  other_sheets: [{ others: ['May 2026'] }, "choose one with --sheet, such as --sheet 'May 2026'"],
  error_cells: [{ column: 'n', text: '#N/A' }, "fix the formula, or read it as empty with --null '#N/A'"],
  stdin_is_terminal: [{}, 'pipe a file in:\n  profiles import - < companies.csv'],
  one_rejects_file: [
    {},
    'leave it out: each input then gets its own rejects file',
    '--rejects takes one file, but there are several inputs',
  ],
  other_kind_of_file: [{ name: 'an SQLite database' }, undefined],
  zone_open: [
    { path: 'm.json', columns: ['Since'] },
    'write it there, or name it with --zone, such as:\n  profiles import --zone Europe/Berlin',
  ],
  no_input: [{ path: 'plan.json', what: 'plan' }, 'to send it:\n  profiles apply plan.json'],
  kind_mismatch: [
    { path: 'b.json', kind: 'users', found: 'companies' },
    'leave --kind out',
    '--kind users: b.json contains {"companies": […]}',
  ],
  rows_in_array: [
    {
      path: 'a.json',
      jsonPath: 'data.list',
      otherwise: { path: 'a.json', paths: ['a.json'], kind: 'companies', column: 'Firm', company: null },
    },
    'if the rows are in data.list:\n  profiles import a.json --json-path data.list\nif the rows are companies by Firm:\n  profiles import a.json --kind companies --id Firm',
  ],
  rows_in_sheet: [
    {
      path: 'a.xlsx',
      sheet: 'All firms',
      otherwise: { path: 'a.xlsx', paths: ['a.xlsx'], kind: 'companies', column: 'Firm', company: null },
    },
    "if the rows are companies by Firm:\n  profiles import a.xlsx --kind companies --id Firm\nif the rows are in the sheet All firms:\n  profiles import a.xlsx --sheet 'All firms'",
  ],
  kind_unknown: [
    { path: 'a.csv', paths: ['a.csv'], kind: 'companies', column: 'Company Number', company: null },
    "if the rows are companies by Company Number:\n  profiles import a.csv --kind companies --id 'Company Number'",
  ],
  no_identifier: [
    { path: 'a.csv', paths: ['a.csv', 'b c.csv'], kind: 'companies', column: 'Symbol', company: null },
    "say what each file contains in a mapping file:\n  profiles inspect a.csv 'b c.csv' --write-mapping mapping.json\ncheck it, then import with it:\n  profiles import a.csv 'b c.csv' --mapping mapping.json",
  ],
  kind_ambiguous: [
    { path: 'a.csv', user: 'owner id', company: 'company_id' },
    "if its rows are companies:\n  profiles import a.csv --kind companies --id company_id\nif they are users:\n  profiles import a.csv --kind users --id 'owner id'",
  ],
  names_alike: [
    { path: 'a.csv', kind: 'users', field: 'company_id', columns: ['Company ID', 'companyId'] },
    "say which one it is:\n  profiles import --company-id 'Company ID'",
  ],
  id_for_both: [
    { column: 'Email', kinds: ['users'] },
    'name the columns with --user-id and --company-id, or in a section for each kind of the mapping file',
    '--id Email: the inputs are companies and users, and --id is for inputs of one kind',
  ],
  odd_identifiers: [{ column: 'company_id', white: true, inside: false }, '--trim removes it'],
  unknown_column: [
    { path: 'a.csv', rule: 'types', column: 'sets' },
    undefined,
    '--type: a.csv has no column "sets"',
  ],
  rule_for_identifier: [
    { rule: 'exclude', column: 'company_id' },
    'leave --exclude out, or name another --id',
    '--exclude company_id: it is the identifier',
  ],
  identifier_as_key: [
    { key: 'company_id', kind: 'companies', column: 'Account' },
    'leave that out, and name the column instead: --id Account',
    '--map: "company_id" is the identifier, not metadata',
  ],
  same_key: [
    { key: 'name', columns: ['name', 'city'] },
    'leave one of them out with --exclude, or give it another key with --map',
  ],
  constant_of_other_type: [
    { key: 'n', value: 'x', type: 'integer' },
    'change the value, or leave out --type n=integer',
    '--set n: "x" is not of type integer (--type)',
  ],
  cells_of_other_type: [
    { column: 'Annual Revenue', type: 'number' },
    "--type 'Annual Revenue=number' reads them",
  ],
  nameless_column: [{}, 'name it in the header to send it'],
  excel_text: [{}, '--excel-text reads them as 0012'],
  space_before_quote: [
    { delimiter: ', ' },
    "if every cell is written like this, --delimiter ', ' reads them",
  ],
  quotes_in_text: [{}, 'if quotes are text in this file, add --quote none'],
  apostrophes: [{}, `if they are quotes, add --quote "'"`],
  zone_missing: [
    { column: 'Create Date', type: 'datetime:M/d/yyyy H:mm' },
    "name the zone of its times, such as --type 'Create Date=datetime:M/d/yyyy H:mm@Europe/Berlin' or --type 'Create Date=datetime:M/d/yyyy H:mm@UTC'",
  ],
  unknown_zone: [
    { column: 'at', type: 'datetime@Berlin', zone: 'Berlin' },
    'name one such as Europe/Berlin: --type at=datetime@Europe/Berlin',
    '--type at: "Berlin" is not a time zone',
  ],
  no_pattern: [
    { column: 'at', kind: 'date', zone: null },
    'name the pattern of its values, such as --type at=date:dd.MM.yyyy',
  ],
  two_patterns: [
    {
      column: 'at',
      readings: [
        { type: 'date:M/d/yyyy', reading: '2024-03-04' },
        { type: 'date:d/M/yyyy', reading: '2024-04-03' },
      ],
    },
    'for 2024-03-04: --type at=date:M/d/yyyy\nfor 2024-04-03: --type at=date:d/M/yyyy',
  ],
  stray_date: [
    { column: 'at', type: 'date:M/d/yyyy' },
    'reject the rows that do not fit: --type at=date:M/d/yyyy',
  ],
  null_markers: [
    { column: 'Score', markers: ['-', 'n/a'], type: 'money' },
    '--null - --null n/a --type Score=money',
  ],
  backslash_escapes: [{}, "if backslashes make quotes text in this file, add --escape '\\'"],
  short_rows: [{}, 'if only their last cells are missing, --short-rows pad reads them as empty'],
  missing_value: [
    { texts: ['NULL', '\\N'], optional: true },
    "--null NULL --null '\\N' leaves it out; --allow-id NULL --allow-id '\\N' accepts it as an identifier",
  ],
  white_space: [{}, '--trim removes the white space around them'],
  inexact_number: [{}, '--round-numbers rounds them'],
  identifier_repeats: [{ column: 'customer' }, 'is customer the identifier?'],
  capital_emails: [{ column: 'E-mail' }, '--type E-mail=lower sends them in lower case'],
  stray_values: [
    { column: 'Created', markers: ['n/a'], type: 'datetime:M/d/yyyy H:mm@<zone>', rows: 2 },
    "to convert them and reject those 2 rows: --null n/a --type 'Created=datetime:M/d/yyyy H:mm@UTC' (with the zone of its times instead of UTC)",
  ],
  mixed_currencies: [{ column: 'Amount' }, '--type Amount=string keeps them with the amounts'],
  point_for_thousands: [
    { column: 'Staff', type: 'number:1.234,56' },
    '--type Staff=number:1.234,56 reads thousands; --type Staff=number keeps them as they are',
  ],
  digits_lost: [{ column: 'Unit Price' }, "--type 'Unit Price=string' keeps them"],
  stray_quotes: [{}, '--lenient-quotes reads them'],
  looks_typed: [{ path: 'a b.csv' }, "to see the flags:\n  profiles inspect 'a b.csv'"],
  type_changed: [{ column: 'zip', before: 'string' }, '--type zip=string pins it'],
  isolation_not_started: [
    {},
    'check the mapping; if single rows are at fault after all, import the file again with a smaller --chunk-size',
  ],
  state_folder: [
    { reason: null },
    'free some disk space and check the folder’s permissions, or choose another folder with --state',
  ],
  state_damaged: [
    {},
    'restore a copy of it, or choose another folder or database with --state: there, every row is new, and nothing can be resumed',
  ],
  state_emptied: [
    { file: 'my state/state.db' },
    "restore a copy of it, or begin again, where every row is new and nothing can be resumed: rm 'my state/state.db'",
  ],
  not_private: [{ path: '/var/my state', command: 'chmod go-rwx' }, "chmod go-rwx '/var/my state'"],
  state_version: [
    {},
    'use the version of profiles that wrote it, or choose another folder or database with --state',
  ],
  state_moved: [
    { to: 'postgres://ci@db/profiles?schema=profiles' },
    "import with --state 'postgres://ci@db/profiles?schema=profiles', or set it for good:\n  profiles config set state 'postgres://ci@db/profiles?schema=profiles'",
  ],
  state_went_back: [
    {},
    'the summary names what was sent; what the database has no record of is sent again when you continue',
  ],
  state_incomplete: [{}, 'finish the copy: run the same profiles state migrate command again'],
  lock_lost: [
    {},
    'another import may have started in the meantime; look, then resume this one:\n  profiles runs',
  ],
  import_running: [{ run: 'run-1' }, 'wait for it to end; to see its progress:\n  profiles runs run-1'],
  rejects_of_unknown_run: [
    { path: 'a b.rejects.csv' },
    "put 'a b.rejects.csv.json' beside it, use the state that its run used, or say what the columns are: --mapping <file>, --type '*=string' (all columns are text), or --type '*=auto'",
  ],
  constants_missing: [
    { keys: ['tier', 'a b'] },
    "repeat --set tier=… --set 'a b='…, or leave a key out with --exclude",
  ],
  rejects_file: [{}, 'choose a writable file with --rejects <path>'],
  run_not_unfinished: [{}, 'to list all imports:\n  profiles runs'],
  plan_begun: [{}, 'to continue it, or to see that it has finished:\n  profiles import'],
  resumable: [{ run: 'run-1' }, 'continue with:\n  profiles resume run-1'],
  input_changed: [
    { paths: ['my file.csv'] },
    "restore the old content, or import the file again:\n  profiles import 'my file.csv'",
  ],
  plan_newer: [{}, 'upgrade profiles, or make the plan with this version'],
  not_a_plan: [{}, 'to save one:\n  profiles import companies.csv --save-plan plan.json'],
  plan_edited: [{}, 'get the file as it was saved, or make a new plan'],
  plan_elsewhere: [
    { region: 'eu', account: 'my account' },
    "apply it there:\n  profiles import --region eu --account 'my account'",
  ],
  plan_input: [
    { path: 'my file.csv' },
    'if the file has moved: add --input <new path of my file.csv>\nif it has changed: make a new plan',
  ],
  plan_outdated: [{}, undefined],
  values_missing: [
    { run: 'run-1', set: ['tier', 'my key'], where: ['plan!='] },
    "add them: --set tier=… --set 'my key='… --where 'plan!='…",
  ],
  values_differ: [
    { run: 'run-1', set: ['tier'], where: [] },
    'repeat the values that the run began with: --set tier=…',
  ],
  run_input: [
    { run: 'run-1', path: 'my file.csv' },
    'name a file with the same content: add --input <new path of my file.csv>',
  ],
  jobs_unfinished: [{ jobs: ['a', 'b c'] }, "to follow them:\n  profiles job a 'b c' --watch"],
  bad_job_id: [{}, 'to list the known jobs:\n  profiles jobs'],
  http_host: [
    { host: 'h.example' },
    'use https://, or set PROFILES_ALLOW_HTTP=h.example if you trust that host and the network to it',
  ],
  no_lookup_host: [{}, 'set lookup_base_url for this region, or add --lookup-base-url'],
  token_refused: [
    {},
    'check the API key (PROFILES_TOKEN, PROFILES_TOKEN_FILE, or in the config file) and that it belongs to this region; to set another one:\n  profiles config set token',
  ],
  wrong_address: [
    {},
    'check the host and the path of the base URL\nto see each setting and where it comes from:\n  profiles config list',
  ],
  read_refused: [
    {},
    'check the base URL and, for a job, its id\nto see the settings:\n  profiles config list\nto list the known jobs:\n  profiles jobs',
  ],
  no_answer: [
    {},
    'check the network, the base URL and the proxy settings\nto check the rest:\n  profiles doctor',
  ],
  no_answer_in_time: [
    { timeoutMs: 120_000 },
    'check the network and the proxy settings, or allow more than 2m 00s with -o request_timeout',
  ],
  not_the_service: [
    {},
    'sign in to the network if it asks you to, and check the proxy settings and the base URL\nto check the rest:\n  profiles doctor',
  ],
  busy_too_long: [{ timeoutMs: 60_000 }, 'resume later'],
  retry_after_too_long: [{ waitMs: 601_000 }, 'resume after that time'],
  outcomes_file: [{}, 'choose another file with --outcomes <file>'],
  report_file: [{}, 'choose another file with --report <file>'],
  canary_not_completed: [
    { run: 'r-1', failed: true, rows: 3 },
    'rows or mapping at fault: fix them and import again\nservice fixed: send the same rows again as the new canary:\n  profiles resume r-1',
  ],
  request_refused: [
    { run: 'r-1' },
    'if single rows are at fault, find them:\n  profiles resume r-1 --on-failure isolate\nif the service is fixed, send the same rows again:\n  profiles resume r-1',
  ],
};

test.each(Object.entries(CASES))('%s', (code, [data, hint, message]) => {
  expect(wordsOf({ code, ...data } as Problem)).toEqual({
    ...(hint !== undefined && { hint }),
    ...(message !== undefined && { message }),
  });
});

test.each([
  ['import a.csv --set t=x --full', 'profiles import a.csv --set t=x --resume --on-failure continue'],
  ['import a.csv --resume', 'profiles import a.csv --resume --on-failure continue'],
  ['apply plan.json', 'profiles apply plan.json --on-failure continue'],
  // `resume` does not take the flag, and stdin cannot be read again.
  ['resume r-1', undefined],
  ['import -', undefined],
])('a request that was refused by `%s` is skipped with a command that continues the run', (line, skip) => {
  const typed = commandsOf({ argv: line.split(' '), world: { env: {}, platform: 'linux', cwd: '/' } });
  const lines = wordsOf({ code: 'request_refused', run: 'r-1' }, typed).hint!.split('\n');
  expect(lines.slice(4)).toEqual(skip === undefined ? [] : ['to skip the whole request:', `  ${skip}`]);
});

test.each([
  ['permission', 'check the folder’s owner and permissions, or choose another folder with --state'],
  ['read_only', 'make the folder and its file system writable, or choose another folder with --state'],
] as const)('a state folder that cannot be written (%s) needs no disk space', (reason, hint) => {
  const error = new StateError('…', { problem: { code: 'state_folder', reason } });
  expect(errorWords(error).hint).toBe(hint);
});

test('percentages without their sign are explained', () => {
  const words = wordsOf({ code: 'cells_of_other_type', column: 'rate', type: 'number', isPercent: true });
  expect(words.hint).toBe(
    'they have no "%": --type rate=number sends the numbers as they are (a workbook has 12.5 % as 0.125)',
  );
});

const typedAs = (line: string): Commands =>
  commandsOf({ argv: line.split(' '), world: { env: {}, platform: 'linux', cwd: '/' } });

test.each([
  [
    'import a.csv --full',
    'resume after that time, or allow it:\n  profiles import a.csv --resume -o max_retry_after=11m',
  ],
  [
    'import a.csv -o max_retry_after=1m',
    'resume after that time, or allow it:\n  profiles import a.csv --resume -o max_retry_after=11m',
  ],
  [
    'apply plan.json',
    'resume after that time, or allow it:\n  profiles apply plan.json -o max_retry_after=11m',
  ],
  // These do not take the flag, and stdin cannot be read again.
  ['resume r-1', 'resume after that time'],
  ['import -', 'resume after that time'],
  ['identify user u-1', 'try again after that time'],
])('a service that asks `%s` to wait: the command that waits is one that takes the flag', (line, hint) => {
  expect(wordsOf({ code: 'retry_after_too_long', waitMs: 601_000 }, typedAs(line)).hint).toBe(hint);
});

test.each([
  ['import a.csv', 'resume later, or allow it:\n  profiles import a.csv --resume -o busy_timeout=2h'],
  ['identify user u-1', 'try again later'],
])('a service that is busy for too long: what `%s` can do', (line, hint) => {
  expect(wordsOf({ code: 'busy_too_long', timeoutMs: 60_000 }, typedAs(line)).hint).toBe(hint);
});

test('the command for a file can be pasted with any file name and settings', () => {
  const changed: Problem = { code: 'input_changed', paths: ['-a.csv'], kind: 'users', id: 'Mail' };
  expect(wordsOf(changed, typedAs('resume r-1 --region eu')).hint).toContain(
    'import the file again:\n  profiles import --kind users --id Mail --region eu -- -a.csv\n',
  );
});

test.each([
  ['resume', 'wait for it to end (--wait-for-lock 10m does); to see its progress:\n  profiles runs'],
  ['state migrate --to x', 'wait for it to end; to see its progress:\n  profiles runs'],
])('a lock that `%s` finds taken: the flag is named where the command takes it', (line, hint) => {
  expect(wordsOf({ code: 'import_running', run: null }, typedAs(line)).hint).toBe(hint);
});

test.each(['doctor', 'config init'])('`%s` tries the settings itself, and does not advise doctor', (line) => {
  expect(wordsOf({ code: 'no_answer' }, typedAs(line)).hint).toBe(
    'check the network, the base URL and the proxy settings',
  );
});

test('if nothing is recognized, the hint asks for encoding and format', () => {
  expect(wordsOf({ code: 'wrong_encoding', suggestions: [] }).hint).toContain('with --encoding');
  expect(wordsOf({ code: 'wrong_format', likely: null }).hint).toBe('name the format with --format');
  expect(wordsOf({ code: 'rule_for_identifier', rule: 'types', column: 'id' }).message).toBe(
    '--type id: an identifier is always text',
  );
});

test('an error without texts here keeps its own', () => {
  const plain = new InputError('is empty', { file: 'a.csv', hint: 'export it again' });
  expect(errorWords(plain)).toEqual({ message: 'a.csv: is empty', hint: 'export it again' });
  const unknown = new UsageError('encoding: "cp99" is not a known encoding', {
    hint: 'such as utf-8',
    problem: { code: 'unknown_encoding', label: 'cp99' },
  });
  expect(errorWords(unknown)).toEqual({
    message: '--encoding: "cp99" is not a known encoding',
    hint: 'such as utf-8',
  });
});

test('a warning is one line, with its hint if it has one', () => {
  expect(warningText({ message: 'no rows' })).toBe('no rows');
  expect(warningText({ message: 'n: 1.90', problem: { code: 'digits_lost', column: 'n' } })).toBe(
    'n: 1.90; --type n=string keeps them',
  );
});

test.each([
  [true, false, '--trim removes it'],
  [true, true, '--trim removes what is around them; remove what is in them where the file comes from'],
  [false, true, 'remove them where the file comes from'],
])(
  'identifiers with something around them (%s) or in them (%s): the flag that helps',
  (white, inside, hint) => {
    expect(wordsOf({ code: 'odd_identifiers', column: 'id', white, inside })).toEqual({ hint });
  },
);

test('what to continue with is a command line, also for a run that kept one of its own', () => {
  const resume = (run: string | null): string | null =>
    factsOf(aSummary({ resume: run }), { commands, failed: [] }).resume;
  expect(resume('run-1')).toBe('profiles resume run-1');
  expect(resume(null)).toBeNull();
});

test('events have the texts, and the summary those of all warnings; nothing else changes', () => {
  const say = inWords(commands);
  const warning: ImportEvent = {
    type: 'warning',
    message: '"zip" is integer now',
    problem: { code: 'type_changed', column: 'zip', before: 'string' },
  };
  const words = '"zip" is integer now; --type zip=string pins it';
  expect(say(warning)).toEqual({ type: 'warning', message: words });
  const notice: ImportEvent = { type: 'notice', message: 'resuming run run-1' };
  expect(say(notice)).toBe(notice);
  const { next: _, ...summary } = aSummary({
    status: 'stopped',
    resume: 'run-1',
    warnings: [warning.message],
  });
  expect(say({ type: 'summary', summary })).toMatchObject({
    type: 'summary',
    facts: {
      summary: { ...summary, warnings: [words] },
      next: [{ what: 'continue with', command: 'profiles resume run-1', shared: 'profiles resume run-1' }],
      resume: 'profiles resume run-1',
    },
  });
});
