/** The JSON text of an item around its values (spec: Company, User), for all input formats. */
import { ID_FIELD, type Kind } from '../model.js';

/** Before the identifier. */
export const headOf = (kind: Kind): string => `{"${ID_FIELD[kind]}":`;
/** Between identifier and company, and around the members of the metadata. */
export const COMPANY = ',"company_id":';
export const METADATA_OPEN = ',"metadata":{';
export const METADATA_CLOSE = '}';
/** JSON text of an empty value; null if its key is left out. */
export const EMPTY = { omit: null, null: 'null', string: '""' } as const;
