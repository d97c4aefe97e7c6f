/** `profiles lookups <list>`: prints a lookup list of the service (contract §5; spec: Endpoints 5 to 7). */
import { LOOKUP_LISTS, type LookupList } from '../../engine/service/names.js';
import { waiting } from '../output/display.js';
import { requireHost } from '../settings/index.js';
import { oneOf } from './command.js';
import { list } from './list.js';

/** Fields of the records of each list, in the order of the spec. */
const FIELDS: Record<LookupList, readonly string[]> = {
  user_properties: ['id', 'type', 'key', 'display_name', 'data_type', 'is_auto_property'],
  embeds: ['id', 'title', 'type'],
  checklists: ['display_name', 'key', 'data_type'],
};

/** The names as users type them. */
const NAMES = LOOKUP_LISTS.map((name) => name.replace('_', '-'));

export const command = list(async ({ words: [word = ''] }, context) => {
  const known = LOOKUP_LISTS.find((each) => each === word.replaceAll('-', '_'));
  const hint = { all: `available lists: ${NAMES.join(', ')}`, before: 'profiles lookups ' };
  const name = known ?? (oneOf('list', word, NAMES, hint) as LookupList);
  const settings = await context.settings();
  if (!settings.embedded) requireHost(settings, 'lookupBaseUrl');
  const client = await context.client({ onlyLookups: true });
  const what = name.replace('_', ' ');
  const { text, records } = await waiting(`reading ${what}`, context, (stop) => client.lookup(name, stop));
  return { records, fields: FIELDS[name], source: text, empty: `the service has no ${what}` };
});
