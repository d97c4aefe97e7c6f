/** The embedded service: opens the store, starts the listeners, and stops them again. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { checkNames, type Names } from '../engine/util/option-names.js';
import { createApi } from './api.js';
import { openDatabase } from './database.js';
import { createFaultPlan, type Faults } from './faults.js';
import { createEvents, createKeyed } from './keyed.js';
import { Ledger, type LedgerEntry } from './ledger.js';
import { createRate, DEFAULT_LIMITS, type Limits } from './limits.js';
import { listen, stopServer } from './listen.js';
import { createListener } from './listener.js';
import { DEFAULT_LOOKUPS, LOOKUPS_FILE, type Lookups, readLookups } from './lookups.js';
import type { Role, Service } from './operations.js';
import type { Kind, Profile, Region } from './profile.js';
import type { ProfilePage, ProfileQuery } from './profile-index.js';
import { type SandboxClock, World } from './world.js';

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
const PORTS = { base: 0, lookup: 0, eu: 0, control: null, page: null };
const newKey = (): string => randomBytes(24).toString('base64url');
const NAMES: Names<SandboxOptions> = {
  ...{ dataDir: true, host: true, ports: true, expectToken: true, clock: true },
  ...{ seed: true, limits: true, faults: true, lookups: true, ledgerIds: true },
};

/**
 * Starts a sandbox.
 * @throws UsageError for an option with an unknown name, a port that is taken, or a fault that cannot be parsed;
 * StateError for its data; InputError for its lookups file
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  checkNames(options, NAMES);
  checkNames(options.ports ?? {}, PORTS, 'ports.');
  checkNames(options.limits ?? {}, DEFAULT_LIMITS, 'limits.');
  checkNames(options.lookups ?? {}, DEFAULT_LOOKUPS, 'lookups.');
  const {
    dataDir,
    host = LOOPBACK,
    clock = Date,
    seed = 1,
    ledgerIds = true,
    expectToken = newKey(),
  } = options;
  const ports = { ...PORTS, ...options.ports };
  const limits: Limits = { ...DEFAULT_LIMITS, ...options.limits };
  const faults = createFaultPlan(seed, () => limits.failJobs);
  for (const spec of options.faults ?? []) faults.add(spec);
  const lookups = options.lookups ? { ...DEFAULT_LOOKUPS, ...options.lookups } : lookupsOf(dataDir);
  const urls: Service['urls'] = { base: '', eu: null, lookup: '' };
  const urlOf = (region: Region): string => (region === 'eu' ? urls.eu : urls.base) ?? '';
  const world = new World(openDatabase(dataDir), clock, lookups, urlOf);
  const ledger = new Ledger();
  const stopping = new AbortController();
  const reset = (): void => {
    world.reset();
    ledger.clear();
    faults.restart();
  };
  const service: Service = {
    ...{ world, faults, limits, ledger, clock, host, urls, reset, isTooMany: createRate(limits) },
    ...{ token: expectToken, keepIds: ledgerIds, stop: stopping.signal },
  };
  const api = createApi(service);
  const events = createEvents(api, stopping.signal);
  const servers: Server[] = [];
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(servers.map(stopServer));
    world.close();
  };
  /** Starts a server, and returns its URL. */
  const open = (server: Server, on: string, port: number, flag: string): Promise<string> => {
    servers.push(server);
    return listen(server, on, port, flag);
  };
  const serve = (role: Role, port: number, flag: string): Promise<string> =>
    open(createListener(role, service), host, port, flag);
  /** Starts a server that asks for a key. */
  const openKeyed = async (what: 'control' | 'page'): Promise<string | null> => {
    const port = ports[what];
    if (port === null) return null;
    const { server, path } = createKeyed(what, api, events);
    const at = (wanted: number): Promise<string> => open(server, LOOPBACK, wanted, `--${what}-port`);
    const url = typeof port === 'number' ? at(port) : at(PAGE_PORT).catch(() => at(0));
    return (await url) + path;
  };

  try {
    urls.base = await serve('default', ports.base, '--port');
    urls.lookup = await serve('lookup', ports.lookup, '--lookup-port');
    if (ports.eu !== null) urls.eu = await serve('eu', ports.eu, '--eu-port');
    return {
      ...{ url: urls.base, euUrl: urls.eu, lookupUrl: urls.lookup },
      ...{ controlUrl: await openKeyed('control'), pageUrl: await openKeyed('page') },
      ...{ token: expectToken ?? newKey(), faults, limits, reset, stop },
      ledger: () => ledger.list(),
      show: (kind, id, region = 'default') => world.profile(kind, id, region),
      list: (kind, query = {}) => world.profiles({ region: 'default', ...query, kind }),
      count: (kind, region = 'default') => {
        while (!world.catchUp());
        return world.profileCounts()[region][kind];
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function lookupsOf(dataDir: string | undefined): Lookups {
  const file = dataDir === undefined ? undefined : join(dataDir, LOOKUPS_FILE);
  return file && existsSync(file) ? readLookups(file) : DEFAULT_LOOKUPS;
}
