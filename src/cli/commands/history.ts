/** `profiles history company|user <id>`: what this state knows about one profile (contract §1). */
import { KINDS, type Kind } from '../../engine/model.js';
import { count } from '../../engine/util/numbers.js';
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { given, HISTORY, usage } from '../options/index.js';
import { stopOnSignal, whileWaiting } from '../output/display.js';
import { ago, type ListRecord } from '../output/records.js';
import type { Styles } from '../output/terminal.js';
import { type Flags, spec } from './command.js';
import { type Listing, listingOf, printList } from './list.js';
import { stateToRead } from './recorded.js';

const FIELDS = 'at command outcome run file line request job_id reason account region'.split(' ');
const TABLE_FIELDS = 'at age command outcome file line run request job_id reason'.split(' ');
const SINGULAR = { companies: 'company', users: 'user' } as const;

interface Options {
  /** Both, if none is named. */
  kinds: readonly Kind[];
  id: string;
  /** Whether to search the inputs of imports for rows that were unchanged. */
  unchanged: boolean;
  listing: Listing;
}

export const command = spec({
  words: { '<id>': 'company_id or user_id, to look among both' },
  examples: ['profiles history c-100', 'profiles history company c-100', 'profiles history user u-7 --json'],
  options: options(KINDS),
  run,
  commands: { company: ofKind('companies'), user: ofKind('users') },
});

function ofKind(kind: Kind) {
  const name = SINGULAR[kind];
  return spec({
    summary: `show every import and identify of one ${name}, newest first`,
    words: { '<id>': `${name}_id` },
    examples: [
      `profiles history ${name} c-100`,
      `profiles history ${name} c-100 --filter outcome=failed --json`,
    ],
    options: options([kind]),
    run,
  });
}

function options(kinds: readonly Kind[]) {
  return ([id = '']: readonly string[], flags: Flags): Options => {
    const { unchanged = false } = given(HISTORY, flags);
    if (id !== '') return { kinds, id, unchanged, listing: listingOf(flags) };
    throw usage('the identifier is empty', 'profiles history <id>');
  };
}

const UNREAD = {
  unasked: 'the state does not say',
  changed: 'the files have changed since',
  selected: 'sent only some of the rows (--where, --limit), and which ones is not stored',
};

async function run({ kinds, id, unchanged, listing }: Options, context: Context): Promise<void> {
  const { clock, cwd, cores, flags } = context;
  const { historyKeepMs: keepMs } = await context.settings();
  const state = await stateToRead(context);
  const { historyOf } = await import('../../engine/history.js');
  const found = await whileWaiting(`looking for ${id}`, context, () =>
    stopOnSignal(context, async (stop) => {
      const deps = { state, clock, cwd, stop, threads: Math.min(2, cores), keepMs, unchanged };
      const all: (Awaited<ReturnType<typeof historyOf>> & { kind: Kind })[] = [];
      for (const kind of kinds) all.push({ kind, ...(await historyOf(kind, id, deps)) });
      return all;
    }),
  );
  const both = kinds.length > 1 ? ['kind'] : [];
  const age = listing.form === 'table' ? ['age'] : [];
  const fields = [...both, ...FIELDS, ...age];
  const records = found
    .flatMap((one) => one.records.map((record) => ({ ...record, kind: SINGULAR[one.kind] })))
    .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
    .map((record): ListRecord => ({ ...record, age: ago(clock.now() - Date.parse(record.at)) }))
    .map((record) => Object.fromEntries(fields.map((field) => [field, record[field]])));
  const list = {
    records,
    fields,
    tableFields: [...both, ...TABLE_FIELDS],
    id: 'run',
    empty: `no record of ${kinds.map((kind) => SINGULAR[kind]).join(' or ')} ${id}`,
    styles: { outcome: colorOf },
  };
  await printList(list, listing, context);
  const unread = found.flatMap((one) => one.unread);
  for (const why of flags.quiet ? [] : (['unasked', 'changed', 'selected'] as const)) {
    const runs = [...new Set(unread.filter((each) => each.why === why).map(({ run }) => run))];
    if (runs.length === 0) continue;
    const some = `${runs.slice(0, 3).join(', ')}${runs.length > 3 ? ', …' : ''}`;
    const line = `${count(runs.length, 'import')} may have found it unchanged, but ${UNREAD[why]}: ${some}`;
    const search = toRun('to look for it in their files', context.commands.again({ plus: ['--unchanged'] }));
    context.warn(why === 'unasked' ? `${line}\n${search}` : line);
  }
}

function colorOf(outcome: string): keyof Styles {
  if (outcome === 'completed') return 'green';
  return outcome === 'failed' || outcome === 'rejected' ? 'red' : 'yellow';
}
