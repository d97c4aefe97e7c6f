/** vitest's setup file of `npm run test:postgres`: the schemas of a file of tests go with it. */
import { afterAll } from 'vitest';
import { dropSchemas } from './state.js';

afterAll(dropSchemas);
