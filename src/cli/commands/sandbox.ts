/** `profiles sandbox`: serves the embedded service until it is stopped, shows its data, or erases it (contract §8). */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { ID_FIELD, KINDS, SINGULAR } from '../../engine/model.js';
import { takeLocks } from '../../engine/run/door.js';
import { isLoopback } from '../../engine/service/address.js';
import { count } from '../../engine/util/numbers.js';
import * as embedded from '../../sandbox/index.js';
import { openSandboxData } from '../../sandbox/world.js';
import { shellWord } from '../advice/shell.js';
import { type Context, EMBEDDED } from '../context.js';
import { given, OTHERS, SANDBOX, usage, valuesOf } from '../options/index.js';
import { fieldsFor, type ListRecord } from '../output/records.js';
import { writeJson, writeOut } from '../output/terminal.js';
import { resolveSettings, type SettingsFlags } from '../settings/index.js';
import { type Flags, type Line, print, refuse, type Spec, say } from './command.js';
import * as lists from './list.js';
import { statePlace } from './recorded.js';

type Data = NonNullable<ReturnType<typeof openSandboxData>>;
type Row = embedded.ProfilePage['rows'][number];

/** Looks at the data of the sandbox, if there are any, and closes them. */
async function reading<T>(data: string, { clock }: Context, look: (held: Data | undefined) => T) {
  const held = openSandboxData(data, clock);
  try {
    return await look(held);
  } finally {
    held?.close();
  }
}

/** Search, order, and limit are one query over all profiles, as on the sandbox's page; `--filter` is for its result. */
const list = lists.list(async ({ words: [word = ''], flags }, context, listing) => {
  const kind = KINDS.find((one) => one === word);
  if (kind === undefined) throw usage(`unknown kind "${word}"`, 'it lists companies or users');
  const data = await dataFolder(flags, context);
  const region = regionIn(flags, context);
  const { search, sort, limit, ...others } = listing.selection;
  // With `--filter`, the limit is applied after it.
  const [inQuery, after] = others.filter === undefined ? [limit, undefined] : [undefined, limit];
  const by = sort && { by: sort.key === ID_FIELD[kind] ? 'id' : sort.key, descending: sort.descending };
  const query = { kind, region, search, sort: by, limit: inQuery };
  const { rows, total, found } = (await reading(data, context, (held) => held?.profiles(query))) ?? NONE;
  const listed = rows.map((row) => recordOf(kind, row));
  const records = listed.map(({ record }) => record);
  if (by !== undefined) checkSort(by.by, records);
  const none = `no ${kind} in the sandbox (region ${region}): import some ${howToImport(region)}`;
  const counted = (n: number): string => count(n, SINGULAR[kind], kind);
  const of = search === undefined ? '' : `${counted(found)} of `;
  return {
    ...{ records, id: ID_FIELD[kind] },
    fields: kind === 'users' ? ['user_id', 'company_id'] : ['company_id'],
    source: `[${listed.map(({ source }) => source).join(',')}]`,
    empty: total === 0 ? none : `no ${kind} match this search`,
    selection: { ...others, ...(after !== undefined && { limit: after }) },
    after: total === 0 ? [] : [`${of}${counted(total)} in region ${region}`],
  };
});
const NONE: embedded.ProfilePage = { total: 0, found: 0, rows: [] };

/** Records without a value come last: if the first one has none, no record has one. @throws UsageError */
function checkSort(key: string, [first]: readonly ListRecord[]): void {
  if (!first || ['id', 'updated', 'company_id'].includes(key) || Object.hasOwn(first, key)) return;
  const fields = Object.keys(first).join(', ');
  throw usage(`--sort: unknown field "${key}"`, `available fields: updated, ${fields}`);
}

const idsOf = (kind: embedded.Kind, { id, companyId }: Pick<Row, 'id' | 'companyId'>): ListRecord =>
  kind === 'users' ? { user_id: id, company_id: companyId } : { company_id: id };

/** A flat record, for tables and for import, also as JSON text with numbers as they were sent. Metadata cannot replace identifiers. */
function recordOf(kind: embedded.Kind, row: Row): { record: ListRecord; source: string } {
  const [ids, own] = [idsOf(kind, row), JSON.parse(row.metadata) as ListRecord];
  const record = { ...ids, ...own, ...ids };
  if ('company_id' in own || 'user_id' in own) return { record, source: JSON.stringify(record) };
  const source = `${JSON.stringify(ids).slice(0, -1)},${row.metadata.slice(1)}`;
  return { record, source: source.replace(/,\}$/, '}') };
}

const show: Spec = {
  run: async ({ words: [noun = '', id = ''], flags }, context) => {
    const kind = KINDS.find((one) => SINGULAR[one] === noun);
    const hint = 'profiles sandbox show company <id>, or profiles sandbox show user <id>';
    if (kind === undefined) throw usage(`unknown kind "${noun}"`, hint);
    const data = await dataFolder(flags, context);
    const region = regionIn(flags, context);
    const { stdout } = context;
    const { json, companyId, metadata } = await reading(data, context, (held) => {
      const profile = held?.profile(kind, id, region);
      if (profile) return profile;
      const other = region === 'eu' ? 'default' : 'eu';
      const pending = held?.pending(kind, id, region) && 'the job that imports it has not completed yet';
      const there = held?.profile(kind, id, other) && `region ${other} has it: use --region ${other}`;
      const hint = pending || there || `import it ${howToImport(region)} first`;
      throw usage(`no ${noun} "${id}" in the sandbox (region ${region})`, hint);
    });
    // As JSON in the service's shape, with numbers as they were sent, so that it can be imported again.
    if (flags.json) return writeJson(stdout, json);
    const more = Object.keys(metadata).length === 0 ? [] : [metadata];
    await writeOut(stdout, fieldsFor(context, { ...idsOf(kind, { id, companyId }), region }, ...more));
  },
};

/**
 * `--data`, otherwise the folder of the state, where the embedded service of `--region sandbox` has its data. Other
 * settings do not affect the sandbox.
 */
async function dataFolder(flags: Flags, context: Context): Promise<string> {
  const { data, baseUrl: _, lookupBaseUrl: __, ...own } = flags as SettingsFlags & { data?: string };
  if (data !== undefined) return resolve(context.cwd, data);
  return (await resolveSettings(context, { ...own, region: 'sandbox' })).stateDir;
}

/** `--region-of` or `--region`. Environment and config file are not read: they do not affect the sandbox. */
function regionIn(flags: Flags, context: Context): embedded.Region {
  const { regionOf } = given(OTHERS, flags);
  // Imports with `--region sandbox` go to the default region of the sandbox, so it means that region here.
  const region = context.flags.region === 'sandbox' ? undefined : context.flags.region;
  if (regionOf !== undefined && region !== undefined && region !== regionOf)
    throw usage(`--region ${region} and --region-of ${regionOf} cannot be combined`, 'leave one out');
  const chosen = regionOf ?? region ?? 'default';
  if (chosen === 'default' || chosen === 'eu') return chosen;
  throw usage(`the sandbox has no region "${chosen}"`, 'available regions: default, eu');
}

/** How to import into a region: `--region sandbox` imports into the default one. */
const howToImport = (region: embedded.Region): string =>
  region === 'eu' ? 'through the EU address of profiles sandbox' : 'with --region sandbox';

export const command: Spec = {
  anyWords: true,
  run: async ({ words: [word], flags }, context, { command }) =>
    word === undefined ? serve(await serverOptions(flags, context), context) : refuse(word, command),
  commands: { list, show, reset: { run: reset } },
};

async function serverOptions(flags: Flags, context: Context): Promise<embedded.SandboxOptions> {
  const values = valuesOf(SANDBOX, flags);
  const { memory, data: _, host, seed, fault = [], lookups, expectToken = null, ...others } = values;
  const { port, lookupPort, euPort, pagePort, page, controlPort, latency, ...limits } = others;
  const hint = 'an API key is one word of ASCII characters';
  if (expectToken !== null && !/^[\x21-\x7e]+$/.test(expectToken))
    throw usage('--expect-token contains white space or non-ASCII characters', hint);
  const asked = Object.entries({ ...limits, latencyMs: latency }).filter(([, value]) => value !== undefined);
  return {
    ...(memory ? {} : { dataDir: await dataFolder(flags, context) }),
    ports: {
      ...{ base: port, lookup: lookupPort, eu: euPort, control: controlPort ?? null },
      page: page === false ? null : (pagePort ?? '4103 or free'),
    },
    ...{ host, expectToken, clock: context.clock, seed, faults: fault, limits: Object.fromEntries(asked) },
    ...(lookups === undefined ? {} : { lookups: embedded.readLookups(resolve(context.cwd, lookups)) }),
    // Only the control API shows the ledger. Without it, stored identifiers would only use memory.
    ledgerIds: controlPort !== undefined,
  };
}

async function serve(options: embedded.SandboxOptions, context: Context): Promise<void> {
  const { stop } = context;
  const { host = '127.0.0.1', expectToken, dataDir } = options;
  const sandbox = await embedded.startSandbox(options);
  try {
    if (!isLoopback(host.includes(':') ? `[${host}]` : host)) {
      const can = expectToken ? 'try to read and change' : 'read and change';
      const reach = `anyone who can reach this machine can ${can} its data`;
      context.warn(`listening on ${host}, which is not loopback: ${reach}`);
    }
    await printAddresses(sandbox, context);
    const { controlUrl, pageUrl, euUrl } = sandbox;
    const control = controlUrl === null ? '' : `, control ${controlUrl}`;
    const kept = dataDir === undefined ? 'in memory' : `in ${dataDir}`;
    if (pageUrl !== null) await say(context, `sandbox: page ${pageUrl}`);
    await say(context, `sandbox: EU region ${euUrl}${control}; data ${kept}; press Ctrl-C to stop`);
    if (!stop.aborted) await once(stop, 'abort');
  } finally {
    await sandbox.stop();
  }
}

/** Prints the variables that point any client at it. */
function printAddresses(sandbox: embedded.Sandbox, context: Context): Promise<void> {
  const { url, euUrl, lookupUrl, controlUrl, pageUrl, token } = sandbox;
  const { hostname } = new URL(url);
  const variables = {
    ...{ PROFILES_BASE_URL: url, PROFILES_LOOKUP_BASE_URL: lookupUrl, PROFILES_TOKEN: token },
    ...(!isLoopback(hostname) && { PROFILES_ALLOW_HTTP: hostname }),
  };
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}\n`);
  const hosts = { base_url: url, eu_base_url: euUrl, lookup_base_url: lookupUrl };
  return print(context, { ...hosts, control_url: controlUrl, page_url: pageUrl, token }, lines.join(''));
}

/**
 * Erases all profiles and jobs of the sandbox, and what the state knows about them.
 * @throws LockedError while an import to the sandbox runs; UsageError for a single region
 */
async function reset({ flags }: Line, context: Context): Promise<void> {
  const data = await dataFolder(flags, context);
  if (flags.region !== undefined && flags.region !== 'sandbox')
    throw usage('sandbox reset erases all regions of the sandbox', 'leave --region out');
  // Only imports with `--region sandbox` are in the state, and their data is always in the state directory.
  const isEmbedded = data === (await context.settings()).stateDir && (await statePlace(context)).exists;
  const state = isEmbedded ? await context.state() : null;
  const locks = state ? await takeLocks(state, EMBEDDED, KINDS, 'sandbox reset') : [];
  try {
    const none = { companies: 0, users: 0, jobs: 0 };
    const erased = await reading(data, context, (held) => held?.reset() ?? none);
    const forgotten = (await state?.runs.forgetScope(EMBEDDED)) ?? { runs: 0, jobs: 0 };
    const companies = count(erased.companies, 'company', 'companies');
    const others = `${count(erased.users, 'user')}, and ${count(erased.jobs, 'job')}`;
    const runs = forgotten.runs === 0 ? '' : `; forgot ${count(forgotten.runs, 'import')} to it`;
    await print(context, { erased, forgotten, data }, `erased ${companies}, ${others} from ${data}${runs}\n`);
  } finally {
    for (const lock of locks) await lock.release();
  }
}
