/** `profiles lookups <list>`: prints a lookup list of the service (contract §5; spec: Endpoints 5 to 7). */

import { LOOKUP_LISTS, type LookupList } from '../../engine/service/names.js';
import { nearest } from '../../engine/util/nearest.js';
import { usage } from '../options/index.js';
import { stopOnSignal, whileWaiting } from '../output/display.js';
import { requireLookupBaseUrl } from '../settings/index.js';
import { spec } from './command.js';
import { listingOf, printList } from './list.js';

/** Fields of the records of each list, in the order of the spec. */
const FIELDS: Record<LookupList, readonly string[]> = {
  user_properties: ['id', 'type', 'key', 'display_name', 'data_type', 'is_auto_property'],
  embeds: ['id', 'title', 'type'],
  checklists: ['display_name', 'key', 'data_type'],
};

/** The names as users type them. */
const NAMES = LOOKUP_LISTS.map((list) => list.replace('_', '-'));

export const command = spec({
  words: { '<list>': NAMES.join(', ') },
  examples: [
    'profiles lookups user-properties --region sandbox',
    'profiles lookups embeds --filter type=card --json --region sandbox',
    'profiles lookups checklists --sort key --csv --region sandbox',
  ],
  options: ([word = ''], flags) => {
    const list = LOOKUP_LISTS.find((name) => name === word.replaceAll('-', '_'));
    if (list) return { list, listing: listingOf(flags) };
    const like = nearest(word, NAMES);
    const hint = like ? `did you mean "profiles lookups ${like}"?` : `available lists: ${NAMES.join(', ')}`;
    throw usage(`unknown list "${word}"`, hint);
  },
  run: async ({ list, listing }, context) => {
    const settings = await context.settings();
    if (!settings.embedded) requireLookupBaseUrl(settings);
    const client = await context.client({ onlyLookups: true });
    const name = list.replace('_', ' ');
    const { text, records } = await whileWaiting(`reading ${name}`, context, () =>
      stopOnSignal(context, (signal) => client.lookup(list, signal)),
    );
    const empty = `the service has no ${name}`;
    await printList({ records, fields: FIELDS[list], source: text, empty }, listing, context);
  },
});
