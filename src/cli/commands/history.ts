/** `profiles history company|user <id>`: what this state knows about one profile (contract §1). */
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { KINDS, type Kind } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';
import { toRun } from '../advice/hint.js';
import type { Context } from '../context.js';
import { ago } from '../output/ago.js';
import type { ListRecord } from '../output/records.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { examples, type Flags, type Wire } from './command.js';
import { type Listing, printListing, readListing } from './listing.js';
import { stateToRead } from './recorded-service.js';

const FIELDS = [
  'at',
  'command',
  'outcome',
  'run',
  'file',
  'line',
  'request',
  'job_id',
  'reason',
  'account',
  'region',
] as const;
/** The fields of a table. */
const TABLE_FIELDS = [
  'at',
  'age',
  'command',
  'outcome',
  'file',
  'line',
  'run',
  'request',
  'job_id',
  'reason',
];

interface Options {
  /** Both, if none is named. */
  kinds: readonly Kind[];
  id: string;
  /** Whether to search the inputs of imports for rows that were unchanged. */
  unchanged: boolean;
  listing: Listing;
}

export function define(command: Command, wire: Wire): void {
  examples(command.argument('<id>', 'company_id or user_id, to look among both'), [
    'profiles history c-100',
    'profiles history company c-100',
    'profiles history user u-7 --json',
  ])
    .helpCommand(false)
    .action(wire((words, flags) => options(KINDS, words, flags), run));
  for (const [name, kind] of [
    ['company', 'companies'],
    ['user', 'users'],
  ] as const) {
    examples(
      command
        .command(name)
        .description(`show every import and identify of one ${name}, newest first`)
        .argument('<id>', `${name}_id`),
      [`profiles history ${name} c-100`, `profiles history ${name} c-100 --filter outcome=failed --json`],
    ).action(wire((words, flags) => options([kind], words, flags), run));
  }
}

function options(kinds: readonly Kind[], [id = '']: readonly string[], flags: Flags): Options {
  if (id !== '') return { kinds, id, unchanged: flags.unchanged === true, listing: readListing(flags) };
  throw new UsageError('the identifier is empty', {
    hint: 'profiles history <id>',
  });
}

const SINGULAR = { companies: 'company', users: 'user' } as const;

const UNREAD = {
  unasked: 'the state does not say',
  changed: 'the files have changed since',
  selected: 'sent only some of the rows (--where, --limit), and which ones is not stored',
};

async function run({ kinds, id, unchanged, listing }: Options, context: Context): Promise<ExitCode> {
  const { clock, cwd, cores, flags } = context;
  const { historyKeepMs: keepMs } = await context.settings();
  const state = await stateToRead(context);
  const { historyOf } = await import('../../engine/history.js');
  const found = await whileWaiting(`looking for ${id}`, context, () =>
    stopOnSignal(context, async (stop) => {
      const threads = Math.min(2, cores);
      const one = (kind: Kind) =>
        historyOf(kind, id, { state, clock, cwd, stop, threads, keepMs, unchanged });
      const all: (Awaited<ReturnType<typeof one>> & { kind: Kind })[] = [];
      for (const kind of kinds) all.push({ kind, ...(await one(kind)) });
      return all;
    }),
  );
  const records = found
    .flatMap((one) => one.records.map((record) => ({ ...record, kind: SINGULAR[one.kind] })))
    .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  const unread = found.flatMap((one) => one.unread);
  const aged = listing.form === 'table';
  const fields = [...(kinds.length > 1 ? (['kind'] as const) : []), ...FIELDS];
  const list = records.map((record): ListRecord => {
    const own = Object.fromEntries(fields.map((field) => [field, record[field]]));
    return aged ? { ...own, age: ago(clock.now() - Date.parse(record.at)) } : own;
  });
  await printListing(
    {
      records: list,
      fields: aged ? [...fields, 'age'] : fields,
      tableFields: kinds.length > 1 ? ['kind', ...TABLE_FIELDS] : TABLE_FIELDS,
      id: 'run',
      empty: `no record of ${kinds.map((kind) => SINGULAR[kind]).join(' or ')} ${id}`,
      styles: {
        outcome: (outcome) =>
          outcome === 'completed' ? 'green' : ['failed', 'rejected'].includes(outcome) ? 'red' : 'yellow',
      },
    },
    listing,
    context,
  );
  for (const why of flags.quiet ? [] : (['unasked', 'changed', 'selected'] as const)) {
    const runs = [...new Set(unread.filter((each) => each.why === why).map(({ run }) => run))];
    if (runs.length === 0) continue;
    const some = `${runs.slice(0, 3).join(', ')}${runs.length > 3 ? ', …' : ''}`;
    const line = `${count(runs.length, 'import')} may have found it unchanged, but ${UNREAD[why]}: ${some}`;
    const search = toRun('to look for it in their files', context.commands.again({ plus: ['--unchanged'] }));
    context.warn(why === 'unasked' ? `${line}\n${search}` : line);
  }
  return Exit.done;
}
