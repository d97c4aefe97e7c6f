/** `profiles history company|user <id>`: what this state knows about one profile (contract §1). */
import { KINDS, type Kind, SINGULAR } from '../../engine/model.js';
import { count } from '../../engine/util/numbers.js';
import type { Context } from '../context.js';
import { usage } from '../options/index.js';
import { waiting } from '../output/display.js';
import { ago, pick } from '../output/records.js';
import type { Line } from './command.js';
import { type List, type Listing, list } from './list.js';
import { someOf, stateToRead } from './recorded.js';

const FIELDS = 'at command outcome run file line request job_id reason account region'.split(' ');
const TABLE_FIELDS = 'at age command outcome file line run request job_id reason'.split(' ');
const COLORS: Readonly<Record<string, 'green' | 'red'>> = {
  completed: 'green',
  failed: 'red',
  rejected: 'red',
};

const ofKind = (kind: Kind) => list(finding([kind]));

export const command = list(finding(KINDS), { company: ofKind('companies'), user: ofKind('users') });

/** @param kinds to look among */
function finding(kinds: readonly Kind[]) {
  return async ({ words: [id = ''] }: Line, context: Context, { form }: Listing): Promise<List> => {
    if (id === '') throw usage('the identifier is empty', 'profiles history <id>');
    const { clock, cwd } = context;
    const state = await stateToRead(context);
    const { historyOf } = await import('../../engine/run/history.js');
    const found = await waiting(`looking for ${id}`, context, async () => {
      const all: (Awaited<ReturnType<typeof historyOf>> & { kind: Kind })[] = [];
      for (const kind of kinds) all.push({ kind, ...(await historyOf(kind, id, { state, clock, cwd })) });
      return all;
    });
    const both = kinds.length > 1 ? ['kind'] : [];
    const fields = [...both, ...FIELDS, ...(form === 'table' ? ['age'] : [])];
    const records = found
      .flatMap((one) => one.records.map((record) => ({ ...record, kind: SINGULAR[one.kind] })))
      .sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
      .map((record) => pick({ ...record, age: ago(clock.now() - Date.parse(record.at)) }, fields));
    const runs = [...new Set(found.flatMap(({ maybeUnchanged }) => maybeUnchanged))];
    const unsure = `warning: ${count(runs.length, 'import')} may have found it unchanged, which the state does not record: ${someOf(runs)}`;
    const after = runs.length === 0 ? [] : [unsure];
    return {
      ...{ records, fields, tableFields: [...both, ...TABLE_FIELDS], id: 'run', after },
      empty: `no record of ${kinds.map((kind) => SINGULAR[kind]).join(' or ')} ${id}`,
      styles: { outcome: (outcome) => COLORS[outcome] ?? 'yellow' },
    };
  };
}
