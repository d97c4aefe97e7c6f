/**
 * The causes of errors and warnings as data, without sentences. A program that uses the engine can give
 * advice with its own names of options and commands, as the command line does in `cli/advice/words.ts`.
 */

/** A rule about columns, by its name in a mapping file. */
export type ColumnRule = 'map' | 'include' | 'exclude' | 'types' | 'id' | 'user_id' | 'company_id' | 'where';

/** `Kind` of `model.ts`, which cannot be imported because it imports this file. */
type RowKind = 'companies' | 'users';

/** The identifiers of the service (spec: Company, User). */
export type IdField = 'company_id' | 'user_id';

/** Another encoding, and the invalid line as it reads in that encoding. */
export interface EncodingSuggestion {
  encoding: string;
  line: string;
}
/** An option for the dialect of a CSV, by its name in the library. */
export type DialectOption = 'delimiter' | 'quote' | 'escape' | 'comment';

/** The most likely kind and columns of an input. `paths` are all inputs. */
export interface Reading {
  path: string;
  paths: readonly string[];
  kind: RowKind;
  /** Column of the identifier. */
  column: string;
  /** Of a user's company, if that has a name of its own. */
  company: string | null;
  /** A rule of a mapping file that identifiers cannot have names one of these columns, or their keys. */
  hasRule?: boolean;
}

/** The cause of an error, of a warning, or of rejected rows, as data. */
export type Problem =
  // How an input is read
  /** No encoding has this label. */
  | { code: 'unknown_encoding'; label: string }
  /** Bytes that are not valid in the encoding; `suggestions` are other encodings, the likeliest first. */
  | { code: 'wrong_encoding'; path: string; suggestions: EncodingSuggestion[] }
  /** An option of the CSV dialect; `wrong` is the rest of a sentence that begins with the option and its value. */
  | { code: 'bad_dialect'; option: DialectOption; value: string; wrong: string }
  /** There are lines above the header, such as a title. */
  | { code: 'title_above_header'; path: string; lines: number }
  /** Two columns have the same name. */
  | { code: 'duplicate_column'; column: string }
  /** The content does not have the format that was given; `likely` is the format that it seems to have. */
  | { code: 'wrong_format'; likely: string | null }
  /** There are no items at `jsonPath`. */
  | { code: 'wrong_path' }
  /** `jsonPath` has invalid syntax. */
  | { code: 'bad_path'; path: string }
  /** `jsonPath` was given, and no input is a JSON document. */
  | { code: 'path_of_lines'; format: string }
  /** A JSON object has both companies and users. */
  | { code: 'both_kinds' }
  /** A JSON item is too long. */
  | { code: 'item_too_long'; maxBytes: number }
  /** A cell is too long. */
  | { code: 'cell_too_long'; maxBytes: number }
  /** A quote is never closed. */
  | { code: 'quote_not_closed'; maxBytes: number }
  /** The workbook has no such sheet. */
  | { code: 'unknown_sheet'; path: string; sheet: string }
  /** A sheet was named, and no input is a workbook. */
  | { code: 'sheet_of_other_format'; format: string }
  /** The sheet is empty; `others` are the other sheets. */
  | { code: 'sheet_empty'; others: string[] }
  /** `-` was named, and stdin is a terminal. */
  | { code: 'stdin_is_terminal' }
  /** A mapping file has `<zone>` in place of the time zone of these columns. */
  | { code: 'zone_open'; path: string; columns: string[] }
  /** An input is a file that this program wrote, and that does not contain rows. */
  | { code: 'no_input'; path: string; what: 'plan' | 'mapping' }
  /** One rejects file was named for several inputs. */
  | { code: 'one_rejects_file' }
  /** A kind of file that cannot be read, such as a database; `name` describes it. */
  | { code: 'other_kind_of_file'; name: string }
  /** A zip archive has several files: their names as inputs, but for `more`. */
  | { code: 'zip_members'; path: string; members: string[]; more: number }
  // What its columns mean
  /** A JSON object like a request body has the other kind. */
  | { code: 'kind_mismatch'; path: string; kind: string; found: string }
  /** It is not clear whether the rows are companies or users. The data is the most likely kind. */
  | ({ code: 'kind_unknown' } & Reading)
  /** No column is the identifier. The data is the most likely column. */
  | ({ code: 'no_identifier' } & Reading)
  /**
   * The rows are probably in an array in the JSON object at `jsonPath`. `otherwise`: the kind if not; null if
   * nothing suggests one.
   */
  | { code: 'rows_in_array'; path: string; jsonPath: string; otherwise: Reading | null }
  /** The rows are probably in another sheet of the workbook. `otherwise`: the kind if not; null if nothing suggests one. */
  | { code: 'rows_in_sheet'; path: string; sheets: readonly string[]; otherwise: Reading | null }
  /** The rows may be users or companies; `user` and `company` are the columns of their identifiers. */
  | { code: 'kind_ambiguous'; path: string; user: string; company: string }
  /** The names of two columns differ only in case, spaces, `_`, and `-`. */
  | { code: 'names_alike'; path: string; kind: RowKind; field: IdField; columns: [string, string] }
  /** `id` was given for inputs of both kinds; `kinds` have that column. */
  | { code: 'id_for_both'; column: string; kinds: readonly RowKind[] }
  /** A rule names a column that no input has. */
  | { code: 'unknown_column'; path: string; rule: ColumnRule; column: string }
  /** A rule that identifiers do not have names the identifier. */
  | { code: 'rule_for_identifier'; rule: ColumnRule; column: string }
  /** A column is mapped to an identifier's key, or that key is set for every item (`column` is null). */
  | { code: 'identifier_as_key'; key: IdField; kind: RowKind; column: string | null }
  /** Two columns have the same key. */
  | { code: 'same_key'; key: string; columns: [string, string] }
  /** A value of `set` does not fit the type of its key. */
  | { code: 'constant_of_other_type'; key: string; value: string; type: string }
  /**
   * The rejected cells of a column all fit another type. `isPercent`: they are numbers without a percent
   * sign. `isWorkbook`: they are cells of a workbook. `isWider`: it reads the cells of the first type as before.
   */
  | {
      code: 'cells_of_other_type';
      column: string;
      type: string;
      isPercent?: true;
      isWorkbook?: true;
      isWider?: true;
    }
  /** Text follows the closing quote of a cell. */
  | { code: 'stray_quotes' }
  /** Text follows a quote that is behind a backslash, which may make it text. */
  | { code: 'backslash_escapes' }
  /** A row has fewer cells than the header. */
  | { code: 'short_rows' }
  /** Identifiers that look like a missing value (`texts`). `optional`: the column may be left out. */
  | { code: 'missing_value'; texts: readonly string[]; optional: boolean }
  /** Identifiers have lost the zeros that they had when their rows were rejected. */
  | { code: 'zeros_lost' }
  /** A double cannot represent a number exactly. */
  | { code: 'inexact_number' }
  /** Cells that would fit their type without surrounding white space. */
  | { code: 'white_space' }
  /** The times of a column need a time zone. */
  | { code: 'zone_missing'; column: string; type: string }
  /** No date pattern fits all values of the column. `timed`: the pattern of its first value, which also has a time. */
  | { code: 'no_pattern'; column: string; kind: 'date' | 'datetime'; zone: string | null; timed?: string }
  /** All dates of the column can be read in two ways. */
  | { code: 'two_patterns'; column: string; readings: { type: string; reading: string }[] }
  /** A value does not fit the pattern that the first rows have. */
  | { code: 'stray_date'; column: string; type: string }
  // Warnings
  /** The workbook has other sheets, which are not read. */
  | { code: 'other_sheets'; others: string[] }
  /** A column has errors of a spreadsheet, such as `#N/A`. */
  | { code: 'error_cells'; column: string; text: string }
  /** A column without a name has values, which are not sent. */
  | { code: 'nameless_column' }
  /** Cells such as `="0012"`. */
  | { code: 'excel_text' }
  /** White space before an opening quote. With `delimiter`, it would be part of the delimiter. */
  | { code: 'space_before_quote'; delimiter: string }
  /** Unquoted cells have quotes in them. */
  | { code: 'quotes_in_text' }
  /** Every cell begins and ends with `'`. */
  | { code: 'apostrophes' }
  /** The header of a CSV is one column, which this character may separate into several. */
  | { code: 'other_delimiter'; path: string; delimiter: string }
  /** Numbers of a column lose trailing zeros. */
  | { code: 'digits_lost'; column: string }
  /** The point in the numbers of a column may be for thousands, as in other columns. */
  | { code: 'point_for_thousands'; column: string; type: string }
  /** A column of money has amounts in several currencies. */
  | { code: 'mixed_currencies'; column: string }
  /** Texts that look like missing values. Without them, the column would have one of `types`, under which a cell reads differently. */
  | { code: 'null_markers'; column: string; markers: readonly string[]; types: readonly string[] }
  /** Text columns of this input have cells that would all fit another type. */
  | { code: 'looks_typed'; path: string }
  /** E-mail addresses with capital letters as identifiers. */
  | { code: 'capital_emails'; column: string }
  /** So many rows repeat an identifier that this column may not be it. */
  | { code: 'identifier_repeats'; column: string }
  /** A few cells do not fit the type of all others in the column. */
  | { code: 'stray_values'; column: string; markers: readonly string[]; type: string; rows: number }
  /** A key has another type than in the last import (`before`). */
  | { code: 'type_changed'; column: string; before: string }
  /**
   * Identifiers with white space or invisible characters around them (`white`), or invisible characters in
   * them (`inside`).
   */
  | { code: 'odd_identifiers'; column: string; white: boolean; inside: boolean }
  /** `onFailure: 'isolate'` did not start, because no request completed and three failed alike. */
  | { code: 'isolation_not_started' }
  // Files that the engine writes
  /** The state directory cannot be used; `reason` is null if it is another one, such as a full disk. */
  | { code: 'state_folder'; reason: 'permission' | 'read_only' | null }
  /** The database is damaged, or is not one. */
  | { code: 'state_damaged' }
  /** The state database has 0 bytes, although imports have used it. */
  | { code: 'state_emptied'; file: string }
  /** Other users can enter a folder or open a file of the state; `command`, followed by `path`, makes it private. */
  | { code: 'not_private'; path: string; command: string | null }
  /** Another version wrote the state. */
  | { code: 'state_version' }
  /** The state has moved to another location. */
  | { code: 'state_moved'; to: string }
  /** The state is an incomplete copy of another one. */
  | { code: 'state_incomplete' }
  /** The database has lost the last commits. */
  | { code: 'state_went_back' }
  /** The file of the lock was removed or replaced. */
  | { code: 'lock_lost' }
  /** Another import is running. `run` is null if it is not recorded yet. */
  | { code: 'import_running'; run: string | null }
  /** The rejects file cannot be written. */
  | { code: 'rejects_file' }
  /** A rejects file of an unknown run, or one that may belong to several inputs of its run. */
  | { code: 'rejects_of_unknown_run'; path: string }
  /** A rejects file needs values of `set` that its run had, and that the state does not store. */
  | { code: 'constants_missing'; keys: string[] }
  // Runs
  /** The run does not exist, or cannot be continued as requested. */
  | { code: 'run_not_unfinished' }
  /** There is nothing to continue. `run`: the named one, or a finished one with failed jobs, as `what` says. */
  | {
      code: 'nothing_to_resume';
      run: string | null;
      isUnfinished: boolean;
      hasFailed: boolean;
      what?: string;
    }
  /** Another process has begun to send the saved plan. */
  | { code: 'plan_begun' }
  /** The run can be continued. */
  | { code: 'resumable'; run: string }
  /** An input has changed since the run began. `paths`: of all its inputs; absent if it changed while it was read. */
  | { code: 'input_changed'; path: string; paths?: string[] }
  /**
   * Private values of a run are on another machine, and must be given again: keys of `set`, columns of
   * `where` with `=` or `!=`.
   */
  | { code: 'values_missing'; run: string; set: string[]; where: string[] }
  /** Private values that were given again differ from those that the run began with. */
  | { code: 'values_differ'; run: string; set: string[]; where: string[] }
  /** An input of a run that continues was not found; `path` is that in the run. */
  | { code: 'run_input'; run: string; path: string }
  /** These jobs are unfinished. */
  | { code: 'jobs_unfinished'; jobs: string[] }
  // Saved plans
  /** A newer version wrote the plan. */
  | { code: 'plan_newer' }
  /** The file is not a saved plan. */
  | { code: 'not_a_plan' }
  /** The plan does not match its digest, because it was edited. */
  | { code: 'plan_edited' }
  /** The plan is for another service or account. */
  | { code: 'plan_elsewhere'; region: string; account: string | null }
  /** An input of a plan has changed or is missing; `path` is that in the plan. `paths`: of all inputs, if it has changed. */
  | { code: 'plan_input'; path: string; paths?: string[] }
  /** Something was sent or completed since the plan was made, or the state is another one. */
  | { code: 'plan_outdated' }
  // The service
  /** The text is not a job id. */
  | { code: 'bad_job_id' }
  /** `http://` is not allowed for this host. */
  | { code: 'http_host'; host: string }
  /** No lookup host is set. */
  | { code: 'no_lookup_host' }
  /** The service refused the token (401). */
  | { code: 'token_refused' }
  /** The status of the answer means that the base URL is wrong. */
  | { code: 'wrong_address' }
  /** A job or a lookup list cannot be read. */
  | { code: 'read_refused' }
  /** The service cannot be reached. */
  | { code: 'no_answer' }
  /** The deadline passed. */
  | { code: 'no_answer_in_time'; timeoutMs: number }
  /** Something other than the service answered, such as a captive portal. */
  | { code: 'not_the_service' }
  /** The service answered 409 for too long. */
  | { code: 'busy_too_long'; timeoutMs: number }
  /** The service asks to wait longer than is allowed. */
  | { code: 'retry_after_too_long'; waitMs: number }
  /** The outcomes file cannot be written, or would replace another file of the import. */
  | { code: 'outcomes_file' }
  /** The report cannot be written where the import may write rejected rows. */
  | { code: 'report_file' }
  /** The canary did not complete. `failed`: its job failed; otherwise it is not known which rows arrived. */
  | { code: 'canary_not_completed'; run: string; failed: boolean; rows: number }
  /** The service refused a request because of its rows. */
  | { code: 'request_refused'; run: string };

/** The data of one kind of problem. */
export type ProblemOf<C extends Problem['code']> = Extract<Problem, { code: C }>;

/** A problem that does not stop the import. */
export interface Warning {
  message: string;
  problem?: Problem;
  /** It is about a layout that was sent before, and was said then. */
  isKnown?: true;
}
