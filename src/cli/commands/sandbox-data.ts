/** `profiles sandbox list` and `show`: the companies and users of the sandbox (contract §8). */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ID_FIELD } from '../../engine/model.js';
import { count } from '../../engine/util/numbers.js';
import { type Kind, openSandboxData, type ProfilePage, type Region } from '../../sandbox/index.js';
import type { Context } from '../context.js';
import { given, SANDBOX_REGION, usage } from '../options/index.js';
import { fieldsText } from '../output/fields.js';
import type { ListRecord } from '../output/records.js';
import { stylesOn } from '../output/terminal.js';
import { writeJson, writeOut } from '../output/write.js';
import { resolveSettings, type SettingsFlags } from '../settings/index.js';
import { type Flags, spec } from './command.js';
import { listingOf, printList } from './list.js';

export const list = spec({
  summary: 'list companies or users',
  words: { '<kind>': 'companies or users' },
  examples: [
    'profiles sandbox list companies --search berlin --sort -updated --limit 20',
    'profiles sandbox list users --region eu --csv',
  ],
  options: async ([word = ''], flags, context) => {
    const kind = (['companies', 'users'] as const).find((one) => one === word);
    if (kind === undefined) throw usage(`unknown kind "${word}"`, 'it lists companies or users');
    const data = await dataFolder(flags, context);
    return { data, kind, region: regionIn(flags, context), listing: listingOf(flags) };
  },
  /** Search, order, and limit are one query over all profiles, as on the sandbox's page; `--filter` is for its result. */
  run: async ({ data, kind, region, listing }, context, { command }) => {
    refuseServerOptions(command);
    const { search, sort, limit, ...selection } = listing.selection;
    // With `--filter`, the limit is applied after it.
    const limitsQuery = selection.filter === undefined;
    const by = sort && { by: sort.key === ID_FIELD[kind] ? 'id' : sort.key, descending: sort.descending };
    const query = { kind, region, search, sort: by, limit: limitsQuery ? limit : undefined };
    const held = openSandboxData(data, context.clock);
    let page: ProfilePage = { total: 0, found: 0, rows: [] };
    try {
      page = (await held?.profiles(query)) ?? page;
    } finally {
      held?.close();
    }
    const { rows, total, found } = page;
    const records = rows.map((row) => recordOf(kind, row));
    if (by !== undefined) checkSort(by.by, records);
    const none = `no ${kind} in the sandbox (region ${region}): import some ${howToImport(region)}`;
    const shown = {
      records,
      fields: kind === 'users' ? ['user_id', 'company_id'] : ['company_id'],
      id: ID_FIELD[kind],
      source: `[${rows.map((row) => sourceOf(kind, row)).join(',')}]`,
      empty: total === 0 ? none : `no ${kind} match this search`,
    };
    const after = limitsQuery || limit === undefined ? selection : { ...selection, limit };
    await printList(shown, { ...listing, selection: after }, context);
    if (context.flags.quiet || total === 0) return;
    const counted = (n: number): string => count(n, kind === 'users' ? 'user' : 'company', kind);
    const of = search === undefined ? '' : `${counted(found)} of `;
    await writeOut(context.stderr, `${of}${counted(total)} in region ${region}\n`);
  },
});

/** Records without a value come last: if the first one has none, no record has one. @throws UsageError */
function checkSort(key: string, [first]: readonly ListRecord[]): void {
  if (!first || ['id', 'updated', 'company_id'].includes(key) || Object.hasOwn(first, key)) return;
  const fields = Object.keys(first).join(', ');
  throw usage(`--sort: unknown field "${key}"`, `available fields: updated, ${fields}`);
}

type Row = ProfilePage['rows'][number];

/** A flat record, for tables and for import. The identifiers come first, and metadata cannot replace them. */
function recordOf(kind: Kind, { id, companyId, metadata }: Row): ListRecord {
  const head = kind === 'users' ? { user_id: id, company_id: companyId } : { company_id: id };
  return { ...head, ...(JSON.parse(metadata) as ListRecord), ...head };
}

/** The same as JSON text, with numbers as they were sent. */
function sourceOf(kind: Kind, row: Row): string {
  const record = recordOf(kind, row);
  const own = Object.keys(JSON.parse(row.metadata) as ListRecord);
  if (own.includes('company_id') || own.includes('user_id')) return JSON.stringify(record);
  const { user_id, company_id } = record;
  const head = JSON.stringify(kind === 'users' ? { user_id, company_id } : { company_id });
  return own.length === 0 ? head : `${head.slice(0, -1)},${row.metadata.slice(1)}`;
}

export const show = spec({
  summary: 'show one company or user',
  words: { '<kind>': 'company or user', '<id>': 'its identifier' },
  examples: ['profiles sandbox show company acme-001', 'profiles sandbox show user u-1001 --json'],
  options: async ([noun = '', id = ''], flags, context) => {
    if (noun !== 'company' && noun !== 'user') {
      const hint = 'profiles sandbox show company <id>, or profiles sandbox show user <id>';
      throw usage(`unknown kind "${noun}"`, hint);
    }
    return { data: await dataFolder(flags, context), noun, id, region: regionIn(flags, context) };
  },
  run: async ({ data, noun, id, region }, context, { command }) => {
    refuseServerOptions(command);
    const { stdout, env, flags } = context;
    const kind = noun === 'company' ? 'companies' : 'users';
    const held = openSandboxData(data, context.clock);
    try {
      const profile = held?.profile(kind, id, region);
      if (profile === undefined) {
        const other = region === 'eu' ? 'default' : 'eu';
        const hint = held?.pending(kind, id, region)
          ? 'the job that imports it has not completed yet'
          : held?.profile(kind, id, other)
            ? `region ${other} has it: use --region ${other}`
            : `import it ${howToImport(region)} first`;
        throw usage(`no ${noun} "${id}" in the sandbox (region ${region})`, hint);
      }
      // As JSON in the service's shape, with numbers as they were sent, so that it can be imported again.
      if (flags.json) return await writeJson(stdout, profile.json);
      const { companyId, metadata } = profile;
      const head = kind === 'companies' ? { company_id: id } : { user_id: id, company_id: companyId };
      const styles = stylesOn(stdout, env, flags);
      const fields = Object.keys(metadata).length === 0 ? '' : `\n${fieldsText(metadata, styles)}`;
      await writeOut(stdout, fieldsText({ ...head, region }, styles) + fields);
    } finally {
      held?.close();
    }
  },
});

/**
 * `--data`, otherwise the folder of the state, where the embedded service of `--region sandbox` has its data. Other
 * settings do not affect the sandbox.
 */
export async function dataFolder(flags: Flags, context: Context): Promise<string> {
  const { data, config, account, state } = flags as SettingsFlags & { data?: string };
  if (data !== undefined) return resolve(context.cwd, data);
  const own = Object.entries({ config, account, state }).filter(([, value]) => value !== undefined);
  return (await resolveSettings(context, { ...Object.fromEntries(own), region: 'sandbox' })).stateDir;
}

/** `--region-of` or `--region`. Environment and config file are not read: they do not affect the sandbox. */
function regionIn(flags: Flags, context: Context): Region {
  const { regionOf } = given(SANDBOX_REGION, flags);
  const { region: named } = context.flags;
  // Imports with `--region sandbox` go to the default region of the sandbox, so it means that region here.
  const region = named === 'sandbox' ? undefined : named;
  if (regionOf !== undefined && region !== undefined && region !== regionOf) {
    throw usage(`--region ${region} and --region-of ${regionOf} cannot be combined`, 'leave one out');
  }
  const chosen = regionOf ?? region ?? 'default';
  if (chosen === 'default' || chosen === 'eu') return chosen;
  throw usage(`the sandbox has no region "${chosen}"`, 'available regions: default, eu');
}

/** How to import into a region: `--region sandbox` imports into the default one. */
const howToImport = (region: Region): string =>
  region === 'eu' ? 'through the EU address of profiles sandbox' : 'with --region sandbox';

/**
 * Commander accepts the options of the server for its subcommands, too: `sandbox reset --memory` would erase what is
 * on disk. @throws UsageError
 */
export function refuseServerOptions(command: Command): void {
  const server = command.parent!;
  const own = new Set(command.options.map(({ long }) => long));
  const given = server.options.find(
    (option) => !own.has(option.long) && server.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (!given) return;
  const name = command.name();
  const hint = `see profiles sandbox ${name} --help`;
  throw usage(`${given.long} is for the server: sandbox ${name} does not take it`, hint);
}
