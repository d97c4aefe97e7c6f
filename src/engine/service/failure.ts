/** Describes why a request got no reply, from the errors of undici, net, dns, and tls. Pure. */

interface Described {
  reason: string;
  /** What to do, if that is known for this failure. */
  hint?: string;
}

/** A kind of failure: matches `<code> <message>`. The texts name its groups, and what is known (`factsOf`). */
type Row = readonly [of: RegExp, reason: string, hint?: string];

const EXPIRED = "check this machine's clock; if it is right, the operator must renew the certificate";
const EXTRA_CA =
  'if a company proxy or a private authority issued it, put its CA certificate in a PEM file and set NODE_EXTRA_CA_CERTS=<file>';
const PORT = 'check the scheme and the port of {setting}';

/** Of each table, the first row that fits counts. */
const TLS: readonly Row[] = [
  [/^CERT_HAS_EXPIRED /, "{server}'s certificate has expired{coded}", EXPIRED],
  [/^CERT_NOT_YET_VALID /, "{server}'s certificate is not valid yet{coded}", "check this machine's clock"],
  [/^DEPTH_ZERO_SELF_SIGNED_CERT /, "{server}'s certificate is self-signed{coded}", EXTRA_CA],
  [
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE) /,
    "{server}'s certificate comes from an authority this machine does not know{coded}",
    EXTRA_CA,
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID (?:.*(?:altnames|list)(?<names>: .*\S))?/s,
    "{server}'s certificate names another host{names}{coded}",
    'check the host name in {setting}',
  ],
  [
    /^(?:EPROTO|ERR_(?:SSL|TLS)_\w+) .*(?:wrong version number|packet length too long|http request)/is,
    '{server} does not speak TLS on this port{coded}',
    PORT,
  ],
  [/^(?:EPROTO|ERR_(?:SSL|TLS)_\w+) /, '{server} did not agree on TLS{coded}', PORT],
];

/** There was no connection to the service, or to its proxy. */
const UNCONNECTED: readonly Row[] = [
  [/^ENOTFOUND /, 'host {peer} not found{coded}'],
  [/^EAI_AGAIN /, 'the host name {peer} could not be looked up: no name server answered{coded}'],
  [/^ECONNREFUSED /, '{peer} refused the connection{coded}'],
  [/^(?:UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT) /, '{peer} did not accept a connection in time{coded}'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET) /, '{peer} closed the connection before anything was sent{coded}'],
  [/^(?:E(?:NET|HOST)UNREACH|EADDRNOTAVAIL) /, '{peer} cannot be reached from this network{coded}'],
];

const TUNNEL = 'check {proxySetting} (its name and password too) and NO_PROXY';

const UNSENT: readonly Row[] = [
  [/^(?:NO_TUNNEL|UND_ERR_SOCKS5\w*) /, 'the proxy did not connect to {host}: {message}', TUNNEL],
  [
    / Proxy response \((?<status>\d+)\)/,
    'the proxy refused to connect to {host}: it answered {status}',
    TUNNEL,
  ],
  [/^/, 'no connection to {host}: {message}{coded}'],
];

/** A part of the request or all of it was sent, so it may have arrived. */
const LOST: readonly Row[] = [
  [/^(?:ECONNRESET|EPIPE) /, '{host} reset the connection {when}{coded}'],
  // undici's words where it ended the connection itself.
  [/^UND_ERR_SOCKET bad /, '{host} sent a response that is not HTTP: {message}'],
  // The last one is of the parser if the chunks of a reply have no end.
  [
    /^(?:UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|NO_TUNNEL|HTTPParserError .*Invalid EOF state.*) /s,
    '{host} closed the connection {when}',
  ],
  [/^HTTPParserError /, '{host} sent a response that is not HTTP: {message}'],
  [/^/, 'the connection to {host} failed {when}: {message}{coded}'],
];

/**
 * Describes a failure before anything was sent. `tls`: TLS failed, so another attempt would fail, too.
 * @param host `host:port` of the service
 * @param proxySetting the setting of a proxy for this host, such as `HTTPS_PROXY`
 */
export function connectFailure(
  error: unknown,
  host: string,
  proxySetting: string,
): Described & { tls: boolean } {
  const known = factsOf(error, host);
  const isProxy = known.proxy !== undefined;
  // The server is the service, or the proxy to which there is no connection.
  const server = isProxy ? `the proxy ${known.proxy}` : host;
  const facts = { ...known, proxySetting, server, setting: isProxy ? proxySetting : 'the base URL' };
  const ofTls = described(TLS, facts);
  if (ofTls) return { ...ofTls, tls: true };
  const unconnected = described(UNCONNECTED, facts);
  if (unconnected && isProxy) unconnected.hint = `check the network, ${proxySetting} and NO_PROXY`;
  return { ...(unconnected ?? described(UNSENT, facts)!), tls: false };
}

/**
 * Describes a failure after the request began to be written, so that its outcome is unknown.
 * @param replyStarted whether the head of a reply had been read
 */
export function lostReason(error: unknown, host: string, replyStarted: boolean): string {
  const when = replyStarted ? 'in the middle of its reply' : 'before its reply';
  return described(LOST, { ...factsOf(error, host), when })!.reason;
}

function described(rows: readonly Row[], facts: Record<string, string | undefined>): Described | null {
  const subject = `${facts.code} ${facts.message} `;
  for (const [of, reason, hint = ''] of rows) {
    const found = of.exec(subject);
    if (!found) continue;
    const known = { ...facts, ...found.groups };
    const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '');
    return { reason: fill(reason), ...(fill(hint) && { hint: fill(hint) }) };
  }
  return null;
}

/** What `connection.ts`, net, and dns add to errors. */
type Known = NodeJS.ErrnoException & Partial<Record<'hostname' | 'address' | 'port' | 'proxy', string>>;

/**
 * What is known of the most specific error: of the first address that was tried, or inside a wrapper of undici. `peer`: the
 * host or address that failed, which may be that of a proxy.
 */
function factsOf(given: unknown, host: string) {
  let error: Known = given instanceof Error ? given : new Error(String(given));
  const { proxy } = error;
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  const isWrapped = error instanceof AggregateError || error.name === 'SecureProxyConnectionError';
  if (isWrapped && inner instanceof Error) error = inner;
  const { name, message, hostname, address, port } = error;
  // Errors of undici's parser have no code.
  const code = name === 'HTTPParserError' ? name : (error.code ?? '');
  const tried = /attempted address(?:es)?: ([^,)]+)/.exec(message)?.[1];
  const peer = hostname ?? (address === undefined ? tried : `${address}:${port}`) ?? host;
  return {
    code,
    coded: code && ` (${code})`,
    message: message.replace(/\s+/g, ' '),
    peer,
    host,
    proxy: proxy ?? error.proxy,
  };
}
