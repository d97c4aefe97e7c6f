/**
 * Whatever happens in whatever order, several runs over the same profiles keep the promises of the contract (§4). The
 * service keeps a ledger of every body; each thing that can happen is a step in `steps.ts`, and what must hold is in
 * `properties.ts`.
 *
 * `SEEDS=5000` tries so many sequences, `FROM=17 SEEDS=1` that one, with the build in `dist/`. A failure prints seed, path and `replayPath`.
 */
import fc from 'fast-check';
import { test } from 'vitest';
import type { Kind } from '../../src/engine/model.js';
import { settle } from './end.js';
import { FILES, IDS } from './given.js';
import { Model } from './model.js';
import { Scene } from './scene.js';
import { STEPS } from './steps.js';

const FROM = Number(process.env.FROM ?? 1);
const SEEDS = Number(process.env.SEEDS ?? 24);
/** For how long a failure is made smaller. Not while many sequences are tried. */
const SHRINK_MS = Number(process.env.SHRINK_MS ?? (SEEDS > 24 ? 0 : 20_000));
/** A sequence takes some seconds at most; on a busy machine, many times as long. */
const LIMIT_MS = 120_000 + SHRINK_MS;

/** What the last sequence did, to be read if it has no end. */
let log: readonly string[] = [];

let last = Promise.resolve();

/** One after another: a sequence that its limit has ended goes on. */
function play(kind: Kind, steps: Iterable<fc.AsyncCommand<Model, Scene>>): Promise<void> {
  last = last.catch(() => {}).then(() => playAlone(kind, steps));
  return last;
}

/** From the first files to the last check. */
async function playAlone(kind: Kind, steps: Iterable<fc.AsyncCommand<Model, Scene>>): Promise<void> {
  const model = new Model(kind);
  log = model.log;
  const scene = new Scene(model);
  await scene.machine.start();
  try {
    for (const file of FILES) {
      scene.write(
        file,
        IDS.slice(0, 3).map((id) => ({ id, name: model.newName('file') })),
      );
    }
    await fc.asyncModelRun(() => ({ model, real: scene }), steps);
    await settle(scene);
  } catch (error) {
    throw model.explained(error);
  } finally {
    await scene.machine.stop();
  }
}

const check = (seed: number) =>
  fc.check(
    fc.asyncProperty(
      fc.constantFrom<Kind>('companies', 'users'),
      fc.commands([STEPS], { maxCommands: 14, size: 'max' }),
      play,
    ),
    {
      seed,
      numRuns: 1,
      unbiased: true,
      endOnFailure: SHRINK_MS === 0,
      interruptAfterTimeLimit: LIMIT_MS,
    },
  );

/** The limit has passed before the sequence had an end, so it has no error of its own. */
function endless(): Error {
  const open = process.getActiveResourcesInfo().join(', ');
  return new Error(`not over in ${LIMIT_MS / 1_000} s; open are: ${open}\n${log.join('\n')}`);
}

const seeds = Array.from({ length: SEEDS }, (_, i) => FROM + i);
test.for(seeds)('seed %i', { timeout: LIMIT_MS + 30_000 }, async (seed) => {
  const found = await check(seed);
  if (!found.failed) return;
  const { message } = (found.errorInstance as Error | null) ?? endless();
  const report = new Error(`${message}\n\n${await fc.asyncDefaultReportMessage(found)}`);
  report.stack = '';
  throw report;
});
