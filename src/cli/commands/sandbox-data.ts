/** `profiles sandbox list` and `show`: the companies and users of the sandbox (contract §8). */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ID_FIELD, SINGULAR } from '../../engine/model.js';
import { count } from '../../engine/util/numbers.js';
import { type Kind, openSandboxData, type ProfilePage, type Region } from '../../sandbox/index.js';
import type { Context } from '../context.js';
import { given, SANDBOX_REGION, usage } from '../options/index.js';
import type { ListRecord } from '../output/records.js';
import { fieldsOn } from '../output/records.js';
import { writeJson, writeOut } from '../output/write.js';
import { resolveSettings, type SettingsFlags } from '../settings/index.js';
import { type Flags, spec } from './command.js';
import { list as listed } from './list.js';

type Data = NonNullable<ReturnType<typeof openSandboxData>>;

/** Looks at the data of the sandbox, if there are any, and closes them. */
async function reading<T>(data: string, { clock }: Context, look: (held: Data | undefined) => T): Promise<T> {
  const held = openSandboxData(data, clock) ?? undefined;
  try {
    return await look(held);
  } finally {
    held?.close();
  }
}

export const list = listed({
  options: async ([word = ''], flags, context) => {
    const kind = (['companies', 'users'] as const).find((one) => one === word);
    if (kind === undefined) throw usage(`unknown kind "${word}"`, 'it lists companies or users');
    return { data: await dataFolder(flags, context), kind, region: regionIn(flags, context) };
  },
  /** Search, order, and limit are one query over all profiles, as on the sandbox's page; `--filter` is for its result. */
  find: async ({ data, kind, region }, context, listing, { command }) => {
    refuseServerOptions(command);
    const { search, sort, limit, ...selection } = listing.selection;
    // With `--filter`, the limit is applied after it.
    const limitsQuery = selection.filter === undefined;
    const by = sort && { by: sort.key === ID_FIELD[kind] ? 'id' : sort.key, descending: sort.descending };
    const query = { kind, region, search, sort: by, limit: limitsQuery ? limit : undefined };
    const page = await reading<ProfilePage | Promise<ProfilePage> | undefined>(data, context, (held) =>
      held?.profiles(query),
    );
    const { rows, total, found } = page ?? { total: 0, found: 0, rows: [] };
    const records = rows.map((row) => recordOf(kind, row));
    if (by !== undefined) checkSort(by.by, records);
    const none = `no ${kind} in the sandbox (region ${region}): import some ${howToImport(region)}`;
    const counted = (n: number): string => count(n, SINGULAR[kind], kind);
    const of = search === undefined ? '' : `${counted(found)} of `;
    return {
      records,
      fields: kind === 'users' ? ['user_id', 'company_id'] : ['company_id'],
      id: ID_FIELD[kind],
      source: `[${rows.map((row) => sourceOf(kind, row)).join(',')}]`,
      empty: total === 0 ? none : `no ${kind} match this search`,
      selection: limitsQuery || limit === undefined ? selection : { ...selection, limit },
      after: total === 0 ? [] : [`${of}${counted(total)} in region ${region}`],
    };
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
  options: async ([noun = '', id = ''], flags, context) => {
    if (noun !== 'company' && noun !== 'user') {
      const hint = 'profiles sandbox show company <id>, or profiles sandbox show user <id>';
      throw usage(`unknown kind "${noun}"`, hint);
    }
    return { data: await dataFolder(flags, context), noun, id, region: regionIn(flags, context) };
  },
  run: async ({ data, noun, id, region }, context, { command }) => {
    refuseServerOptions(command);
    const { stdout, flags } = context;
    const kind = noun === 'company' ? 'companies' : 'users';
    const { json, companyId, metadata } = await reading(data, context, (held) => {
      const profile = held?.profile(kind, id, region);
      if (profile) return profile;
      const other = region === 'eu' ? 'default' : 'eu';
      const hint = held?.pending(kind, id, region)
        ? 'the job that imports it has not completed yet'
        : held?.profile(kind, id, other)
          ? `region ${other} has it: use --region ${other}`
          : `import it ${howToImport(region)} first`;
      throw usage(`no ${noun} "${id}" in the sandbox (region ${region})`, hint);
    });
    // As JSON in the service's shape, with numbers as they were sent, so that it can be imported again.
    if (flags.json) return writeJson(stdout, json);
    const head = kind === 'companies' ? { company_id: id } : { user_id: id, company_id: companyId };
    const more = Object.keys(metadata).length === 0 ? [] : [metadata];
    await writeOut(stdout, fieldsOn(stdout, context, { ...head, region }, ...more));
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
