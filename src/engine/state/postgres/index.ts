/** The PostgreSQL backend as one module, which is loaded only when it is used. */
export { openPostgres } from './backend.js';
export { readPostgresUrl } from './location.js';
