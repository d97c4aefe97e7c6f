/** The end of a sequence: the service is well, every run is resumed, and everything that is said is held against it. */
import type { Summary } from '../../src/engine/model.js';
import { IDS } from './given.js';
import type { RowOutcome, Run } from './model.js';
import { CLASS_OF, holds } from './properties.js';
import { statesHold } from './recorded.js';
import type { Scene } from './scene.js';

const HALF_A_DAY_MS = 12 * 3_600_000;
/** Sessions of a run until nothing is left to do for it. */
const SESSIONS = 3;

export async function settle(scene: Scene): Promise<void> {
  const { model, machine } = scene;
  machine.service.atFault.clear();
  machine.clock.pass(HALF_A_DAY_MS);
  await resumeAll(scene);
  for (const run of model.runs.values()) await statesHold(run, machine);
  await historyAgrees(scene);
  const checked = await machine.run(['state', 'check']);
  holds(checked.code === 0, 'the state is whole', () => checked.stdout + checked.stderr);
  machine.clock.pass(HALF_A_DAY_MS);
  await scene.read('jobs', '--refresh');
  await unchangedIsHeld(scene);
}

/** A resume gets somewhere, unless its input has changed. */
async function resumeAll(scene: Scene): Promise<void> {
  const open = async (): Promise<Run[]> =>
    (await scene.list())
      .filter(({ resume }) => resume !== null)
      .flatMap(({ run }) => scene.model.runs.get(run) ?? [])
      .filter((run) => JSON.stringify(scene.rowsIn(run.path)) === JSON.stringify(run.rows));
  for (let session = 0; session < SESSIONS; session++) {
    for (const run of await open()) await scene.resume(run);
  }
  const left = (await open()).map(({ id }) => id);
  holds(left.length === 0, 'a resume gets somewhere', () => left.join(', '));
}

/** Outcomes and history tell the same. */
async function historyAgrees({ model, machine }: Scene): Promise<void> {
  const what = model.kind === 'users' ? 'user' : 'company';
  for (const id of IDS) {
    const { stdout } = await machine.run(['history', what, id, '--json']);
    const all = JSON.parse(stdout) as (RowOutcome & { run: string })[];
    for (const run of model.runs.values()) {
      const told = run.isTold ? run.outcomes.get(id) : undefined;
      if (!told || !['submitted', 'unknown'].includes(CLASS_OF[told.outcome])) continue;
      const entries = all.filter((entry) => entry.run === run.id);
      holds(
        entries.some(({ outcome }) => CLASS_OF[outcome] === CLASS_OF[told.outcome]),
        'history and outcomes agree',
        () => `${run.id}, ${id}: ${told.outcome} (${told.reason}); history: ${JSON.stringify(entries)}`,
      );
    }
  }
}

/** Of all that was sent and that the service does not hold, nothing is unchanged. */
async function unchangedIsHeld(scene: Scene): Promise<void> {
  const { service } = scene.machine;
  const sent = service.arrivals.flatMap(({ items }) => items);
  const held = (id: string): string | undefined => service.held(scene.model.kind, id);
  const others = IDS.map((id) => ({
    id,
    names: [...new Set(sent.filter((item) => item.id === id).map(({ name }) => name))],
  })).map(({ id, names }) => ({ id, names: names.filter((name) => name !== held(id)) }));
  // One name of each in a file.
  for (let at = 0; others.some(({ names }) => at < names.length); at++) {
    const rows = others.flatMap(({ id, names }) => (at < names.length ? { id, name: names[at]! } : []));
    scene.write('held.csv', rows);
    const { stdout } = await scene.machine.run(['import', 'held.csv', '--changed-only', '-n', '--json']);
    const { rows: counts } = JSON.parse(stdout) as Summary;
    holds(counts.unchanged === 0, 'unchanged only if the service holds it', () => {
      return `${JSON.stringify(counts)}; held: ${IDS.map((id) => `${id}=${held(id)}`).join(' ')}`;
    });
  }
}
