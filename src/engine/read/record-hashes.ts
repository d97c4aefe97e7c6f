/** Hashes of records that stand for their items: equal ones make equal items, which need not be made to know it. */
import { createHash } from 'node:crypto';
import { Hashes } from './hashes.js';
import { metadataTypes } from './mapping/types.js';
import type { OpenedInput, Schema } from './types.js';

/** Raised when items are made differently of the same record: what was hashed before must not match. */
const MAKING = 1;

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
    making: MAKING,
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
