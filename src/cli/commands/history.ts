/** `profiles history company|user <id>`: what this state knows about one profile (contract §1). */
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import type { Kind } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';
import type { Context } from '../context.js';
import { ago } from '../output/ago.js';
import type { ListRecord } from '../output/records.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { examples, type Flags, requireSubcommand, type Wire } from './command.js';
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
  kind: Kind;
  id: string;
  listing: Listing;
}

export function define(command: Command, wire: Wire): void {
  examples(requireSubcommand(command, wire), [
    'profiles history company c-100',
    'profiles history user u-7 --json',
  ]);
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
    ).action(wire((words, flags) => options(kind, words, flags), run));
  }
}

function options(kind: Kind, [id = '']: readonly string[], flags: Flags): Options {
  if (id !== '') return { kind, id, listing: readListing(flags) };
  throw new UsageError('the identifier is empty', {
    hint: `profiles history ${kind === 'users' ? 'user' : 'company'} <id>`,
  });
}

const UNREAD = {
  changed: 'the files have changed since',
  selected: 'sent only some of the rows (--where, --limit), and which ones is not stored',
};

async function run({ kind, id, listing }: Options, context: Context): Promise<ExitCode> {
  const { clock, cwd, cores, flags } = context;
  const { historyKeepMs: keepMs } = await context.settings();
  const state = await stateToRead(context);
  const { historyOf } = await import('../../engine/history.js');
  const { records, unread } = await whileWaiting(`looking for ${id}`, context, () =>
    stopOnSignal(context, (stop) =>
      historyOf(kind, id, { state, clock, cwd, stop, threads: Math.min(2, cores), keepMs }),
    ),
  );
  const aged = listing.form === 'table';
  const list = records.map((record): ListRecord => {
    const fields = Object.fromEntries(FIELDS.map((field) => [field, record[field]]));
    return aged ? { ...fields, age: ago(clock.now() - Date.parse(record.at)) } : fields;
  });
  await printListing(
    {
      records: list,
      fields: aged ? [...FIELDS, 'age'] : FIELDS,
      tableFields: TABLE_FIELDS,
      id: 'run',
      empty: `no record of ${kind === 'users' ? 'user' : 'company'} ${id}`,
      styles: {
        outcome: (outcome) =>
          outcome === 'completed' ? 'green' : ['failed', 'rejected'].includes(outcome) ? 'red' : 'yellow',
      },
    },
    listing,
    context,
  );
  for (const why of flags.quiet ? [] : (['changed', 'selected'] as const)) {
    const runs = [...new Set(unread.filter((each) => each.why === why).map(({ run }) => run))];
    if (runs.length === 0) continue;
    const some = `${runs.slice(0, 3).join(', ')}${runs.length > 3 ? ', …' : ''}`;
    context.warn(`${count(runs.length, 'import')} may have found it unchanged, but ${UNREAD[why]}: ${some}`);
  }
  return Exit.done;
}
