/** vitest's setup file: properties try the same examples each time, so that a failure is one of the change at hand. `FC_SEED=17` tries others. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';

// Loading it takes a while, and few files of tests have properties.
if (readFileSync(expect.getState().testPath!, 'utf8').includes("from 'fast-check'")) {
  const { default: fc } = await import('fast-check');
  // Otherwise arrays have ten elements at most, whatever a property says.
  const defaultSizeToMaxWhenMaxSpecified = true;
  fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 1), defaultSizeToMaxWhenMaxSpecified });
}
