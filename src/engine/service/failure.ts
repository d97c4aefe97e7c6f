/** Describes why a request got no reply, from the errors of undici, net, dns, and tls. Pure. */

export interface Failure {
  reason: string;
  /** Whether TLS failed. Then another attempt would fail, too. */
  tls: boolean;
  /** What to do, if that is known for this failure. */
  hint?: string;
}

const EXTRA_CA =
  'if a company proxy or a private authority issued it, put its CA certificate in a PEM file and set NODE_EXTRA_CA_CERTS=<file>';

/** Texts for certificate errors of OpenSSL and Node. They follow the name of the host. */
const CERTIFICATE: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  CERT_HAS_EXPIRED: [
    "'s certificate has expired",
    "check this machine's clock; if it is right, the operator must renew the certificate",
  ],
  CERT_NOT_YET_VALID: ["'s certificate is not valid yet", "check this machine's clock"],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["'s certificate is self-signed", EXTRA_CA],
  SELF_SIGNED_CERT_IN_CHAIN: ["'s certificate comes from an authority this machine does not know", EXTRA_CA],
  UNABLE_TO_GET_ISSUER_CERT: ["'s certificate comes from an authority this machine does not know", EXTRA_CA],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    "'s certificate comes from an authority this machine does not know",
    EXTRA_CA,
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    "'s certificate comes from an authority this machine does not know",
    EXTRA_CA,
  ],
  CERT_REVOKED: ["'s certificate has been revoked", 'the operator must replace the certificate'],
};

/** The setting that is named if an error has none. */
const SETTING = 'HTTPS_PROXY';

interface Cause {
  code: string;
  message: string;
  /** The host or address that failed, if the error has one: it may be a proxy. */
  peer: string | null;
  /** The proxy to which there is no connection; null if it is not about that. */
  proxy: string | null;
  /** The setting of the proxy that was used, such as `HTTPS_PROXY`. */
  setting: string;
}

/**
 * Describes a failure before anything was sent.
 * @param host `host:port` of the service
 */
export function connectFailure(error: unknown, host: string): Failure {
  const { code, message, peer, proxy, setting: proxySetting } = causeOf(error);
  const at = peer ?? host;
  const other = proxy === null ? host : `the proxy ${proxy}`;
  const setting = proxy === null ? 'the base URL' : proxySetting;
  const certificate = CERTIFICATE[code];
  if (certificate) return { reason: `${other}${certificate[0]} (${code})`, tls: true, hint: certificate[1] };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = /^.*(?:altnames|list): (.*)$/s.exec(message)?.[1];
    const what = names ? `names another host: ${names}` : 'names another host';
    const hint = `check the host name in ${setting}`;
    return { reason: `${other}'s certificate ${what} (${code})`, tls: true, hint };
  }
  if (code === 'EPROTO' || /^ERR_(?:SSL|TLS)_/.test(code)) {
    const plain = /wrong version number|packet length too long|http request/i.test(message);
    const what = plain ? 'does not speak TLS on this port' : 'did not agree on TLS';
    const hint = `check the scheme and the port of ${setting}`;
    return { reason: `${other} ${what} (${code})`, tls: true, hint };
  }
  const unconnected = notConnected(code, at);
  if (unconnected !== null) {
    const hint = proxy === null ? {} : { hint: `check the network, ${proxySetting} and NO_PROXY` };
    return { reason: `${unconnected} (${code})`, tls: false, ...hint };
  }
  const hint = `check ${proxySetting} (its name and password too) and NO_PROXY`;
  if (code === 'NO_TUNNEL') {
    return { reason: `the proxy did not connect to ${host}: ${message}`, tls: false, hint };
  }
  const refused = /^Proxy response \((\d+)\)/.exec(message);
  if (refused) {
    return { reason: `the proxy refused to connect to ${host}: it answered ${refused[1]}`, tls: false, hint };
  }
  // The parser of HTTP is WebAssembly, for which Node reserves ten gigabytes of addresses.
  if (message.startsWith('WebAssembly.')) {
    const reason = `no connection to ${host}: the address space of this process is limited too much (${message})`;
    return { reason, tls: false, hint: 'allow it more: ulimit -v unlimited' };
  }
  return { reason: `no connection to ${host}: ${message}${code && ` (${code})`}`, tls: false };
}

/** Describes a connection that was not made to a host or address; null for other codes. */
function notConnected(code: string, at: string): string | null {
  switch (code) {
    case 'ENOTFOUND':
      return `host ${at} not found`;
    case 'EAI_AGAIN':
      return `the host name ${at} could not be looked up: no name server answered`;
    case 'ECONNREFUSED':
      return `${at} refused the connection`;
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return `${at} did not accept a connection in time`;
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return `${at} closed the connection before anything was sent`;
    case 'ENETUNREACH':
    case 'EHOSTUNREACH':
    case 'EADDRNOTAVAIL':
      return `${at} cannot be reached from this network`;
    default:
      return null;
  }
}

/**
 * Describes a failure after the request began to be written, so that its outcome is unknown.
 * @param replyStarted whether the head of a reply had been read
 */
export function lostReason(error: unknown, host: string, replyStarted: boolean): string {
  const { code, message } = causeOf(error);
  const before = replyStarted ? 'in the middle of its reply' : 'before its reply';
  switch (code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return `${host} reset the connection ${before} (${code})`;
    case 'UND_ERR_SOCKET':
      // undici's words where it ended the connection itself.
      if (message.startsWith('bad ')) return `${host} sent a response that is not HTTP: ${message}`;
      return `${host} closed the connection ${before}`;
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      if (!replyStarted) return `${host} sent a response that is not HTTP: it has two lengths`;
      return `${host} closed the connection ${before}`;
  }
  if (error instanceof Error && error.name === 'HTTPParserError') {
    // The message of the parser if the chunks of a reply have no end.
    if (message.includes('Invalid EOF state')) return `${host} closed the connection ${before}`;
    return `${host} sent a response that is not HTTP: ${message}`;
  }
  return `the connection to ${host} failed ${before}: ${message}${code && ` (${code})`}`;
}

/** Finds the most specific error: of the first address that was tried, or inside a wrapper of undici. */
function causeOf(error: unknown): Cause {
  if (error instanceof AggregateError && error.errors.length > 0) {
    // What `proxyAgent` adds is on the error of all addresses.
    const { proxy, setting } = error as Partial<Pick<Cause, 'proxy' | 'setting'>>;
    const first = causeOf(error.errors[0]);
    return { ...first, proxy: proxy ?? first.proxy, setting: setting ?? first.setting };
  }
  if (!(error instanceof Error)) {
    return { code: '', message: String(error), peer: null, proxy: null, setting: SETTING };
  }
  const {
    code = '',
    hostname,
    address,
    port,
    proxy = null,
    setting = SETTING,
  } = error as NodeJS.ErrnoException & {
    hostname?: string;
    address?: string;
    port?: number;
    proxy?: string;
    setting?: string;
  };
  if (error.cause instanceof Error && error.name === 'SecureProxyConnectionError')
    return { ...causeOf(error.cause), setting };
  const tried = /attempted address(?:es)?: ([^,)]+)/.exec(error.message)?.[1] ?? null;
  const peer = hostname ?? (address === undefined ? tried : `${address}:${port}`);
  return { code, message: error.message.replace(/\s+/g, ' '), peer, proxy, setting };
}
