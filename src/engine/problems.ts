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
interface Reading {
  path: string;
  paths: readonly string[];
  kind: RowKind;
  /** Of the identifier. */
  column: string;
  /** Of a user's company, if that has a name of its own. */
  company: string | null;
}

export type Problem =
  // How an input is read
  | { code: 'unknown_encoding'; label: string }
  /** Bytes that are not text of the encoding. Others may read them: the likeliest first. */
  | { code: 'wrong_encoding'; suggestions: EncodingSuggestion[] }
  /** `wrong` is the rest of a sentence that begins with the option and its value. */
  | { code: 'bad_dialect'; option: DialectOption; value: string; wrong: string }
  /** The header is so many lines further down. */
  | { code: 'title_above_header'; lines: number }
  | { code: 'duplicate_column'; column: string }
  | { code: 'wrong_format'; likely: string | null }
  /** What was named as the path to the items leads to none. */
  | { code: 'wrong_path' }
  | { code: 'bad_path'; path: string }
  /** A path is of no use where there is one item a line, or cells. */
  | { code: 'path_of_lines'; format: string }
  /** A body holds companies and users. */
  | { code: 'both_kinds' }
  | { code: 'item_too_long'; maxBytes: number }
  | { code: 'cell_too_long'; maxBytes: number }
  | { code: 'quote_not_closed'; maxBytes: number }
  | { code: 'unknown_sheet'; path: string; sheet: string }
  | { code: 'sheet_empty'; others: string[] }
  | { code: 'stdin_is_terminal' }
  | { code: 'one_rejects_file' }
  /** A file whose format is none that is read, such as a database. `name` says what it is. */
  | { code: 'other_kind_of_file'; name: string }
  // What its columns mean
  | { code: 'kind_mismatch'; path: string; kind: string; found: string }
  | ({ code: 'kind_unknown' } & Reading)
  | ({ code: 'no_identifier' } & Reading)
  /** Users or companies: `user` and `company` are the columns of either's identifier. */
  | { code: 'kind_ambiguous'; path: string; user: string; company: string }
  /** The names of two columns differ only in case, spaces, `_` and `-`. */
  | { code: 'names_alike'; path: string; kind: RowKind; field: IdField; columns: [string, string] }
  /** One name for the identifiers of companies and users: which of them have that column. */
  | { code: 'id_for_both'; column: string; kinds: readonly RowKind[] }
  | { code: 'unknown_column'; path: string; rule: ColumnRule; column: string }
  | { code: 'rule_for_identifier'; rule: ColumnRule; column: string }
  | { code: 'identifier_as_key'; key: string }
  | { code: 'same_key'; key: string; columns: [string, string] }
  | { code: 'constant_of_other_type'; key: string; value: string; type: string }
  /** Cells of a column are not of its type, but all of them are of another. */
  | { code: 'cells_of_other_type'; column: string; type: string }
  | { code: 'short_rows' }
  /** Identifiers that mean no value; an optional one may be left out. */
  | { code: 'missing_value'; texts: readonly string[]; optional: boolean }
  | { code: 'inexact_number' }
  /** Cells that would be of their type without the white space around them. */
  | { code: 'white_space' }
  /** `type` has no zone yet. */
  | { code: 'zone_missing'; column: string; type: string }
  | { code: 'unknown_zone'; column: string; type: string; zone: string }
  | { code: 'no_pattern'; column: string; kind: 'date' | 'datetime'; zone: string | null }
  /** A date may be read in two ways. */
  | { code: 'two_patterns'; column: string; readings: { type: string; reading: string }[] }
  | { code: 'stray_date'; column: string; type: string }
  // Warnings
  | { code: 'other_sheets'; others: string[] }
  /** A spreadsheet's error, such as `#N/A`, in a column. */
  | { code: 'error_cells'; column: string; text: string }
  | { code: 'nameless_column' }
  | { code: 'excel_text' }
  /** With `delimiter` the white space belongs to what separates the cells. */
  | { code: 'space_before_quote'; delimiter: string }
  | { code: 'quotes_in_text' }
  | { code: 'apostrophes' }
  | { code: 'digits_lost'; column: string }
  /** Texts that mean no value, and keep a column from being of a type that its others have. */
  | { code: 'null_markers'; column: string; markers: readonly string[]; type: string }
  /** The same address in other letters would be another identifier. */
  | { code: 'capital_emails'; column: string }
  /** A few cells are not of the type that all others of their column have. */
  | { code: 'stray_values'; column: string; markers: readonly string[]; type: string; rows: number }
  /** `column` is where the values come from; `before` is the type of the last import. */
  | { code: 'type_changed'; column: string; before: string }
  /** Identifiers with white space around them, or with invisible characters. */
  | { code: 'odd_identifiers'; column: string; white: boolean }
  | { code: 'isolation_not_started' }
  // Files that the engine writes
  | { code: 'state_folder' }
  | { code: 'state_folder_shared'; folder: string }
  | { code: 'state_newer' }
  | { code: 'lock_lost' }
  /** `run` is null while it is not recorded. */
  | { code: 'import_running'; run: string | null }
  | { code: 'rejects_file' }
  /** A rejects file whose run is not known, or that may come from several of its inputs. */
  | { code: 'rejects_of_unknown_run'; path: string }
  /** Keys that a rejects file's run set for every item. */
  | { code: 'constants_missing'; keys: string[] }
  // Runs
  | { code: 'run_not_unfinished' }
  /** A run that can be continued, with its own settings. */
  | { code: 'resumable'; run: string }
  | { code: 'input_changed'; kind?: RowKind | undefined; id?: string | undefined; paths: string[] }
  | { code: 'jobs_unfinished'; jobs: string[] }
  // Saved plans
  | { code: 'plan_newer' }
  | { code: 'not_a_plan' }
  | { code: 'plan_edited' }
  /** Another service or account than the plan was made for. */
  | { code: 'plan_elsewhere'; region: string; account: string | null }
  /** An input of a plan is not what it was, or is not there. `path` is as the plan names it. */
  | { code: 'plan_input'; path: string }
  | { code: 'plan_outdated' }
  // The service
  | { code: 'bad_job_id' }
  | { code: 'http_host'; host: string }
  | { code: 'no_lookup_host' }
  | { code: 'token_refused' }
  | { code: 'wrong_address' }
  /** A request that only reads was refused. */
  | { code: 'read_refused' }
  | { code: 'no_answer' }
  | { code: 'no_answer_in_time'; timeoutMs: number }
  | { code: 'not_the_service' }
  | { code: 'busy_too_long'; timeoutMs: number }
  | { code: 'retry_after_too_long'; waitMs: number }
  /** The file for the outcomes of rows cannot be written, or is one of the import's own. */
  | { code: 'outcomes_file' }
  /** The first request had to complete before the others, and did not. `failed`: its job did; otherwise nobody knows which rows arrived. */
  | { code: 'canary_not_completed'; run: string; failed: boolean; rows: number }
  /** The service refused a request for its rows. */
  | { code: 'request_refused' };

/** The data of one kind of problem. */
export type ProblemOf<C extends Problem['code']> = Extract<Problem, { code: C }>;

/** Something odd that stops nothing. */
export interface Warning {
  message: string;
  problem?: Problem;
}
