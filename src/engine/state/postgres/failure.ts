/** Classifies failures of the database: whether they are temporary, and what to do about them. */
import { ConfigError, ProfilesError, StateError } from '../../errors.js';
import { StandbyError } from './connect.js';
import type { PostgresLocation } from './location.js';

/**
 * SQLSTATEs after which a new connection or another attempt may succeed. Two characters mean a whole class.
 */
const PASSING = [
  '08', // connection exceptions, including those of PgBouncer
  '25006', // read-only: the server was demoted, or is a standby
  '25P03', // this process was idle in a transaction for too long
  '40', // deadlock, serialization
  '53300', // too many connections
  '55P03', // lock not available in time
  '57014', // canceled, also by a timeout
  '57P01', // shut down
  '57P02', // crashed
  '57P03', // starting up
];

/** Those of them after which the same connection can be used. */
const SAME_CONNECTION = ['40', '55P03', '57014'];

/** Errors of Node and `pg`: the connection was lost, or there was none. */
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|EAI_AGAIN|ERR_STREAM|ERR_SSL|ERR_SOCKET)/;
const TERMINATED = /Connection terminated|timeout expired|not queryable|connection error/i;

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

const isOneOf = (code: string, codes: readonly string[]): boolean =>
  codes.some((each) => (each.length === 2 ? code.length === 5 && code.startsWith(each) : code === each));

/** Whether a failure may be temporary. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ProfilesError) return false;
  if (error instanceof StandbyError) return true;
  const code = codeOf(error);
  if (isOneOf(code, PASSING) || NETWORK.test(code)) return true;
  return TERMINATED.test((error as Error).message ?? '');
}

/** Whether the connection can still be used. */
export const keepsConnection = (error: unknown): boolean => isOneOf(codeOf(error), SAME_CONNECTION);

/**
 * Whether to retry the first connection of a process: only if the server has answered, so the address is
 * right.
 */
export const isWorthWaiting = (error: unknown): boolean =>
  ['57P03', '53300', '57P01', '57P02'].includes(codeOf(error));

/**
 * Makes an error with advice. Messages of the server contain no password.
 * @param doing such as `record in`
 */
export function failureOf(
  error: unknown,
  doing: string,
  { name, user, schema }: PostgresLocation,
): ProfilesError {
  if (error instanceof ProfilesError) return error;
  const code = codeOf(error);
  const { message } = error as Error;
  const because = (sentence: string, hint: string): StateError =>
    new StateError(`cannot ${doing} ${name}: ${sentence}`, {
      hint,
      cause: error,
    });
  if (code === '53100') return because(message, 'free disk space on the database server, then resume');
  if (code === '25006' || error instanceof StandbyError) {
    return because(message, 'name the primary server, or all servers separated by commas');
  }
  if (code.startsWith('28') || /password/i.test(message)) {
    return because(
      message,
      'check user and password: PGPASSWORD, a password file, or the URL in the environment',
    );
  }
  if (code === '3D000') return because(message, 'create the database first, or check its name');
  if (code === '42501') {
    return because(message, `grant ${user} the rights on schema ${schema} that docs/machines.md lists`);
  }
  if (/certificate|self.signed|CERT|UNABLE_TO/i.test(`${code} ${message}`)) {
    return because(message, 'name the certificate of its authority with sslrootcert');
  }
  if (/SSL/.test(message)) return because(message, 'choose another sslmode, or turn on TLS on the server');
  if (code === 'ENOTFOUND') return because('no such host', 'check the host in the URL');
  if (isPassing(error))
    return because(message || code, 'check that the database can be reached, then resume');
  return because(message || code, 'check the database');
}

/** @throws ConfigError if the server is too old */
export function checkVersion(version: number, { name }: PostgresLocation): void {
  if (version >= 130_000) return;
  throw new ConfigError(`${name} is PostgreSQL ${Math.floor(version / 10_000)}, and 13 or later is needed`);
}
