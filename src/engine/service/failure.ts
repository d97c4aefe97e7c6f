/** Describes why a request got no reply, from the errors of undici, net, dns, and tls. Pure. */

interface Failure {
  reason: string;
  /** Whether TLS failed. Then another attempt would fail, too. */
  tls: boolean;
  /** What to do, if that is known for this failure. */
  hint?: string;
}

/** What is known about an error. Texts of the tables name these. */
interface Cause {
  code: string;
  message: string;
  /** The host or address that failed, which may be a proxy. */
  peer: string;
  /** `host:port` of the service. */
  host: string;
  /** The service, or the proxy to which there is no connection. */
  server: string;
  /** What to check: the base URL, or the setting of the proxy. */
  setting: string;
  /** The setting of the proxy that was used, such as `HTTPS_PROXY`. */
  proxySetting: string;
  /** `before its reply`, or `in the middle of its reply`. */
  when: string;
}

/** A kind of failure. */
interface Row {
  /** Matches `<code> <message> <when>`. Its named groups can be used in the texts. */
  of: RegExp;
  reason: string;
  hint?: string;
  tls?: true;
}

const EXTRA_CA =
  'if a company proxy or a private authority issued it, put its CA certificate in a PEM file and set NODE_EXTRA_CA_CERTS=<file>';
const TUNNEL = 'check {proxySetting} (its name and password too) and NO_PROXY';
/** Only given if it is the proxy to which there is no connection. */
const PROXY = 'check the network, {proxySetting} and NO_PROXY';

const certificate = (of: RegExp, what: string, hint: string): Row => ({
  of,
  reason: `{server}'s certificate ${what} ({code})`,
  hint,
  tls: true,
});
const noTls = (of: RegExp, what: string): Row => ({
  of,
  reason: `{server} ${what} ({code})`,
  hint: 'check the scheme and the port of {setting}',
  tls: true,
});
const unconnected = (of: RegExp, what: string): Row => ({ of, reason: `${what} ({code})`, hint: PROXY });

/** Nothing was sent. The first row that fits counts. */
const UNSENT: readonly Row[] = [
  certificate(
    /^CERT_HAS_EXPIRED /,
    'has expired',
    "check this machine's clock; if it is right, the operator must renew the certificate",
  ),
  certificate(/^CERT_NOT_YET_VALID /, 'is not valid yet', "check this machine's clock"),
  certificate(/^CERT_REVOKED /, 'has been revoked', 'the operator must replace the certificate'),
  certificate(/^DEPTH_ZERO_SELF_SIGNED_CERT /, 'is self-signed', EXTRA_CA),
  certificate(
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE) /,
    'comes from an authority this machine does not know',
    EXTRA_CA,
  ),
  certificate(
    /^ERR_TLS_CERT_ALTNAME_INVALID (?:.*(?:altnames|list)(?<names>: .*) before)?/s,
    'names another host{names}',
    'check the host name in {setting}',
  ),
  noTls(
    /^(?:EPROTO|ERR_(?:SSL|TLS)_\w+) .*(?:wrong version number|packet length too long|http request)/is,
    'does not speak TLS on this port',
  ),
  noTls(/^(?:EPROTO|ERR_(?:SSL|TLS)_\w+) /, 'did not agree on TLS'),
  unconnected(/^ENOTFOUND /, 'host {peer} not found'),
  unconnected(/^EAI_AGAIN /, 'the host name {peer} could not be looked up: no name server answered'),
  unconnected(/^ECONNREFUSED /, '{peer} refused the connection'),
  unconnected(/^(?:UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT) /, '{peer} did not accept a connection in time'),
  unconnected(
    /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET) /,
    '{peer} closed the connection before anything was sent',
  ),
  unconnected(/^(?:E(?:NET|HOST)UNREACH|EADDRNOTAVAIL) /, '{peer} cannot be reached from this network'),
  {
    of: /^(?:NO_TUNNEL|UND_ERR_SOCKS5\w*) /,
    reason: 'the proxy did not connect to {host}: {message}',
    hint: TUNNEL,
  },
  {
    of: / Proxy response \((?<status>\d+)\)/,
    reason: 'the proxy refused to connect to {host}: it answered {status}',
    hint: TUNNEL,
  },
  {
    // The parser of HTTP is WebAssembly, for which Node reserves ten gigabytes of addresses.
    of: / WebAss\w+\./,
    reason: 'no connection to {host}: the address space of this process is limited too much ({message})',
    hint: 'allow it more: ulimit -v unlimited',
  },
  { of: /^\S/, reason: 'no connection to {host}: {message} ({code})' },
  { of: /^/, reason: 'no connection to {host}: {message}' },
];

/** A part of the request or all of it was sent, so it may have arrived. The first row that fits counts. */
const LOST: readonly Row[] = [
  { of: /^(?:ECONNRESET|EPIPE) /, reason: '{host} reset the connection {when} ({code})' },
  // undici's words where it ended the connection itself.
  { of: /^UND_ERR_SOCKET bad /, reason: '{host} sent a response that is not HTTP: {message}' },
  {
    of: /^UND_ERR_RES_CONTENT_LENGTH_MISMATCH .* before its reply$/s,
    reason: '{host} sent a response that is not HTTP: it has two lengths',
  },
  // The last one is of the parser if the chunks of a reply have no end.
  {
    of: /^(?:UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|NO_TUNNEL|HTTPParserError .*Invalid EOF state.*) /s,
    reason: '{host} closed the connection {when}',
  },
  { of: /^HTTPParserError /, reason: '{host} sent a response that is not HTTP: {message}' },
  { of: /^\S/, reason: 'the connection to {host} failed {when}: {message} ({code})' },
  { of: /^/, reason: 'the connection to {host} failed {when}: {message}' },
];

/**
 * Describes a failure before anything was sent.
 * @param host `host:port` of the service
 * @param proxySetting the setting of the proxy for this host; undefined without a proxy
 */
export function connectFailure(error: unknown, host: string, proxySetting?: string): Failure {
  const cause = causeOf(error, host, 'before its reply', proxySetting);
  const { row, fill } = found(UNSENT, cause);
  const hint = row.hint === PROXY && cause.server === host ? undefined : row.hint;
  return { reason: fill(row.reason), tls: row.tls ?? false, ...(hint && { hint: fill(hint) }) };
}

/**
 * Describes a failure after the request began to be written, so that its outcome is unknown.
 * @param replyStarted whether the head of a reply had been read
 */
export function lostReason(error: unknown, host: string, replyStarted: boolean): string {
  const when = replyStarted ? 'in the middle of its reply' : 'before its reply';
  const { row, fill } = found(LOST, causeOf(error, host, when));
  return fill(row.reason);
}

function found(rows: readonly Row[], cause: Cause): { row: Row; fill: (text: string) => string } {
  const subject = `${cause.code} ${cause.message} ${cause.when}`;
  const row = rows.find(({ of }) => of.test(subject))!;
  const facts: Record<string, string | undefined> = { ...cause, ...row.of.exec(subject)?.groups };
  return { row, fill: (text) => text.replace(/\{(\w+)\}/g, (_, name: string) => facts[name] ?? '') };
}

/** What `proxy.ts`, net, and dns add to errors. */
interface Known extends NodeJS.ErrnoException {
  hostname?: string;
  address?: string;
  port?: number;
  proxy?: string;
}

/** Finds the most specific error: of the first address that was tried, or inside a wrapper of undici. */
function causeOf(given: unknown, host: string, when: string, proxySetting = ''): Cause {
  let error: Known = given instanceof Error ? given : new Error(String(given));
  let { proxy } = error;
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  const isWrapped = error instanceof AggregateError || error.name === 'SecureProxyConnectionError';
  if (isWrapped && inner instanceof Error) error = inner;
  proxy ??= error.proxy;
  const { name, message, hostname, address, port } = error;
  // Errors of undici's parser have no code.
  const code = name === 'HTTPParserError' ? name : (error.code ?? '');
  const tried = /attempted address(?:es)?: ([^,)]+)/.exec(message)?.[1];
  return {
    code,
    message: message.replace(/\s+/g, ' '),
    peer: hostname ?? (address === undefined ? tried : `${address}:${port}`) ?? host,
    host,
    server: proxy === undefined ? host : `the proxy ${proxy}`,
    setting: proxy === undefined ? 'the base URL' : proxySetting,
    proxySetting,
    when,
  };
}
