/** `profiles history company|user <id>`: what this state knows about one profile (contract §1). */
import { KINDS, type Kind, SINGULAR } from '../../engine/model.js';
import { count } from '../../engine/util/numbers.js';
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { given, OTHERS, usage } from '../options/index.js';
import { ago, pick } from '../output/records.js';
import { type Line, waiting } from './command.js';
import { type List, type Listing, list } from './list.js';
import { someOf, stateToRead } from './recorded.js';

const FIELDS = 'at command outcome run file line request job_id reason account region'.split(' ');
const TABLE_FIELDS = 'at age command outcome file line run request job_id reason'.split(' ');
const COLORS: Readonly<Record<string, 'green' | 'red'>> = {
  completed: 'green',
  failed: 'red',
  rejected: 'red',
};

/** Why it is not known whether an import found the profile unchanged. */
const UNREAD = {
  unasked: 'the state does not say',
  changed: 'the files have changed since',
  selected: 'sent only some of the rows (--where, --limit), and which ones is not stored',
};

const ofKind = (kind: Kind) => list(finding([kind]));

export const command = list(finding(KINDS), { company: ofKind('companies'), user: ofKind('users') });

/** @param kinds to look among */
function finding(kinds: readonly Kind[]) {
  return async ({ words: [id = ''], flags }: Line, context: Context, { form }: Listing): Promise<List> => {
    if (id === '') throw usage('the identifier is empty', 'profiles history <id>');
    const { unchanged = false } = given(OTHERS, flags);
    const { clock, cwd, cores } = context;
    const { historyKeepMs: keepMs } = await context.settings();
    const state = await stateToRead(context);
    const { historyOf } = await import('../../engine/run/history.js');
    const found = await waiting(`looking for ${id}`, context, async (stop) => {
      const deps = { state, clock, cwd, stop, threads: Math.min(2, cores), keepMs, unchanged };
      const all: (Awaited<ReturnType<typeof historyOf>> & { kind: Kind })[] = [];
      for (const kind of kinds) all.push({ kind, ...(await historyOf(kind, id, deps)) });
      return all;
    });
    const both = kinds.length > 1 ? ['kind'] : [];
    const fields = [...both, ...FIELDS, ...(form === 'table' ? ['age'] : [])];
    const records = found
      .flatMap((one) => one.records.map((record) => ({ ...record, kind: SINGULAR[one.kind] })))
      .sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
      .map((record) => pick({ ...record, age: ago(clock.now() - Date.parse(record.at)) }, fields));
    const unread = found.flatMap((one) => one.unread);
    const after = (['unasked', 'changed', 'selected'] as const).flatMap((why) => {
      const runs = [...new Set(unread.flatMap((each) => (each.why === why ? [each.run] : [])))];
      if (runs.length === 0) return [];
      const line = `warning: ${count(runs.length, 'import')} may have found it unchanged, but ${UNREAD[why]}: ${someOf(runs)}`;
      const again = context.commands.again({ plus: ['--unchanged'] });
      return why === 'unasked' ? `${line}\n${toRun('to look for it in their files', again)}` : line;
    });
    return {
      ...{ records, fields, tableFields: [...both, ...TABLE_FIELDS], id: 'run', after },
      empty: `no record of ${kinds.map((kind) => SINGULAR[kind]).join(' or ')} ${id}`,
      styles: { outcome: (outcome) => COLORS[outcome] ?? 'yellow' },
    };
  };
}
