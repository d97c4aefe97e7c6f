/**
 * All errors that end a run, named by who can fix them. An invalid row is not an error, but a value
 * (`RejectedRow`). Only `main` turns an error into text and an exit code.
 */

import type { Problem } from './problems.js';

/** Exit codes of the command. */
export const Exit = {
  /** Done. */
  done: 0,
  /** Unexpected failure, such as a full disk. */
  unexpected: 1,
  /** Usage, config, or input that cannot be read. */
  usage: 2,
  /** Waiting timed out; the jobs continue. */
  waiting: 3,
  /** No token, or the service refused it. Spelled as the error code `unauthorised`. */
  unauthorised: 4,
  /** Some rows were rejected, or a job completed fewer rows than it was sent. */
  rejected: 5,
  /** The service or the network failed after retries; the run can be continued. */
  service: 6,
  /** A job failed. */
  jobFailed: 7,
  /** Another import of this account and kind is running. */
  busy: 8,
  /** Held back: more rows had changed than `maxChanged` allows; nothing was sent. */
  held: 9,
  /** Interrupted by Ctrl-C, or by `signal`; the run can be continued. */
  interrupted: 130,
  /** Interrupted by SIGTERM; the run can be continued. */
  terminated: 143,
} as const;
/** One of the exit codes. */
export type ExitCode = (typeof Exit)[keyof typeof Exit];

export interface ErrorDetails {
  /** What to do about it, for every caller: without names of flags or commands. */
  hint?: string | undefined;
  /** The cause as data, for callers that give advice of their own. */
  problem?: Problem | undefined;
  /** HTTP status, if a reply was the cause. */
  status?: number | undefined;
  /** The service's `error_code` (spec: Errors). */
  errorCode?: string | undefined;
  /** The service's `x-request-id`. */
  requestId?: string | undefined;
  cause?: unknown;
}

/**
 * Base of all errors. `message` says what happened and where. `code` is stable, so programs can compare it.
 */
export abstract class ProfilesError extends Error {
  abstract readonly code: string;
  /** Exit code that the command would have. */
  abstract readonly exit: ExitCode;
  /** What to do about it, if that is known. */
  readonly hint: string | undefined;
  /** The cause as data, for programs that give advice of their own. */
  readonly problem: Problem | undefined;
  /** HTTP status, if a reply was the cause. */
  readonly status: number | undefined;
  /** The service's `error_code` (spec: Errors). */
  readonly errorCode: string | undefined;
  /** The service's `x-request-id`. */
  readonly requestId: string | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.hint = details.hint;
    this.problem = details.problem;
    this.status = details.status;
    this.errorCode = details.errorCode;
    this.requestId = details.requestId;
  }
}

/** A request is wrong: an unknown word, a value out of range, two options that exclude each other. */
export class UsageError extends ProfilesError {
  readonly code = 'usage';
  readonly exit = Exit.usage;
}

/** A setting is wrong or missing, such as a base URL or a mapping file. */
export class ConfigError extends ProfilesError {
  readonly code = 'config';
  readonly exit = Exit.usage;
}

/** An input cannot be read as a whole: it is missing, empty, not in its encoding, not JSON, or has no identifier. `message` begins with `file:line:` if the place is known. */
export class InputError extends ProfilesError {
  readonly code = 'input';
  readonly exit = Exit.usage;
  /** `message` is `file:line: sentence` if the place is known. Lines count from 1. */
  constructor(sentence: string, place: { file?: string; line?: number } & ErrorDetails = {}) {
    const { file, line } = place;
    const where = file === undefined ? '' : line === undefined ? `${file}: ` : `${file}:${line}: `;
    super(where + sentence, place);
  }
}

/** No token, or the service refused it (401, 403). */
export class AuthError extends ProfilesError {
  readonly code = 'unauthorised';
  readonly exit = Exit.unauthorised;
}

/** The service answered, and the answer ends the import. */
export class ServiceError extends ProfilesError {
  readonly code: string = 'service';
  readonly exit = Exit.service;
}

/** No answer after retries: host not found, connection refused, TLS failed, or the deadline passed. */
export class NetworkError extends ProfilesError {
  readonly code = 'network';
  readonly exit = Exit.service;
}

/** The service answered with success, but not as its specification says. */
export class ContractError extends ServiceError {
  override readonly code = 'contract';
}

/** Waiting timed out; the jobs continue. */
export class WaitTimeoutError extends ProfilesError {
  readonly code = 'wait_timeout';
  readonly exit = Exit.waiting;
}

/** Another import of this account and kind is running. */
export class LockedError extends ProfilesError {
  readonly code = 'locked';
  readonly exit = Exit.busy;
}

/** The lock of this import expired, or another import took it over. Nothing more is sent. */
export class LockLostError extends ProfilesError {
  readonly code = 'lock_lost';
  readonly exit = Exit.busy;
  constructor(
    message: string,
    /** The import that took it over; null if it is not known. */
    readonly by: string | null = null,
    details: ErrorDetails = {},
  ) {
    super(message, details);
  }
}

/** The state cannot be read or written; nothing more was sent. */
export class StateError extends ProfilesError {
  readonly code = 'state';
  readonly exit = Exit.unexpected;
}

/** Output cannot be written, such as on a full disk. A closed pipe is not an error. */
export class OutputError extends ProfilesError {
  readonly code = 'output';
  readonly exit = Exit.unexpected;
  constructor(
    /** `stdout`, `stderr`, or a file. */
    readonly stream: string,
    error: Error,
  ) {
    // `ENOSPC: no space left on device, write` becomes `no space left on device (ENOSPC)`.
    const reason = error.message.replace(/^([A-Z]+): (.*?)(?:, \w+)?$/, '$2 ($1)');
    super(`${stream} cannot be written: ${reason}`, {
      hint: 'make room on the disk, or send the output elsewhere',
      cause: error,
    });
  }
}

/** The first request of an import with `canary` did not complete. The run can be continued. */
export class CanaryError extends ProfilesError {
  readonly code = 'canary';
  constructor(
    message: string,
    readonly exit: ExitCode,
    details: ErrorDetails = {},
  ) {
    super(message, details);
  }
}

/** The database was removed or replaced while it was in use, so the records of this run are lost. */
export class StateLostError extends StateError {}

/** The user was asked whether to send, and did not confirm. */
export class NotConfirmedError extends ProfilesError {
  readonly code = 'not_confirmed';
  readonly exit = Exit.interrupted;
}

/** A signal ended the import. */
export class InterruptedError extends ProfilesError {
  readonly code = 'interrupted';
  readonly exit: ExitCode;
  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', details: ErrorDetails = {}) {
    super('interrupted', details);
    this.exit = signal === 'SIGINT' ? Exit.interrupted : Exit.terminated;
  }

  /**
   * Makes the error for an aborted stop signal (`World.stop`): its reason if that is a ProfilesError.
   * Otherwise, the reason is the name of a signal.
   * @internal
   */
  static of({ reason }: AbortSignal, details: ErrorDetails = {}): ProfilesError {
    if (reason instanceof ProfilesError) return reason;
    return new InterruptedError(reason === 'SIGTERM' || reason === 'SIGHUP' ? reason : 'SIGINT', details);
  }
}

/**
 * Decides which error to report if the end of a session could not be recorded.
 * @param error why it could not be recorded
 * @param failure the error that ended the session before, or null
 * @returns `failure`, if it is a failure of the state or of the lock, which explains `error`. If the lock was
 * lost and only `error` names who took it over, `error`
 * @throws `error` in all other cases
 */
export function failureAfter(error: unknown, failure: unknown): unknown {
  if (failure instanceof LockLostError) return error instanceof LockLostError && error.by ? error : failure;
  if (failure instanceof StateError) return failure;
  throw error;
}
