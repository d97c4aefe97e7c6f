/**
 * A rule of a mapping is for all inputs of a kind, so a column of several is only offered a type that reads the values of
 * all of them.
 */

import { KINDS } from '../../engine/model.js';
import type { Look, TypeChoice } from '../../engine/plan/look.js';
import type { Try } from '../../engine/plan/shared-types.js';

/** A column that no type reads in all inputs of a kind: a type that fits in one, and a value in another that it does not. */
export interface Unlike {
  column: string;
  type: string;
  path: string;
  misfit: { path: string; text: string };
}

/** For each try: the first value of an input that does not fit; null if all do. */
type Misfits = (path: string, tries: readonly Try[]) => Promise<(string | null)[]>;

export function unlikeText({ column, type, path, misfit }: Unlike): string {
  const fits = `${type} fits ${path}, but would reject or change ${JSON.stringify(misfit.text)} in ${misfit.path}`;
  return `${column} is not converted, because no type fits all files: ${fits}; to convert it, import the files one at a time`;
}

const isNumeric = (type: string | null): boolean => type === 'integer' || type === 'number';

/** A type that is suggested for an input, and the first value of another one that it does not read. */
type Offered = TypeChoice & { path: string; misfit?: Unlike['misfit'] };

/** The columns of several inputs, and the types that are suggested for each in any of them. */
const sharedIn = (looks: readonly Look[]) =>
  KINDS.flatMap((kind) => {
    const alike = looks.filter((look) => look.kind === kind);
    const columns = new Set(alike.flatMap(({ types }) => types.map(({ column }) => column)));
    return [...columns].flatMap((column) => {
      const having = alike.filter(({ named }) => named.some((one) => one.column === column));
      if (having.length < 2) return [];
      const all = having.flatMap(({ path, types }) =>
        ofColumn(types, column).map((one) => ({ path, ...one })),
      );
      const markers = [...new Set(all.flatMap((one) => one.markers))];
      // Where some values are whole numbers, others may have decimals.
      const wider = all.flatMap((one) => (one.type === 'integer' ? [{ ...one, type: 'number' }] : []));
      const offered = [...all, ...wider].flatMap((one, at, those): Offered[] => {
        const same = those.filter(({ type }) => type === one.type);
        const strays = same.reduce((sum, { strays }) => sum + strays, 0);
        return those.indexOf(same[0]!) === at ? [{ ...one, markers, strays }] : [];
      });
      return [{ column, looks: having, offered }];
    });
  });

const ofColumn = <T extends { column: string }>(all: readonly T[], column: string): T[] =>
  all.filter((one) => one.column === column);

/** The types that each input suggests by itself are replaced by those that all inputs of its kind can share. */
export async function withSharedTypes(
  looks: readonly Look[],
  misfitsIn: Misfits,
): Promise<(Look & { unlike: Unlike[] })[]> {
  const shared = sharedIn(looks);
  for (const look of looks) {
    const { path, types, columns } = look;
    const tries = shared.flatMap(({ column, looks, offered }): (Try & { one: Offered })[] => {
      if (!looks.includes(look)) return [];
      const own = ofColumn(types, column);
      const plain = ofColumn(columns, column).map(({ type }) => type);
      const isNumber = [...plain, ...own.map(({ type }) => type)].some(isNumeric);
      const others = offered.filter(({ type }) => !own.some((one) => one.type === type));
      return others.map((one) => ({ one, column, type: one.type, markers: one.markers, isNumber }));
    });
    if (tries.length === 0) continue;
    for (const [at, text] of (await misfitsIn(path, tries)).entries())
      if (text !== null) tries[at]!.one.misfit ??= { path, text };
  }
  const unlike: (Unlike & { first: Look })[] = [];
  const kept = shared.flatMap(({ column, looks, offered }) => {
    const fitting = offered.filter(({ misfit }) => misfit === undefined);
    const [{ path, type, misfit }] = offered as [Offered];
    if (fitting.length === 0) unlike.push({ column, type, path, misfit: misfit!, first: looks[0]! });
    const isWhole = fitting.some(({ type }) => type === 'integer');
    return fitting.filter(({ type }) => !(isWhole && type === 'number'));
  });
  return looks.map((look) => {
    const isShared = ({ column }: TypeChoice): boolean =>
      shared.some((one) => one.column === column && one.looks.includes(look));
    const own = kept.filter(({ path }) => path === look.path).map(({ path, ...choice }) => choice);
    return {
      ...look,
      types: [...look.types.filter((one) => !isShared(one)), ...own],
      unlike: unlike.flatMap(({ first, ...one }) => (first === look ? [one] : [])),
    };
  });
}
