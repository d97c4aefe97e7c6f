/** Builds answers: status, headers, and body. Nothing is sent here. */
import { STATUS_CODES } from 'node:http';

export interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** One problem of a request. `where` is its place, such as `users[3].company_id`. */
export interface Problem {
  where?: string;
  message: string;
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  const type = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(value) };
}

/** `error_code`, where it is not the name of the status. The spec shows no values. */
const CODES: Readonly<Record<number, string>> = {
  409: 'job_running',
  413: 'too_large',
  422: 'invalid_item',
  429: 'rate_limited',
  500: 'internal_error',
  503: 'unavailable',
};

const nameOf = (status: number): string => STATUS_CODES[status] ?? `Status ${status}`;

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
): Answer {
  const list: Problem[] = [problems].flat();
  const left = list.splice(MOST_PROBLEMS).length;
  if (left > 0) list.push({ message: `${left} more problems are not listed` });
  const error = nameOf(status);
  const error_code = CODES[status] ?? error.toLowerCase().replaceAll(' ', '_');
  const errors = list.map(({ where = '', message }) => ({ details: where, error, error_code, message }));
  return json(status, { errors }, headers);
}

/** Thrown where it is found out that a request is to be refused. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(...given: Parameters<typeof refuse>) {
    super('refused');
    this.answer = refuse(...given);
  }
}

/** The answer to what was thrown: a refusal, or what should not happen, such as a full disk. */
export function answerTo(error: unknown): Answer {
  if (error instanceof Refusal) return error.answer;
  return refuse(500, { message: `the sandbox failed: ${error instanceof Error ? error.message : error}` });
}

/** @throws Refusal */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(400, { where: 'body', message: `not JSON: ${(error as Error).message}` });
  }
}

/** The HTML page of a proxy that answers in place of the service. */
export function htmlPage(status: number, headers: Record<string, string>): Answer {
  const title = `${status} ${status === 200 ? 'Welcome' : nameOf(status)}`;
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n`;
  return { status, headers: { 'content-type': 'text/html', ...headers }, body };
}
