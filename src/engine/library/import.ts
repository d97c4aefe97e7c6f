/**
 * The import functions of the library: what the command does, without its terminal, settings, and signals.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { carryOut } from '../course.js';
import { UsageError } from '../errors.js';
import type { ImportEvent } from '../events.js';
import type { Plan, Summary } from '../model.js';
import { type ImportOptions, numberOption } from '../options.js';
import { checkPlanFile, hashToken, writePlan } from '../run/plan-file.js';
import type { ImportDeps, ImportResult } from '../run/start.js';
import { INPUTS } from '../run/start.js';
import type { ServiceClient } from '../service/client.js';
import { stateLocationOf } from '../state/location.js';
import { openState } from '../state/state.js';
import { systemClock } from '../util/clock.js';
import { closeAll } from '../util/close-all.js';
import { checkNames } from '../util/option-names.js';
import { changesOf, startOf } from './begun.js';
import { type ImportRequest, mappingsOf, optionsOf, type PlanRequest } from './import-request.js';
import { REQUEST_NAMES, RULE_NAMES } from './request-names.js';
import { baseUrlOf, checkService, createClient } from './service.js';

/**
 * An import. It starts when you read the first event, and continues as you read more. If you leave the loop
 * early, it stops, as with `signal`. The same request with `resume: true` continues it, and so does the id of its run.
 */
export interface ImportRun extends AsyncIterable<ImportEvent> {
  /**
   * Reads the remaining events and returns the result.
   * @throws ProfilesError if the import could not start, as reading events does
   */
  result(): Promise<ImportResult>;
}

/**
 * Imports: plans, sends, and follows jobs, as the command does. Nothing happens before you read its events or
 * its result.
 *
 * It throws only if it cannot start: UsageError, ConfigError, InputError, StateError, InterruptedError, LockedError if
 * another import of this account and kind is running, NetworkError if a download fails, or with `checkProperties`, what
 * the lookup throws: AuthError, ServiceError, ContractError, or NetworkError. An error that ends it later is the
 * `failure` of the result, which also has a summary that accounts for every row.
 */
export function runImport(request: ImportRequest): ImportRun {
  return begin(request, false);
}

/** A plan. */
export interface Planned {
  plan: Plan;
  /** Counts, rejected rows, rejects files, and warnings. Its status is `planned`. */
  summary: Summary;
  /** True if no row was rejected. */
  valid: boolean;
}

/**
 * Reads, maps, types, and checks every row, and sends nothing. Rejected rows are written to rejects files.
 * @throws UsageError, ConfigError, InputError, StateError, InterruptedError; NetworkError if a download fails; with
 * `checkProperties` also AuthError, ServiceError, ContractError, or NetworkError, if the lookup fails after retries
 */
export async function planImport(request: PlanRequest): Promise<Planned> {
  checkNames(request, REQUEST_NAMES);
  const temporary = request.stateDir === undefined ? await mkdtemp(join(tmpdir(), 'profiles-plan-')) : null;
  try {
    const stateDir = request.stateDir ?? temporary!;
    const { summary } = await begin({ ...request, stateDir }, true).result();
    return { plan: summary.plan!, summary, valid: summary.rows.rejected === 0 };
  } finally {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
}

/** A request of either function. What a plan may leave out is optional, and checked when it is needed. */
type Request = PlanRequest & Partial<ImportRequest> & { stateDir: string };

function begin(request: Request, dryRun: boolean): ImportRun {
  const steps = walk(request, dryRun);
  let end: { result: ImportResult } | { error: unknown } | undefined;
  async function* events(): AsyncGenerator<ImportEvent, void> {
    try {
      // Undefined for a second reader, because only the first one gets the result.
      const result: ImportResult | undefined = yield* steps;
      if (result) end ??= { result };
    } catch (error) {
      end ??= { error };
      throw error;
    } finally {
      end ??= {
        error: new UsageError('the loop over the import’s events ended early, so there is no result'),
      };
    }
  }
  return {
    [Symbol.asyncIterator]: events,
    result: async () => {
      for await (const _ of events());
      if (end && 'result' in end) return end.result;
      throw end?.error;
    },
  };
}

/** Opens what an import needs, runs it, and closes everything. */
async function* walk(request: Request, dryRun: boolean): AsyncGenerator<ImportEvent, ImportResult> {
  checkNames(request, REQUEST_NAMES);
  const { service, signal, abort, stdin = [], records } = request;
  const savePlan = dryRun ? request.savePlan : undefined;
  checkNames(request.rules ?? {}, RULE_NAMES, 'rules.');
  if (service != null) checkService(service, 'service.');
  const cwd = resolve(request.cwd ?? '');
  if (typeof request.stateDir !== 'string') throw new UsageError('stateDir must be given');
  const began = request.plan !== undefined || request.run !== undefined;
  if (began && dryRun) throw new UsageError('a plan is made of files or records');
  if (!began && request.again !== undefined) throw new UsageError('again needs a plan or a run');
  if (!dryRun && request.savePlan !== undefined) throw new UsageError('savePlan belongs to planImport');
  const options = began ? changesOf(request, cwd) : await optionsOf(request, cwd, dryRun);
  const threads = numberOption('threads', request.threads);
  const base_url = service ? baseUrlOf(service) : '';
  const input = stdin instanceof Readable ? stdin : Readable.from(stdin);
  const account = service?.account ?? null;
  const region = service?.region ?? 'default';
  let client: ServiceClient | undefined;
  const abortSignal = abort ?? new AbortController().signal;
  const stop = signal ? AbortSignal.any([signal, abortSignal]) : abortSignal;
  const elsewhere =
    request.state === undefined
      ? undefined
      : {
          at: stateLocationOf(request.state, 'state', { cwd, platform: platform() }),
          env: {},
          origin: 'state',
          signal: abortSignal,
        };
  const file = { cwd, called: 'savePlan' };
  if (savePlan !== undefined) checkPlanFile(savePlan, file);
  const state = await openState(resolve(cwd, request.stateDir), systemClock.now, elsewhere);
  try {
    const deps: ImportDeps = {
      state,
      scope: service ? state.scope({ account, token: service.token, region, base_url }) : null,
      tokenHash: service && account === null ? async (texts) => hashToken(service.token, texts) : null,
      client: async () => {
        if (!service) throw new UsageError('checkProperties needs a service to ask');
        client ??= createClient(service);
        return client;
      },
      service: { account, region, base_url },
      clock: systemClock,
      random: Math.random,
      cwd,
      records,
      platform: platform(),
      reads: [...mappingsOf(request), ...(request.plan === undefined ? [] : [request.plan])],
      stdin: () => input,
      download: {
        timeoutMs: numberOption('timeoutMs', service?.timeoutMs),
        proxy: service?.proxy ?? {},
      },
      threads,
      stop,
      abort: abortSignal,
    };
    if (savePlan !== undefined) deps.savePlan = (plan) => writePlan(savePlan, plan, file);
    if (!began) return yield* carryOut(INPUTS, options as ImportOptions, deps);
    const found = await startOf(request, options, deps);
    return yield* carryOut(found.start, found.options, deps);
  } finally {
    await closeAll([() => client?.close(), () => state.close()]);
  }
}
