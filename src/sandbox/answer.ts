/** Builds answers: status, headers, and body. Nothing is sent here. */

export interface Answer<T = unknown> {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** What the body says as JSON. Only a type: it is never there. */
  says?: T;
}

/** One problem of a request. `where` is its place, such as `users[3].company_id`. */
export interface Problem {
  where?: string;
  message: string;
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

export function json<T>(status: number, value: T, headers: Record<string, string> = {}): Answer<T> {
  return { status, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(value) };
}

/** `error` and `error_code` for each status that the sandbox uses. The spec shows no values. */
const NAMES: Readonly<Record<number, readonly [error: string, code: string]>> = {
  400: ['Bad Request', 'bad_request'],
  401: ['Unauthorized', 'unauthorized'],
  403: ['Forbidden', 'forbidden'],
  404: ['Not Found', 'not_found'],
  405: ['Method Not Allowed', 'method_not_allowed'],
  406: ['Not Acceptable', 'not_acceptable'],
  408: ['Request Timeout', 'request_timeout'],
  409: ['Conflict', 'job_running'],
  413: ['Content Too Large', 'too_large'],
  415: ['Unsupported Media Type', 'unsupported_media_type'],
  422: ['Unprocessable Content', 'invalid_item'],
  429: ['Too Many Requests', 'rate_limited'],
  431: ['Request Header Fields Too Large', 'headers_too_large'],
  500: ['Internal Server Error', 'internal_error'],
  501: ['Not Implemented', 'not_implemented'],
  502: ['Bad Gateway', 'bad_gateway'],
  503: ['Service Unavailable', 'unavailable'],
  504: ['Gateway Timeout', 'gateway_timeout'],
  505: ['HTTP Version Not Supported', 'version_not_supported'],
};

/** The maximum number of problems in an answer. Another entry then says how many are left out. */
const MOST_PROBLEMS = 10;

/**
 * An error in the shape of the spec: four fields, all strings (spec: Errors). `details` is the place of the
 * problem.
 */
export function refuse(
  status: number,
  problems: Problem | readonly Problem[],
  headers: Record<string, string> = {},
): Answer<never> {
  const list = Array.isArray(problems) ? (problems as readonly Problem[]) : [problems as Problem];
  const [error, error_code] = NAMES[status] ?? [`Status ${status}`, `status_${status}`];
  const errors = list.slice(0, MOST_PROBLEMS).map(({ where, message }) => ({
    details: where ?? '',
    error,
    error_code,
    message,
  }));
  if (list.length > MOST_PROBLEMS) {
    const message = `${list.length - MOST_PROBLEMS} more problems are not listed`;
    errors.push({ details: '', error, error_code, message });
  }
  return json(status, { errors }, headers) as Answer<never>;
}

/** The HTML page of a proxy that answers in place of the service. */
export function htmlPage(status: number, headers: Record<string, string>): Answer {
  const title = `${status} ${NAMES[status]?.[0] ?? 'Welcome'}`;
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n`;
  return { status, headers: { 'content-type': 'text/html', ...headers }, body };
}
