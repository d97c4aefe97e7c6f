/** What the state needs of PostgreSQL, as one module that is loaded when it is met. */
export { openPostgres } from './backend.js';
export { readPostgresUrl } from './location.js';
