/** The embedded service: opens the store, starts the listeners, and stops them again. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { checkNames, type Names } from '../engine/option-names.js';
import { type Api, createApi } from './api.js';
import { createControl } from './control.js';
import { openDatabase } from './database.js';
import { createEvents } from './events.js';
import { createFaultPlan, type Faults } from './faults.js';
import { Ledger, type LedgerEntry } from './ledger.js';
import { DEFAULT_LIMITS, type Limits } from './limits.js';
import { listen, stopServer } from './listen.js';
import { createListener, type Shared } from './listener.js';
import { DEFAULT_LOOKUPS, LOOKUPS_FILE, type Lookups, readLookups } from './lookups.js';
import { createPage } from './page/server.js';
import type { ProfilePage, ProfileQuery } from './profile-index.js';
import { createService } from './service.js';
import type { Kind, Profile, Region, SandboxClock } from './types.js';
import { World } from './world.js';

/** How to start a sandbox. */
export interface SandboxOptions {
  /**
   * Folder for its data: `sandbox.db`, and `sandbox-lookups.json` if there is one. Default: it keeps
   * everything in memory.
   */
  dataDir?: string;
  /**
   * Address to listen on. Default `127.0.0.1`; then it only answers requests for a name of this machine.
   * Control and page always listen on loopback.
   */
  host?: string;
  /**
   * Ports. 0, the default, picks a free one; null turns a listener off. Control and page are off unless you
   * name a port.
   */
  ports?: {
    base?: number;
    lookup?: number;
    eu?: number | null;
    control?: number | null;
    /** `4103 or free`: 4103, or a free port if 4103 cannot be used. */
    page?: number | '4103 or free' | null;
  };
  /**
   * The only API key that it accepts; null accepts any well-formed key. Default: a random one, see `token`.
   */
  expectToken?: string | null;
  /** Its clock, for tests that do not wait. Default: the system clock. */
  clock?: SandboxClock;
  /** Makes faults with a probability repeatable. Default 1. */
  seed?: number;
  /** Speed and limits. */
  limits?: Partial<Limits>;
  /** Fault specs, such as `503:first=3`. */
  faults?: readonly string[];
  /** Embeds and checklists. Default: those of `sandbox-lookups.json` in the data folder, or an example. */
  lookups?: Partial<Lookups>;
  /** Records the identifiers of each request in the ledger. Default true. */
  ledgerIds?: boolean;
}

const OPTION_NAMES: Names<SandboxOptions> = {
  dataDir: true,
  host: true,
  ports: true,
  expectToken: true,
  clock: true,
  seed: true,
  limits: true,
  faults: true,
  lookups: true,
  ledgerIds: true,
};
const PORT_NAMES: Names<NonNullable<SandboxOptions['ports']>> = {
  base: true,
  lookup: true,
  eu: true,
  control: true,
  page: true,
};

/** A running sandbox. */
export interface Sandbox {
  /** Host of imports and jobs in the default region (spec: `{base_url}`). */
  readonly url: string;
  /** Host of imports and jobs in the EU region, or null. */
  readonly euUrl: string | null;
  /** Host of lookup lists (spec: `{lookup_base_url}`). */
  readonly lookupUrl: string;
  /** Address of its API for tests, with the key, or null. `ports.control` asks for it. */
  readonly controlUrl: string | null;
  /** Address of its page, with the key, or null. `ports.page` asks for it. */
  readonly pageUrl: string | null;
  /** An API key that it accepts. */
  readonly token: string;
  /** Its faults, which you can set and clear while it runs. */
  readonly faults: Faults;
  /** Its limits, which you can change while it runs. */
  readonly limits: Limits;
  /** The requests that arrived, oldest first: at least the newest 100,000. */
  ledger(): LedgerEntry[];
  /** A profile as it is now, or undefined. Region `default` unless you name another one. */
  show(kind: Kind, id: string, region?: Region): Profile | undefined;
  /** Profiles as they are now: searched, sorted (by identifier unless you say otherwise), and paged. */
  list(kind: Kind, query?: Partial<Omit<ProfileQuery, 'kind'>>): Promise<ProfilePage>;
  /** The number of profiles of a kind in a region. */
  count(kind: Kind, region?: Region): number;
  /** Erases profiles, jobs, and the ledger, and starts counting for faults from one again. */
  reset(): void;
  /** Stops it: requests in flight finish, hanging ones end, and ports and data are released. */
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const PAGE_PORT = 4103;

/**
 * Starts a sandbox.
 * @throws UsageError for an option with an unknown name, a port that is taken, or a fault that cannot be parsed;
 * StateError for its data; InputError for its lookups file
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  checkNames(options, OPTION_NAMES);
  checkNames(options.ports === undefined ? {} : options.ports, PORT_NAMES, 'ports.');
  checkNames(options.limits ?? {}, DEFAULT_LIMITS, 'limits.');
  checkNames(options.lookups ?? {}, DEFAULT_LOOKUPS, 'lookups.');
  const { dataDir = null, host = '127.0.0.1', ports = {}, clock = { now: () => Date.now() } } = options;
  const limits: Limits = { ...DEFAULT_LIMITS, ...options.limits };
  const faults = createFaultPlan(options.seed ?? 1, () => limits.failJobs);
  for (const spec of options.faults ?? []) faults.add(spec);
  const lookups = options.lookups ? { ...DEFAULT_LOOKUPS, ...options.lookups } : lookupsOf(dataDir);
  const addresses: { base: string; eu: string | null; lookup: string } = { base: '', eu: null, lookup: '' };
  const world = new World(openDatabase(dataDir), clock, lookups, (region) =>
    region === 'eu' ? (addresses.eu ?? '') : addresses.base,
  );
  const ledger = new Ledger();
  const { expectToken = randomBytes(24).toString('base64url') } = options;
  const stopping = new AbortController();
  const servers: Server[] = [];

  const shared: Shared = {
    host,
    service: createService({
      world,
      limits,
      token: expectToken,
      outcome: faults.outcome,
      keepIds: options.ledgerIds ?? true,
      openapi: async () =>
        JSON.stringify((await import('../../openapi.json', { with: { type: 'json' } })).default),
    }),
    faults,
    limits,
    ledger,
    clock,
    rate: { window: { second: 0, requests: 0 } },
    stop: stopping.signal,
  };
  const reset = (): void => {
    world.reset();
    ledger.clear();
    faults.restart();
  };
  const api: Api = createApi({
    world,
    faults,
    limits,
    ledger,
    clock,
    anyToken: expectToken === null,
    addresses: () => addresses,
    reset,
  });
  const events = createEvents(api.overview);
  const stop = async (): Promise<void> => {
    stopping.abort();
    events.stop();
    await Promise.all(servers.map(stopServer));
    world.close();
  };
  /** Starts a server, and returns its URL. */
  const open = async (
    on: string,
    port: number,
    flag: string,
    make: (url: () => string) => Server,
  ): Promise<string> => {
    let url = '';
    const server = make(() => url);
    servers.push(server);
    url = await listen(server, on, port, flag);
    return url;
  };

  const openControl = async (port: number): Promise<string> => {
    const { server, path } = createControl(api, events);
    return (await open(LOOPBACK, port, '--control-port', () => server)) + path;
  };
  const openPage = async (port: number | '4103 or free'): Promise<string> => {
    const { server, path } = createPage(api, events);
    const at = (wanted: number): Promise<string> => open(LOOPBACK, wanted, '--page-port', () => server);
    if (typeof port === 'number') return (await at(port)) + path;
    return (await at(PAGE_PORT).catch(() => at(0))) + path;
  };

  try {
    const base = (region: Region, port: number, flag: string): Promise<string> =>
      open(host, port, flag, (url) => createListener({ type: 'base', region }, url, shared));
    const url = await base('default', ports.base ?? 0, '--port');
    const lookupUrl = await open(host, ports.lookup ?? 0, '--lookup-port', (own) =>
      createListener({ type: 'lookup' }, own, shared),
    );
    const euUrl = ports.eu === null ? null : await base('eu', ports.eu ?? 0, '--eu-port');
    Object.assign(addresses, { base: url, eu: euUrl, lookup: lookupUrl });
    const { control = null, page = null } = ports;
    const controlUrl = control === null ? null : await openControl(control);
    const pageUrl = page === null ? null : await openPage(page);
    return {
      url,
      euUrl,
      lookupUrl,
      controlUrl,
      pageUrl,
      token: expectToken ?? randomBytes(24).toString('base64url'),
      faults,
      limits,
      ledger: () => ledger.list(),
      show: (kind, id, region = 'default') => world.profile(kind, id, region),
      list: (kind, query = {}) => world.profiles({ region: 'default', ...query, kind }),
      count: (kind, region = 'default') => {
        while (!world.catchUp());
        return world.profileCounts()[region][kind];
      },
      reset,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Starts the service inside a command (`--region sandbox`): with data in the state directory, free ports,
 * only the default region, and only a random API key made for this process.
 */
export function startEmbedded(options: { stateDir: string; clock: SandboxClock }): Promise<Sandbox> {
  const { stateDir, clock } = options;
  return startSandbox({ dataDir: stateDir, clock, ports: { eu: null }, ledgerIds: false });
}

function lookupsOf(dataDir: string | null): Lookups {
  const file = dataDir === null ? undefined : join(dataDir, LOOKUPS_FILE);
  return file && existsSync(file) ? readLookups(file) : DEFAULT_LOOKUPS;
}
