/** `profiles lookups <list>`: prints a lookup list of the service (contract §5; spec: Endpoints 5 to 7). */
import type { Command } from 'commander';
import { Exit, type ExitCode, UsageError } from '../../engine/errors.js';
import { nearest } from '../../engine/nearest.js';
import { LOOKUP_LISTS, type LookupList } from '../../engine/service/names.js';
import type { Context } from '../context.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { requireLookupBaseUrl } from '../settings/hosts.js';
import { examples, type Flags, type Wire } from './command.js';
import { type Listing, printListing, readListing } from './listing.js';

/** Fields of the records of each list, in the order of the spec. */
const FIELDS = {
  user_properties: ['id', 'type', 'key', 'display_name', 'data_type', 'is_auto_property'],
  embeds: ['id', 'title', 'type'],
  checklists: ['display_name', 'key', 'data_type'],
} as const satisfies Record<LookupList, readonly string[]>;

/** The names as users type them. */
const NAMES = LOOKUP_LISTS.map((list) => list.replace('_', '-'));

interface Options {
  list: LookupList;
  listing: Listing;
}

export function define(command: Command, wire: Wire): void {
  command.argument('<list>', NAMES.join(', '));
  examples(command, [
    'profiles lookups user-properties --region sandbox',
    'profiles lookups embeds --filter type=card --json --region sandbox',
    'profiles lookups checklists --sort key --csv --region sandbox',
  ]);
  command.action(wire(options, run));
}

function options([word = '']: readonly string[], flags: Flags): Options {
  const list = LOOKUP_LISTS.find((name) => name === word.replaceAll('-', '_'));
  if (!list) {
    const like = nearest(word, NAMES);
    throw new UsageError(`unknown list "${word}"`, {
      hint: like ? `did you mean "profiles lookups ${like}"?` : `available lists: ${NAMES.join(', ')}`,
    });
  }
  return { list, listing: readListing(flags) };
}

async function run({ list, listing }: Options, context: Context): Promise<ExitCode> {
  const settings = await context.settings();
  if (settings.region !== 'sandbox') requireLookupBaseUrl(settings);
  const client = await context.client({ onlyLookups: true });
  const name = list.replace('_', ' ');
  const { text, records } = await whileWaiting(`reading ${name}`, context, () =>
    stopOnSignal(context, (signal) => client.lookup(list, signal)),
  );
  await printListing(
    { records, fields: FIELDS[list], source: text, empty: `the service has no ${name}` },
    listing,
    context,
  );
  return Exit.done;
}
