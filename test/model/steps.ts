/** What can happen, a step each. */
import fc from 'fast-check';
import type { Summary } from '../../src/engine/model.js';
import {
  circumstances,
  FILES,
  IDS,
  isolation,
  meanwhile,
  planning,
  type Sending,
  sending,
  sometimes,
  waiting,
} from './given.js';
import { ALL_WELL, type Circumstances } from './machine.js';
import type { Data, Model, Run } from './model.js';
import { holds, leavesOutRejected } from './properties.js';
import type { Scene } from './scene.js';
import { type Move, textOf } from './service.js';

/** A step with what it is given. */
class Step<P> implements fc.AsyncCommand<Model, Scene> {
  constructor(
    private readonly name: string,
    private readonly given: P,
    private readonly take: (given: P, scene: Scene) => Promise<void>,
    private readonly can: (model: Model) => boolean,
  ) {}

  check(model: Model): boolean {
    return this.can(model);
  }

  async run(model: Model, scene: Scene): Promise<void> {
    await this.take(this.given, scene).catch((error: unknown) => {
      throw model.explained(error);
    });
  }

  toString(): string {
    return `${this.name}(${JSON.stringify(this.given)})`;
  }
}

const step = <P>(
  weight: number,
  name: string,
  given: fc.Arbitrary<P>,
  take: (given: P, scene: Scene) => Promise<void>,
  can: (model: Model) => boolean = () => true,
): fc.WeightedArbitrary<Step<unknown>> => ({
  weight,
  arbitrary: given.map((params) => new Step(name, params, take, can) as Step<unknown>),
});

const file = fc.constantFrom(...FILES);
const id = fc.constantFrom(...IDS);
const one = <T>(of: readonly T[], at: number): T | undefined => of[at % Math.max(1, of.length)];
const hasRuns = ({ runs }: Model): boolean => runs.size > 0;

export const STEPS = fc.oneof(
  step(
    10,
    'import',
    fc.record({ file, sending, circumstances, resume: sometimes(4), full: sometimes(12), meanwhile }),
    async ({ file, sending, circumstances, resume, full, meanwhile }, scene) => {
      const data = { ...scene.data(file), hasCanary: sending.canary };
      const argv = ['import', file, ...planning(sending), ...waiting(sending)];
      if (full && !sending.changedOnly) argv.push('--full');
      if (resume) argv.push('--resume');
      // A process that dies, or cannot record its session, does not say which run it continued.
      const isMute = circumstances.end?.how === 'kill' || circumstances.end?.how === 'full disk';
      const run = resume && isMute ? await sameContent(data, scene) : undefined;
      const submitted = resume ? await submittedRun(data, scene) : null;
      const { changedOnly, concurrency } = sending;
      const how = { circumstances, changedOnly, concurrency, meanwhile, run };
      const ran = await scene.send(argv, data, how);
      const hasSent = scene.machine.service.arrivals.some(({ command }) => command === ran.command);
      const isRight = submitted === null || !hasSent;
      holds(isRight, 'import --resume sends nothing that was submitted', () => `${submitted}`);
    },
  ),
  step(
    4,
    'import changes',
    fc.record({ file, chunk: fc.constantFrom('1', '5'), isolate: sometimes(3) }),
    async ({ file, chunk, isolate }, scene) => {
      const argv = ['import', file, '--changed-only', '--chunk-size', chunk, ...isolation(isolate)];
      await scene.send(argv, scene.data(file), { changedOnly: true });
    },
  ),
  step(
    1,
    'import over a slow job without an answer',
    fc.record({ file, seconds: fc.constantFrom(120, 900, 3_600) }),
    async ({ file, seconds }, scene) => {
      const slow = { end: 'completed', seconds: 10_000, gone: false } as const;
      const circumstances = { moves: ['lose after'] as const, fates: [slow], end: null };
      const argv = ['import', file, '-o', 'retries=0'];
      await scene.send(argv, scene.data(file), { circumstances });
      await wait(seconds, scene);
      const other = FILES.find((one) => one !== file)!;
      await scene.send(['import', other], scene.data(other));
    },
  ),
  step(
    3,
    'refused after a lost answer',
    fc.record({
      file,
      first: fc.constantFrom<Move>('lose before', 'lose after'),
      isolate: fc.boolean(),
      isNew: fc.boolean(),
      last: fc.constantFrom<Move>(401, 503, 'lose after'),
    }),
    async ({ file, first, isolate, isNew, last }, scene) => {
      const flags = isolation(isolate);
      const send = (...moves: Move[]) => {
        const argv = ['import', file, '-o', 'retries=0', ...flags];
        return scene.send(argv, scene.data(file), { circumstances: { moves, fates: [], end: null } });
      };
      await send(first);
      // It replaces the run.
      if (isNew) return void (await send(422, last));
      const [newest] = await scene.list();
      const run = scene.model.runs.get(newest?.run ?? '');
      if (run && newest?.resume) {
        await scene.resume(run, flags, { moves: [422, last], fates: [], end: null });
      }
    },
  ),
  step(
    3,
    'rows at fault',
    fc.record({
      file,
      ids: fc.subarray<string>([...IDS], { minLength: 1, maxLength: 2 }),
      circumstances,
      retries: sometimes(3),
    }),
    async ({ file, ids, circumstances, retries }, scene) => {
      const { service } = scene.machine;
      const rows = scene.rowsIn(file).filter(({ id }) => ids.includes(id));
      for (const row of rows) service.atFault.add(textOf(row));
      scene.model.did(`at fault: ${rows.map(textOf).join(' ')}`);
      const argv = ['import', file, '--changed-only', ...isolation(true)];
      const send = async (circumstances: Circumstances): Promise<Run | undefined> => {
        const { command } = await scene.send(argv, scene.data(file), { changedOnly: true, circumstances });
        return [...scene.model.runs.values()].find(({ commands }) => commands.includes(command));
      };
      const before = await send(circumstances);
      if (!before?.isTold) return;
      const again = await send(ALL_WELL);
      if (again?.isTold) leavesOutRejected(before, again, scene.model, scene.machine);
      // What the run left out stays so, also where the session that retries sends nothing.
      if (again && retries)
        await scene.resume(again, ['--failed', ...isolation(true)], { moves: [401], fates: [], end: null });
    },
  ),
  step(2, 'import changes after a plan', fc.record({ file, sending }), async ({ file, sending }, scene) => {
    await savePlan(FILES.find((other) => other !== file)!, sending, scene);
    await scene.send(['import', file, '--changed-only'], scene.data(file), { changedOnly: true });
  }),
  step(2, 'save plan', fc.record({ file, sending }), ({ file, sending }, scene) =>
    savePlan(file, sending, scene),
  ),
  step(
    4,
    'apply',
    fc.record({ plan: fc.nat(5), circumstances, sending, meanwhile }),
    async ({ plan: at, circumstances, sending, meanwhile }, scene) => {
      const { plans, runs } = scene.model;
      const plan = one(plans, at)!;
      const run = plan.run === undefined ? undefined : runs.get(plan.run);
      const ran = await scene.send(['apply', plan.file, ...waiting(sending)], plan, {
        circumstances,
        concurrency: plan.concurrency,
        meanwhile,
        run,
      });
      plan.run ??= [...runs.values()].find(({ commands }) => commands.includes(ran.command))?.id;
    },
    ({ plans }) => plans.length > 0,
  ),
  step(
    7,
    'resume',
    fc.record({
      run: fc.nat(5),
      isolate: sometimes(4),
      wait: fc.constantFrom(null, null, '90s'),
      circumstances,
    }),
    async ({ run: at, isolate, wait, circumstances }, scene) => {
      const open = (await scene.list()).filter(({ resume }) => resume !== null);
      const run = scene.model.runs.get(one(open, at)?.run ?? '');
      if (run) await scene.resume(run, [...isolation(isolate), ...waiting({ wait })], circumstances);
    },
    hasRuns,
  ),
  step(
    4,
    'resume --failed',
    fc.record({ run: fc.nat(5), isolate: sometimes(2), circumstances }),
    async ({ run: at, isolate, circumstances }, scene) => {
      const over = (await scene.list()).filter(({ status }) => ['failed', 'partial'].includes(status));
      const run = scene.model.runs.get(one(over, at)?.run ?? '');
      if (run) await scene.resume(run, ['--failed', ...isolation(isolate)], circumstances);
    },
    hasRuns,
  ),
  step(
    4,
    'identify',
    fc.record({ id, noWait: fc.boolean(), circumstances }),
    ({ id, noWait, circumstances }, scene) =>
      scene.identify(id, noWait && scene.model.kind === 'users' ? ['--no-wait'] : [], circumstances),
  ),
  step(
    4,
    'edit rows',
    fc.record({ file, ids: fc.subarray<string>([...IDS], { minLength: 1 }) }),
    async ({ file, ids }, scene) => {
      const edited = scene.rowsIn(file).map((row) => {
        return ids.includes(row.id) ? { ...row, name: scene.model.newName('file') } : row;
      });
      scene.write(file, edited);
    },
  ),
  step(
    2,
    'edit file',
    fc.record({ file, ids: fc.shuffledSubarray([...IDS], { minLength: 1 }) }),
    async ({ file, ids }, scene) => {
      const before = new Map(scene.rowsIn(file).map(({ id, name }) => [id, name]));
      const rows = ids.map((id) => ({ id, name: before.get(id) ?? scene.model.newName('file') }));
      scene.write(file, rows);
    },
  ),
  step(2, 'refresh jobs', fc.constant(null), async (_, scene) => {
    await scene.read('jobs', '--refresh', '--json');
  }),
  step(3, 'wait', fc.constantFrom(30, 120, 900, 3_600, 90_000), wait),
  step(
    3,
    'next',
    fc.record({ at: fc.nat(3), circumstances }),
    async ({ at, circumstances }, scene) => scene.follow(one(scene.model.next, at)!, circumstances),
    ({ next }) => next.length > 0,
  ),
);

const isSame = (a: Data, b: Data | undefined): boolean => JSON.stringify(a.rows) === JSON.stringify(b?.rows);

/** The newest unfinished run of this content. */
async function sameContent(data: Data, scene: Scene): Promise<Run | undefined> {
  const open = (await scene.list()).filter(({ resume }) => resume !== null);
  // The run of a plan is continued by its plan.
  return open
    .map(({ run }) => scene.model.runs.get(run))
    .find((run) => run && !('file' in run) && isSame(data, run));
}

/** The newest run, if it has submitted the same content and its jobs are unfinished as far as the state knows. */
async function submittedRun(data: Data, scene: Scene): Promise<string | null> {
  const [newest] = await scene.list();
  const run = scene.model.runs.get(newest?.run ?? '');
  if (newest?.status !== 'submitted' || run?.path !== data.path || !isSame(data, run)) return null;
  const { stdout } = await scene.machine.run(['runs', run.id, '--json']);
  const { jobs } = JSON.parse(stdout) as Pick<Summary, 'jobs'>;
  const isOpen = jobs.some(({ status }) => !['completed', 'failed', 'unknown'].includes(status));
  return isOpen ? run.id : null;
}

async function wait(seconds: number, scene: Scene): Promise<void> {
  scene.machine.clock.pass(seconds * 1_000);
  scene.model.did(`wait ${seconds} s`, scene.model.next);
}

async function savePlan(file: string, sending: Sending, scene: Scene): Promise<void> {
  const plan = `plan-${scene.model.plans.length}.json`;
  const data = scene.data(file);
  const ran = await scene.read('import', file, ...planning(sending), '--save-plan', plan);
  // 5: rows are left out.
  if (ran.code === 0 || ran.code === 5) {
    const { canary: hasCanary, concurrency, changedOnly: compares } = sending;
    scene.model.plans.push({ ...data, file: plan, hasCanary, concurrency, compares });
  }
}
