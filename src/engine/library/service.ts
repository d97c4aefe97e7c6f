/** The service and the account, which the caller gives: the library reads no settings. */

import { UsageError } from '../errors.js';
import { numberOption } from '../options.js';
import { type ProxyEnv, parseHost } from '../service/address.js';
import { createClient as connect, type LogEntry, type ServiceClient } from '../service/client.js';
import { systemClock } from '../util/clock.js';
import { checkNames, type Names } from '../util/option-names.js';

/** A service, and the account to use there. */
export interface ServiceOptions {
  /**
   * Host of imports and jobs (spec: `{base_url}`). May have a path. Must begin with `https://`, except for
   * loopback.
   */
  baseUrl: string;
  /** Host of lookup lists (spec: `{lookup_base_url}`). Only `lookup` and `checkProperties` need it. */
  lookupBaseUrl?: string | undefined;
  /** The API key (spec: Authentication), without the word `Token`. Never logged or stored. */
  token: string;
  /** Name of the account in the state and in reports. Default: a keyed hash of the token. */
  account?: string | undefined;
  /** Name of the region in the state and in reports. Default `default`. */
  region?: string | undefined;
  /** Other hosts than loopback that may use `http://`, separated by commas. Default: none. */
  allowHttp?: string | undefined;
  /** Milliseconds for one request, from connecting to the last byte of its reply. Default 120,000. */
  timeoutMs?: number | undefined;
  /** Proxy settings, such as `process.env`. Default: no proxy. Loopback never uses one. */
  proxy?: ProxyEnv | undefined;
  /** Called for each request. Entries contain no token and no body. */
  log?: ((entry: LogEntry) => void) | undefined;
}

const SERVICE_NAMES: Names<ServiceOptions> = {
  baseUrl: true,
  lookupBaseUrl: true,
  token: true,
  account: true,
  region: true,
  allowHttp: true,
  timeoutMs: true,
  proxy: true,
  log: true,
};

/**
 * Creates a client for all seven operations of the service. It opens no socket before the first request.
 * Close it when you are done.
 *
 * `submit` and `identifyCompany` make one attempt and return the answer, whatever it is. Use `runImport` for
 * retries and a record of what was sent. `job` and `lookup` retry temporary failures.
 * @throws ConfigError for an invalid URL; UsageError for a missing option or one with an unknown name, a token that
 * cannot be in a header, or a number out of range
 */
export function createClient(service: ServiceOptions): ServiceClient {
  checkService(service);
  const { token, proxy, log } = service;
  return connect({
    baseUrl: baseUrlOf(service),
    lookupBaseUrl: service.lookupBaseUrl === undefined ? null : hostOf(service, 'lookupBaseUrl'),
    token,
    timeoutMs: numberOption('timeoutMs', service.timeoutMs),
    clock: systemClock,
    ...(proxy && { proxy }),
    ...(log && { log }),
  });
}

/**
 * Without TypeScript, a missing token would be sent as `undefined`.
 * @param within as in `checkNames`
 * @throws UsageError
 */
export function checkService(service: ServiceOptions, within = ''): void {
  checkNames(service, SERVICE_NAMES, within);
  for (const name of ['baseUrl', 'token'] as const) {
    if (typeof service[name] !== 'string') throw new UsageError(`${within}${name} must be given, as text`);
  }
}

/** The base URL as the state and reports have it. @throws ConfigError */
export const baseUrlOf = (service: ServiceOptions): string => hostOf(service, 'baseUrl');

function hostOf(service: ServiceOptions, field: 'baseUrl' | 'lookupBaseUrl'): string {
  return parseHost(service[field] ?? '', field, service.allowHttp);
}
