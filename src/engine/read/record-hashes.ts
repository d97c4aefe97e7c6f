/** Hashes of records that stand for their items: equal ones make equal items, which need not be made to know it. */
import { createHash } from 'node:crypto';
import { Hashes } from './hashes.js';
import { metadataTypes } from './mapping/types.js';
import type { OpenedInput, Schema } from './types.js';

/**
 * The version of the rules by which a record becomes an item, its inferred types included. Raised when one makes
 * another item: what was hashed before must not match, and a run that began by other rules is not continued.
 */
export const ITEM_FORMAT_VERSION = 1;

/**
 * Under another key whenever anything else changes that an item is made by. Null for JSON, whose items are copied:
 * to make one takes no longer than to hash its record.
 */
export function recordHashes(
  input: OpenedInput,
  { types }: Pick<Schema, 'types'>,
  hashKey: Uint8Array,
): Hashes | null {
  const { kind, delimiter, columns, idColumn, companyIdColumn, rules } = input;
  if (delimiter === null) return null;
  const making = {
    making: ITEM_FORMAT_VERSION,
    kind,
    delimiter,
    columns,
    idColumn,
    companyIdColumn,
    rules,
    types: metadataTypes(input, (_, index) => types[index]!),
  };
  const key = createHash('sha256').update(hashKey).update(JSON.stringify(making)).digest();
  return new Hashes(key, 'record');
}
