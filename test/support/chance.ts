/**
 * A setup file of vitest: property tests try the same examples each time, so that a failure comes from the
 * current change. `FC_SEED=17` tries others.
 */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';

// Loading fast-check takes a while, and few test files use it.
if (readFileSync(expect.getState().testPath!, 'utf8').includes("from 'fast-check'")) {
  const { default: fc } = await import('fast-check');
  // Otherwise, arrays have at most ten elements, whatever a property asks for.
  const defaultSizeToMaxWhenMaxSpecified = true;
  fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 1), defaultSizeToMaxWhenMaxSpecified });
}
