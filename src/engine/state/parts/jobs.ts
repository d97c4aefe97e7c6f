/** The methods of the state for jobs, and for profiles that are sent outside imports. */
import type { State } from '../interface.js';
import { refuseMoved } from '../meta.js';
import type { Tables } from '../tables.js';

type OfJobs =
  | 'knownJobs'
  | 'startProfile'
  | 'endProfile'
  | 'addJob'
  | 'updateJob'
  | 'missingJob'
  | 'foundJob'
  | 'lostJob'
  | 'throughput';

export function ofJobs(tables: Tables): Pick<State, OfJobs> {
  const { db, backend, jobs, jobEnds, sends, sent, history } = tables;
  return {
    knownJobs: () => jobs.all(db),
    startProfile: async (scope, kind, ids) => {
      backend.check();
      return tables.writeIn(scope, async (tx, id) => {
        await refuseMoved(tx);
        const send = await sent.addProfile(tx, id, kind, ids);
        await history.putProfile(tx, send, id, kind, ids, tables.now());
        return send;
      });
    },
    endProfile: (send, doubt, note) =>
      tables.write(async (tx) => {
        await sends.updateSingle(tx, send, { doubt, job: null });
        await history.noteProfile(tx, send, { note: note ?? null });
      }),
    addJob: (scope, job, { send, doubt = false, ...from }) =>
      tables.writeIn(scope, async (tx, id) => {
        await jobs.add(tx, id, job, { ...from, request: null, run: null }, tables.time());
        if (send === undefined) return;
        await sends.updateSingle(tx, send, { doubt, job: job.job_id });
        await history.noteProfile(tx, send, { job: job.job_id });
      }),
    updateJob: (scope, job) => tables.writeIn(scope, (tx, id) => jobEnds.update(tx, id, job, tables.time())),
    missingJob: (scope, job_id) =>
      tables.writeIn(scope, async (tx, id) => Date.parse(await jobs.missing(tx, id, job_id, tables.time()))),
    foundJob: async (scope, job_id) => {
      const id = await tables.find(scope);
      // Usually the job is not missing, and no transaction is needed.
      if (await jobs.isMissing(db, id, job_id)) await tables.write((tx) => jobs.found(tx, id, job_id));
    },
    lostJob: (scope, job_id) =>
      tables.writeIn(scope, (tx, id) => jobEnds.lost(tx, id, job_id, tables.time())),
    throughput: async (scope, kind) => jobs.throughput(db, await tables.find(scope), kind),
  };
}
