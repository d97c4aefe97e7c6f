/** Which kind an input is, and where its identifiers are (contract §3 "Kind and identifier"). */
import { InputError } from '../../errors.js';
import { ID_FIELD, type Kind } from '../../model.js';
import { nearest } from '../../nearest.js';
import { list } from '../wording.js';
import { unknownColumn } from './targets.js';

export interface Identity {
  kind: Kind;
  idColumn: string;
  companyIdColumn: string | null;
}

/**
 * The kind that was asked for; without one a `user_id` column means users, and otherwise `company_id` companies. `id`
 * and `companyId` name other columns.
 * @throws InputError when the columns tell no kind or hold no identifier; UsageError for a name that no column has
 */
export function identify(
  columns: readonly string[],
  asked: { path: string; kind?: Kind | undefined; id?: string | undefined; companyId?: string | undefined },
): Identity {
  const { path, id, companyId } = asked;
  if (columns.length === 0) {
    throw new InputError('the first items have no fields', {
      file: path,
      hint: 'an item is an object, such as {"company_id": "c1", "name": "Acme"}',
    });
  }
  const kind = asked.kind ?? kindOf(columns);
  if (kind === undefined) {
    throw new InputError(`no column user_id or company_id among ${list(columns)}`, {
      file: path,
      hint: 'say what the rows are, and name the column of their identifier',
      problem: { code: 'kind_unknown', column: id ?? columns[0] ?? '' },
    });
  }
  if (id !== undefined && !columns.includes(id)) throw unknownColumn('id', id, columns, path);
  const idColumn = id ?? ID_FIELD[kind];
  if (!columns.includes(idColumn)) {
    const column = nearest(idColumn, columns) ?? columns[0] ?? '';
    throw new InputError(`no column ${idColumn} among ${list(columns)}`, {
      file: path,
      hint: `name the identifier's column, such as ${JSON.stringify(column)}`,
      problem: { code: 'no_identifier', column },
    });
  }
  if (kind === 'companies') return { kind, idColumn, companyIdColumn: null };
  if (companyId !== undefined && !columns.includes(companyId)) {
    throw unknownColumn('company_id', companyId, columns, path);
  }
  const company = companyId ?? 'company_id';
  const present = columns.includes(company) && company !== idColumn;
  return { kind, idColumn, companyIdColumn: present ? company : null };
}

function kindOf(columns: readonly string[]): Kind | undefined {
  if (columns.includes(ID_FIELD.users)) return 'users';
  return columns.includes(ID_FIELD.companies) ? 'companies' : undefined;
}
