/** Facts of a file at the top of a mapping file: they say how all inputs of an import are read, as flags do. */

import { UsageError } from '../../errors.js';
import { DIALECT_OPTIONS } from '../../options/dialect-options.js';
import type { ReadOptions } from '../../options.js';

export const FACTS = [
  'format',
  'encoding',
  'sheet',
  ...DIALECT_OPTIONS,
  'jsonPath',
  'roundNumbers',
] as const satisfies readonly (keyof ReadOptions)[];

type Fact = (typeof FACTS)[number];

/** Facts by the names of the options that they set. */
export type Facts = { [F in Fact]?: ReadOptions[F] };

type Snake<S extends string> = S extends `${infer C}${infer Rest}`
  ? `${C extends Lowercase<C> ? C : `_${Lowercase<C>}`}${Snake<Rest>}`
  : S;

/** Facts by their keys in a mapping file. */
export type WrittenFacts = { [F in Fact as Snake<F>]?: Facts[F] };

/** The key of a fact in a mapping file: `skip_lines`. */
export const factKey = <F extends Fact>(fact: F): Snake<F> =>
  fact.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<F>;

/** The facts of a mapping file's content. */
export const factsIn = (file: WrittenFacts): Facts =>
  Object.fromEntries(
    FACTS.flatMap((fact) => {
      const value = file[factKey(fact)];
      return value === undefined ? [] : [[fact, value]];
    }),
  );

/** As a mapping file holds them. One that is off (false or 0) is left out. */
export const writtenFacts = (facts: Facts): WrittenFacts =>
  Object.fromEntries(FACTS.flatMap((fact) => (facts[fact] ? [[factKey(fact), facts[fact]]] : [])));

/**
 * The facts that were asked for, and those of mapping files. These must agree: a fact of one file would also change how
 * the inputs of another are read.
 * @throws UsageError if they do not
 */
export function factsOf(files: readonly { facts?: Facts | undefined }[], asked: Facts): Facts {
  const [first = {}, ...others] = files.map(({ facts = {} }) => facts);
  const given = Object.fromEntries(
    FACTS.flatMap((fact) => (asked[fact] === undefined ? [] : [[fact, asked[fact]]])),
  ) as Facts;
  const open = FACTS.filter((fact) => given[fact] === undefined);
  const differing = open.find((fact) => others.some((other) => other[fact] !== first[fact]));
  if (differing !== undefined) {
    throw new UsageError(`the mapping files differ in ${factKey(differing)}, which holds for all inputs`, {
      hint: 'write the same in each of them, or import their inputs one by one',
    });
  }
  return { ...first, ...given };
}
