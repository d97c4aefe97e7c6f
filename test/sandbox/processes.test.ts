/** What several processes make of one folder of data, and what SIGKILL leaves of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSandboxData, type World } from '../../src/sandbox/world.js';
import { built, printedJson, profiles } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { send, USERS } from './http.js';

beforeAll(built);

interface SandboxProcess {
  url: string;
  /** No handler of the process runs. */
  kill(): Promise<unknown>;
}

const TOMORROW = { now: () => Date.now() + 86_400_000 };

async function started(dataDir: string): Promise<SandboxProcess> {
  const ports = ['--port', '0', '--lookup-port', '0', '--eu-port', '0', '--no-page'];
  const child = profiles(['sandbox', '--data', dataDir, ...ports, '--json'], { cwd: dataDir });
  const kill = (): Promise<unknown> => {
    child.kill('SIGKILL');
    return child.ended;
  };
  onTestFinished(() => void kill());
  const { base_url: url } = (await printedJson(child.process.stdout)) as { base_url: string };
  return { url, kill };
}

/** The data as they are when every job has completed. */
function dataOf(dataDir: string): World {
  const data = openSandboxData(dataDir, TOMORROW)!;
  onTestFinished(() => data.close());
  return data;
}

const submit = (to: SandboxProcess, users: object[]): ReturnType<typeof send> =>
  send(to.url + USERS, {
    method: 'POST',
    headers: { authorization: 'Token any' },
    body: JSON.stringify({ users }),
  });

describe('several processes', () => {
  it('create the data together if all start in an empty folder at once', async () => {
    const dir = scratch();
    const all = await Promise.all([started(dir), started(dir), started(dir)]);
    const replies = await Promise.all(all.map((one) => submit(one, [{ user_id: 'u' }])));
    const ids = replies.map((reply) => (reply.json() as { job_id: string }).job_id);
    expect(ids.map((id) => id.replace(/^.*-/, '')).sort()).toEqual(['1', '2', '3']);
    expect(new Set(ids.map((id) => id.replace(/-\d+$/, ''))).size).toBe(1);
  });

  it('lose no updates to the same profiles', async () => {
    const dir = scratch();
    const both = await Promise.all([started(dir), started(dir)]);
    const rounds = 25;
    const ids = Array.from({ length: 20 }, (_, i) => `u-${i}`);
    const load = both.map(async (to, which) => {
      for (let round = 0; round < rounds; round++) {
        const key = `key-${which}-${round}`;
        const reply = await submit(
          to,
          ids.map((user_id) => ({ user_id, metadata: { [key]: round } })),
        );
        expect(reply.status).toBe(202);
      }
    });
    await Promise.all(load);
    const data = dataOf(dir);
    for (const id of ids) {
      const held = data.profile('users', id, 'default')!.metadata;
      expect(Object.keys(held)).toHaveLength(2 * rounds);
    }
  });
});

describe('SIGKILL under load', () => {
  it('keeps everything that was acknowledged, and no partial request', async () => {
    const dir = scratch();
    const acknowledged: { job: string; ids: string[] }[] = [];
    const unknown: string[][] = [];
    let request = 0;
    for (let kill = 0; kill < 6; kill++) {
      const child = await started(dir);
      const writers = Array.from({ length: 4 }, async () => {
        for (;;) {
          const ids = Array.from({ length: 100 }, (_, i) => `r${request}-${i}`);
          request++;
          try {
            const reply = await submit(
              child,
              ids.map((user_id) => ({ user_id, metadata: { request: ids[0] } })),
            );
            acknowledged.push({ job: (reply.json() as { job_id: string }).job_id, ids });
          } catch {
            unknown.push(ids); // the answer was lost
            return;
          }
        }
      });
      // Real time: the point is to hit it at work. Up to 90 ms, so that start-up is hit too.
      await sleep(kill * 18);
      // A busy machine may have answered nothing so soon.
      if (kill === 5) await expect.poll(() => acknowledged.length).toBeGreaterThan(0);
      await child.kill();
      await Promise.all(writers);
    }
    const data = dataOf(dir);
    const held = (ids: string[]): number =>
      ids.filter((id) => data.profile('users', id, 'default')?.metadata.request === ids[0]).length;
    for (const { job, ids } of acknowledged) expect(held(ids), job).toBe(ids.length);
    for (const ids of unknown) expect([0, ids.length]).toContain(held(ids));
    expect(new Set(acknowledged.map(({ job }) => job)).size).toBe(acknowledged.length);
  });
});
