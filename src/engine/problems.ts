/**
 * What is known of a failure or a warning, for those who want to give advice about it: data, no sentences. A program
 * that wraps the engine names its own options and commands (the command line does so in `cli/messages.ts`).
 */

/** A rule about columns, by its name in a mapping file. */
export type ColumnRule = 'map' | 'include' | 'exclude' | 'types' | 'id' | 'user_id' | 'company_id' | 'where';

/** As in the model, which needs the warnings of this file. */
type RowKind = 'companies' | 'users';

/** The identifiers of the service (spec: Company, User). */
export type IdField = 'company_id' | 'user_id';

/** What an encoding would make of the line that is not valid in the one that was used. */
export interface EncodingSuggestion {
  encoding: string;
  line: string;
}
/** An option that says how a CSV is written, by its name in the library. */
export type DialectOption = 'delimiter' | 'quote' | 'escape' | 'comment';

/** What the rows of an input most likely are; `paths` are all inputs. */
export interface Reading {
  path: string;
  paths: readonly string[];
  kind: RowKind;
  /** Of the identifier. */
  column: string;
  /** Of a user's company, if that has a name of its own. */
  company: string | null;
}

/** The cause of an error, of a warning, or of rejected rows, as data. */
export type Problem =
  // Shards
  /** The state is one that only one machine can reach. */
  | { code: 'shards_need_postgres' }
  /** The plan has more rows to send than its bound on changes allows. */
  | { code: 'shards_of_held' }
  /** The plan has rejected rows, and does not allow any. */
  | { code: 'shards_of_invalid' }
  // How an input is read
  /** No encoding has this label. */
  | { code: 'unknown_encoding'; label: string }
  /** Bytes that are not valid in the encoding; `suggestions` are other encodings, the likeliest first. */
  | { code: 'wrong_encoding'; suggestions: EncodingSuggestion[] }
  /** An option of the CSV dialect; `wrong` is the rest of a sentence that begins with the option and its value. */
  | { code: 'bad_dialect'; option: DialectOption; value: string; wrong: string }
  /** There are lines above the header, such as a title. */
  | { code: 'title_above_header'; lines: number }
  /** Two columns have one name. */
  | { code: 'duplicate_column'; column: string }
  /** The content is not of the format that was named; `likely` is the format that it seems to be. */
  | { code: 'wrong_format'; likely: string | null }
  /** The path to the items leads to none. */
  | { code: 'wrong_path' }
  /** The path to the items cannot be read. */
  | { code: 'bad_path'; path: string }
  /** A path to the items was given for a format that has none. */
  | { code: 'path_of_lines'; format: string }
  /** An object holds both companies and users. */
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
  /** One rejects file was named for several inputs. */
  | { code: 'one_rejects_file' }
  /** A file that cannot be read, such as a database; `name` says what it is. */
  | { code: 'other_kind_of_file'; name: string }
  // What its columns mean
  /** A body of the service holds the other kind. */
  | { code: 'kind_mismatch'; path: string; kind: string; found: string }
  /** Nothing says whether the rows are companies or users; the data is the likeliest reading. */
  | ({ code: 'kind_unknown' } & Reading)
  /** No column is the identifier; the data is the likeliest reading. */
  | ({ code: 'no_identifier' } & Reading)
  /** The rows are probably in an array inside the JSON object; `otherwise` is what they are if not, null if they certainly are. */
  | { code: 'rows_in_array'; path: string; jsonPath: string; otherwise: Reading | null }
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
  /** Two columns map to one key. */
  | { code: 'same_key'; key: string; columns: [string, string] }
  /** A value of `set` is not of the type that its key has. */
  | { code: 'constant_of_other_type'; key: string; value: string; type: string }
  /** No cell of a column is of its type, but all are of another one. */
  /** `isPercent`: they are numbers, and lack the sign of percentages. */
  | { code: 'cells_of_other_type'; column: string; type: string; isPercent?: true }
  /** A row has fewer cells than the header. */
  | { code: 'short_rows' }
  /** Identifiers that stand for a missing value; an optional one may be left out. */
  | { code: 'missing_value'; texts: readonly string[]; optional: boolean }
  /** A double does not hold a number exactly. */
  | { code: 'inexact_number' }
  /** Cells that would be of their type without the white space around them. */
  | { code: 'white_space' }
  /** Times of the column need a zone. */
  | { code: 'zone_missing'; column: string; type: string }
  /** No time zone has this name. */
  | { code: 'unknown_zone'; column: string; type: string; zone: string }
  /** No pattern of dates fits all values of the column. */
  | { code: 'no_pattern'; column: string; kind: 'date' | 'datetime'; zone: string | null }
  /** All dates of the column can be read in two ways. */
  | { code: 'two_patterns'; column: string; readings: { type: string; reading: string }[] }
  /** A value does not fit the pattern that the first rows have. */
  | { code: 'stray_date'; column: string; type: string }
  // Warnings
  /** The workbook has other sheets, which are not read. */
  | { code: 'other_sheets'; others: string[] }
  /** A spreadsheet's error, such as `#N/A`, in a column. */
  | { code: 'error_cells'; column: string; text: string }
  /** A column without a name holds values, and is left out. */
  | { code: 'nameless_column' }
  /** Cells such as `="0012"`. */
  | { code: 'excel_text' }
  /** White space before an opening quote; with `delimiter`, it belongs to what separates the cells. */
  | { code: 'space_before_quote'; delimiter: string }
  /** Quotes inside cells that are not quoted. */
  | { code: 'quotes_in_text' }
  /** Every cell begins and ends with `'`. */
  | { code: 'apostrophes' }
  /** Trailing zeros of a column's numbers are dropped. */
  | { code: 'digits_lost'; column: string }
  /** A column of money has amounts in several currencies. */
  | { code: 'mixed_currencies'; column: string }
  /** Texts that stand for a missing value, without which the column would have another type. */
  | { code: 'null_markers'; column: string; markers: readonly string[]; type: string }
  /** E-mail addresses with capital letters as identifiers. */
  | { code: 'capital_emails'; column: string }
  /** A few cells are not of the type that all others of the column have. */
  | { code: 'stray_values'; column: string; markers: readonly string[]; type: string; rows: number }
  /** A key has another type than in the last import (`before`). */
  | { code: 'type_changed'; column: string; before: string }
  /** Identifiers with white space or invisible characters around them (`white`), and with invisible characters in them (`inside`). */
  | { code: 'odd_identifiers'; column: string; white: boolean; inside: boolean }
  /** `isolate` did not start, since no request completed and three failed alike. */
  | { code: 'isolation_not_started' }
  // Files that the engine writes
  /** The state directory cannot be used. */
  | { code: 'state_folder' }
  /** The database is damaged, or is not one. */
  | { code: 'state_damaged' }
  /** Other users can replace files of the state directory. */
  | { code: 'state_folder_shared'; folder: string }
  /** A newer version wrote the state. */
  | { code: 'state_newer' }
  /** The state has moved: others are recorded there. */
  | { code: 'state_moved'; to: string }
  /** The state is not yet the copy of another one that it is going to be. */
  | { code: 'state_incomplete' }
  /** The database has lost the last commits. */
  | { code: 'state_went_back' }
  /** The lock of the import is gone. */
  | { code: 'lock_lost' }
  /** Another import is running; `run` is null while it is not recorded. */
  | { code: 'import_running'; run: string | null }
  /** The rejects file cannot be written. */
  | { code: 'rejects_file' }
  /** A rejects file whose run is not known, or that may belong to several of its inputs. */
  | { code: 'rejects_of_unknown_run'; path: string }
  /** Values of `set` that a run needs, and that must be given again. */
  | { code: 'constants_missing'; keys: string[] }
  // Runs
  /** The run is not unfinished, or not known. */
  | { code: 'run_not_unfinished' }
  /** The run can be continued. */
  | { code: 'resumable'; run: string }
  /** An input has changed since the run began. */
  | { code: 'input_changed'; kind?: RowKind | undefined; id?: string | undefined; paths: string[] }
  /** Values that a run was given lie on another machine, and must be given again: keys of `set`, columns of `where` with `=` or `!=`. */
  | { code: 'values_missing'; run: string; set: string[]; where: string[] }
  /** Values that were given again are not those that the run began with. */
  | { code: 'values_differ'; run: string; set: string[]; where: string[] }
  /** An input of a run that goes on is not where it was; `path` is as the run names it. */
  | { code: 'run_input'; run: string; path: string }
  /** These jobs are unfinished. */
  | { code: 'jobs_unfinished'; jobs: string[] }
  // Saved plans
  /** A newer version wrote the plan. */
  | { code: 'plan_newer' }
  /** The file is not a saved plan. */
  | { code: 'not_a_plan' }
  /** The plan does not match its digest. */
  | { code: 'plan_edited' }
  /** The plan is for another service or account. */
  | { code: 'plan_elsewhere'; region: string; account: string | null }
  /** An input of a plan has changed or is missing; `path` is as the plan names it. */
  | { code: 'plan_input'; path: string }
  /** Something was sent or completed since the plan was made. */
  | { code: 'plan_outdated' }
  // The service
  /** This cannot be the id of a job. */
  | { code: 'bad_job_id' }
  /** `http://` is not allowed for this host. */
  | { code: 'http_host'; host: string }
  /** No lookup host is set. */
  | { code: 'no_lookup_host' }
  /** 401 or 403. */
  | { code: 'token_refused' }
  /** The answer suggests that the base URL is wrong. */
  | { code: 'wrong_address' }
  /** A job or a lookup list cannot be read. */
  | { code: 'read_refused' }
  /** The service cannot be reached. */
  | { code: 'no_answer' }
  /** The deadline passed. */
  | { code: 'no_answer_in_time'; timeoutMs: number }
  /** Something else answered, such as a page that asks to sign in. */
  | { code: 'not_the_service' }
  /** The service answered 409 for too long. */
  | { code: 'busy_too_long'; timeoutMs: number }
  /** The service asks to wait longer than is allowed. */
  | { code: 'retry_after_too_long'; waitMs: number }
  /** The outcomes file cannot be written, or is one of the import's own. */
  | { code: 'outcomes_file' }
  /** The report cannot have the name of a file that the import itself writes. */
  | { code: 'report_file' }
  /** The canary did not complete. `failed`: its job failed; otherwise it is not known which rows arrived. */
  | { code: 'canary_not_completed'; run: string; failed: boolean; rows: number }
  /** The service refused a request because of its rows. */
  | { code: 'request_refused'; run: string };

/** The data of one kind of problem. */
export type ProblemOf<C extends Problem['code']> = Extract<Problem, { code: C }>;

/** Something odd that does not stop the import. */
export interface Warning {
  message: string;
  problem?: Problem;
}
