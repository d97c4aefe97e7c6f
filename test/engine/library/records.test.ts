import { expectTypeOf, test } from 'vitest';
import type * as written from '../../../src/engine/library/records.js';
import type * as checked from '../../../src/engine/service/contract.js';

/** Fields by name, without "any other". */
type Named<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

// Held by the compiler: `npm run typecheck` fails when one of the two changes alone.
test('records as they are published are records as they are checked', () => {
  expectTypeOf<Named<written.Job>>().toEqualTypeOf<Named<checked.Job>>();
  expectTypeOf<written.Job>().toExtend<checked.Job>();
  expectTypeOf<checked.Job>().toExtend<written.Job>();
});
