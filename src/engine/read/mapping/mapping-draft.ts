/** A mapping file written from what was found: every column with its key, every type pinned. */

import { COLUMN_TYPES } from '../../model.js';
import type { OpenedInput, Scan } from '../types.js';
import type { MappingFile } from './mapping-file.js';

/**
 * The mapping under which an input is read, in full, as the text of a file. A later import with it gives the
 * same keys and the same types, whatever its rows.
 */
export function mappingDraft(input: OpenedInput, scan: Scan): string {
  const { rules, kind, idColumn, companyIdColumn } = input;
  const isIdentifier = (column: string): boolean => column === idColumn || column === companyIdColumn;
  const metadata = scan.columns.filter(({ column, key }) => key !== null && !isIdentifier(column));
  const draft: MappingFile = {
    kind,
    id: idColumn,
    ...(companyIdColumn !== null && { company_id: companyIdColumn }),
    // A column of JSON objects is spread only under its own name.
    map: Object.fromEntries(
      metadata.filter(({ type }) => type !== 'object').map(({ column, key }) => [column, key!]),
    ),
    ...(rules.include.length > 0 && { include: [...rules.include] }),
    ...(rules.exclude.length > 0 && { exclude: [...rules.exclude] }),
    ...(rules.set.length > 0 && { set: Object.fromEntries(rules.set) }),
    type: Object.fromEntries(
      metadata.flatMap(({ column, type, conversion, suggested }) => {
        const [only, other] = suggested ?? [];
        const pinned = other === undefined ? (conversion ?? only) : undefined;
        const plain = COLUMN_TYPES.find((known) => known === type);
        return pinned || plain ? [[column, pinned ?? plain!]] : [];
      }),
    ),
    empty: rules.empty,
  };
  return `${JSON.stringify(draft, null, 2)}\n`;
}
