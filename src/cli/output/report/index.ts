/**
 * The report of an import as one HTML page (contract §9 "The report"). Loaded only if a report is requested.
 */
import { ProfilesError } from '../../../engine/errors.js';
import type { Plan } from '../../../engine/model.js';
import type { RequestRecord } from '../../../engine/state/requests.js';
import type { StoredRun } from '../../../engine/state/runs.js';
import type { State } from '../../../engine/state/state.js';
import type { Commands } from '../../advice/commands.js';
import type { Step } from '../../advice/next.js';
import { errorWords } from '../../advice/words.js';
import { namesIn } from '../annotations.js';
import type { PrintedEvent, PrintedSummary } from '../result.js';
import type { Facts, Seen, Wait } from './facts.js';
import { type ReportFile, writeReport } from './file.js';
import { reportPage } from './page.js';

export { type ReportFile, reportFile } from './file.js';

interface Where {
  file: ReportFile;
  /** Whether cells and the service's words may be shown. */
  values: boolean;
  state: State;
  clock: { now(): number };
}

/** Collects the events of an import, and writes the report, also if the import fails. */
export class ReportRecorder {
  readonly #started: number;
  readonly #waits: Wait[] = [];
  #plan: Plan | null = null;
  #summary: PrintedSummary | null = null;

  constructor(
    private readonly where: Where,
    private readonly about: {
      service: Facts['service'];
      paths: readonly string[];
      resumed: boolean;
      commands: Commands;
    },
  ) {
    this.#started = where.clock.now();
  }

  hear(event: PrintedEvent): void {
    if (event.type === 'plan') this.#plan = event.plan;
    else if (event.type === 'summary') this.#summary = event.summary;
    else if (event.type === 'retry' && this.#waits.length < MOST_WAITS) {
      const from = this.where.clock.now();
      this.#waits.push({ request: event.request, from, until: from + event.delay_ms, reason: event.reason });
    }
  }

  /**
   * @param failure the error that ended the import early, or null
   * @returns the name of the file
   * @throws OutputError if it cannot be written
   */
  async write(failure: unknown): Promise<string> {
    const { file, values, state, clock } = this.where;
    const now = clock.now();
    const summary = this.#summary;
    const run = summary?.run ?? null;
    const error = failure === null ? null : failureOf(failure, values, this.about.commands);
    const page = reportPage({
      now,
      startedAt: this.#started,
      service: summary ?? this.about.service,
      paths: (summary ?? this.#plan)?.files.map(({ path }) => path) ?? this.about.paths,
      run,
      status: summary?.status ?? 'stopped',
      summary,
      plan: summary?.plan ?? this.#plan,
      requests: run === null ? [] : await state.requests.of(run),
      seen: run === null ? new Map() : await seenOf(state, run),
      waits: this.#waits.map((wait) => ({ ...wait, until: Math.min(wait.until, now) })),
      failure: error,
      stored: false,
      resumed: this.about.resumed,
      next: summary
        ? nextOf(summary.next)
        : (error?.hint?.split('\n') ?? []).map((command) => ({ what: null, command })),
      shown: { values, names: this.#plan ? namesIn(this.#plan) : new Set() },
    });
    await writeReport(file, page);
    return file.name;
  }
}

/** The maximum number of retries that are drawn. */
const MOST_WAITS = 10_000;

interface Stored {
  run: StoredRun;
  requests: readonly RequestRecord[];
  printed: PrintedSummary | null;
  steps: readonly Step[];
}

/**
 * Writes the report of an earlier run from what the state recorded, and returns the file's name. @throws
 * OutputError
 */
export async function reportRun(
  { run: stored, requests, printed, steps }: Stored,
  { file, values, state, clock }: Where,
): Promise<string> {
  const { run, status, paths, scope, named_account } = stored;
  const page = reportPage({
    now: clock.now(),
    startedAt: Date.parse(stored.started_at),
    service: { ...scope, account: named_account },
    paths,
    run,
    status,
    summary: printed,
    plan: null,
    requests,
    seen: await seenOf(state, run),
    waits: [],
    failure: null,
    stored: true,
    resumed: true,
    next: nextOf(steps),
    shown: { values, names: new Set() },
  });
  await writeReport(file, page);
  return file.name;
}

const seenOf = async (state: State, run: string): Promise<Map<string, Seen>> =>
  new Map((await state.jobs.all()).flatMap((job) => (job.run === run ? [[job.job_id, job]] : [])));

/** The next steps without values of `--set`, because others may read the report. */
const nextOf = (steps: readonly Step[]): Facts['next'] =>
  steps.map(({ what, shared }) => ({ what, command: shared }));

/** The error as text. A hint may contain cells, such as the one for a wrong encoding. */
function failureOf(error: unknown, values: boolean, commands: Commands): NonNullable<Facts['failure']> {
  if (!(error instanceof ProfilesError)) {
    const message = error instanceof Error ? error.message : String(error);
    return { message, hint: undefined, errorCode: undefined };
  }
  const { message, hint } = errorWords(error, commands);
  return { message, hint: values ? hint : undefined, errorCode: error.errorCode };
}
