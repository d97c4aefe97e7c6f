/** The methods of the state for runs and their private folders. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { stateFolder } from '../folder.js';
import type { State } from '../interface.js';
import { refuseMoved } from '../meta.js';
import { sameScope } from '../scopes.js';
import type { Tables } from '../tables.js';

type OfRuns =
  | 'knownRuns'
  | 'startRun'
  | 'reopenRun'
  | 'retryRun'
  | 'endRun'
  | 'markCrashedRuns'
  | 'setRejectsFile'
  | 'setRejected'
  | 'forgetRun'
  | 'forgetScope'
  | 'spoolFolder'
  | 'spools'
  | 'removeSpool';

export function ofRuns(tables: Tables): Pick<State, OfRuns> {
  const { db, runs, requests, scopes, sends, sent, jobs, rejects, history, verified } = tables;
  const spoolOf = (run: string): string => join(tables.folder, 'spool', run);
  const removeSpool = (run: string): void => rmSync(spoolOf(run), { recursive: true, force: true });
  return {
    knownRuns: (which) => runs.all(db, which),
    startRun: (run, plan) =>
      tables.writeIn(run.scope, async (tx, scope) => {
        await refuseMoved(tx);
        await runs.insert(tx, scope, run);
        await sends.begin(tx, run.run, plan?.made ?? null);
        for (const request of plan?.requests ?? []) await requests.insert(tx, run.run, request);
      }),
    reopenRun: (run) => {
      sent.forgetSession();
      return tables.write(async (tx) => {
        await refuseMoved(tx);
        await runs.reopen(tx, run);
      });
    },
    retryRun: (run, retry) =>
      tables.write(async (tx) => {
        await refuseMoved(tx);
        await runs.retry(tx, run, retry.options, retry.newRejects);
        for (const request of retry.requests) await requests.insert(tx, run, request);
      }),
    endRun: (run, end) =>
      tables.write(async (tx) => {
        await runs.end(tx, run, { ...end, at: tables.time() });
        if (end.finished) await verified.prune(tx);
      }),
    markCrashedRuns: (scope, kind) => tables.writeIn(scope, (tx, id) => runs.markCrashedRuns(tx, id, kind)),
    setRejectsFile: (run, input, file) => tables.write((tx) => runs.setRejectsFile(tx, run, input, file)),
    setRejected: (run, scope, kind, { ids, lines }) =>
      tables.writeIn(scope, (tx, id) =>
        history.putRejected(tx, { run, scope: id, kind, at: tables.now() }, ids, lines),
      ),
    forgetRun: async (run) => {
      await tables.write(async (tx) => {
        await refuseMoved(tx);
        // Nothing may refer to deleted requests, because their row ids may be used again.
        await sends.unlink(tx, 'IN (SELECT request FROM requests WHERE run = ?)', run);
        await jobs.forget(tx, run);
        await rejects.forget(tx, run);
        await runs.delete(tx, run);
        await verified.prune(tx);
      });
      removeSpool(run);
    },
    forgetScope: async (scope) => {
      const forgotten = await tables.writeIn(scope, async (tx, id) => {
        const mine = (await runs.all(tx)).filter((run) => sameScope(run.scope, scope));
        for (const { run } of mine) {
          await rejects.forget(tx, run);
          await runs.delete(tx, run);
        }
        await sends.delete(tx, id);
        await scopes.forgetColumnTypes(tx, id);
        return { runs: mine, jobs: await jobs.delete(tx, id) };
      });
      for (const { run } of forgotten.runs) removeSpool(run);
      return { runs: forgotten.runs.length, jobs: forgotten.jobs };
    },
    spoolFolder: (run) => stateFolder(tables.folder, 'spool', run),
    spools: () => {
      const folder = join(tables.folder, 'spool');
      const names = existsSync(folder) ? readdirSync(folder) : [];
      return names.map((run) => ({ run, changedAt: statSync(spoolOf(run)).mtimeMs }));
    },
    removeSpool,
  };
}
