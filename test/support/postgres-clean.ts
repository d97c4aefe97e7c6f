/** A setup file of vitest for `npm run test:postgres`: removes the schemas of a test file at its end. */
import { afterAll } from 'vitest';
import { dropSchemas } from './state.js';

afterAll(dropSchemas);
