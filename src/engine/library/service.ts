/** Which service, and as whom: given by the caller, read from nowhere. */

import { systemClock } from '../clock.js';
import { numberOption } from '../options.js';
import { parseHost } from '../service/address.js';
import {
  createClient as connect,
  type LogEntry,
  type ProxyEnv,
  type ServiceClient,
} from '../service/client.js';

/** A service and the account that is used there. No environment variable and no config file is read. */
export interface ServiceOptions {
  /** `{base_url}` of the spec: host of bulk and job operations. A path prefix is kept. `https://`, or loopback. */
  baseUrl: string;
  /** `{lookup_base_url}` of the spec. Only lookups need it, and `checkProperties`. */
  lookupBaseUrl?: string | undefined;
  /** The API key (spec: Authentication), without the word `Token`. It is neither logged nor stored. */
  token: string;
  /** A name for the account, under which the state keeps what belongs to it. Default: a keyed hash of the token. */
  account?: string | undefined;
  /** As reports and the state name it. Default `default`. */
  region?: string | undefined;
  /** The hosts besides loopback that `http://` may name, separated by commas. Default: none. */
  allowHttp?: string | undefined;
  /** Deadline of one request, from connecting to the last byte of its reply, milliseconds. Default 120,000. */
  timeoutMs?: number | undefined;
  /** `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, by these names. Default: no proxy. Loopback never uses one. */
  proxy?: ProxyEnv | undefined;
  /** One entry for each request, without token and body. */
  log?: ((entry: LogEntry) => void) | undefined;
}

/**
 * A client of all seven operations. Opens no socket before the first request; `close` it when done.
 *
 * `submit` and `identifyCompany` make one attempt and give the answer, whatever it is: `runImport` is what
 * retries and keeps account. `job` and `lookup` retry passing failures.
 * @throws ConfigError for a URL that cannot be used, UsageError for a token that cannot be in a header or a
 *   deadline that is none
 */
export function createClient(service: ServiceOptions): ServiceClient {
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

/** The base URL as the state and the reports name it. @throws ConfigError */
export const baseUrlOf = (service: ServiceOptions): string => hostOf(service, 'baseUrl');

function hostOf(service: ServiceOptions, field: 'baseUrl' | 'lookupBaseUrl'): string {
  return parseHost(service[field] ?? '', field, service.allowHttp);
}
