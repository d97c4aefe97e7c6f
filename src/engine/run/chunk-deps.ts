/** Provides what `send/read-chunks.ts` needs from a session to split rows into requests. */
import type { ImportOptions } from '../options.js';
import type { OpenedInput, Pool } from '../read/index.js';
import type { ChunkDeps } from '../send/read-chunks.js';
import type { ComparedRows } from './compared.js';
import type { ImportDeps } from './deps.js';
import type { KnownProfiles } from './known.js';
import type { OpenRun } from './open-run.js';
import { startOfRest } from './plan-requests.js';
import type { Apply } from './planned.js';
import { repeatRules } from './sent-later.js';

interface How {
  opened: readonly OpenedInput[];
  apply: Apply | null;
  compared: ComparedRows;
  pool: Pool;
  known: KnownProfiles;
}

export function chunkDepsOf(
  run: OpenRun,
  options: ImportOptions,
  { state, stop }: ImportDeps,
  { opened, apply, compared, pool, known }: How,
): ChunkDeps {
  const rules = repeatRules(run, options);
  return {
    options,
    limits: { items: options.chunkSize, bytes: options.chunkBytes },
    hashKey: state.secret,
    pool,
    signal: stop,
    known: (kind) => known.of(kind),
    compared: (kind, known) => compared.of(kind, known),
    recorded: (kind) => rules.recorded((input) => opened[input]!.kind === kind),
    isSentAgain: rules.isSentAgain,
    startAt: (input) => (apply ? startOfRest(apply.plan, input, rules.isDone) : null),
  };
}
