/**
 * Renews leases with a heartbeat every few seconds. It has its own thread and connection, so that neither a
 * busy main thread nor a busy connection delays it. It sends none while the main thread has not been active
 * for the length of a lease: a process that hangs must lose its lock.
 *
 * The result of heartbeats is in shared memory, not in messages, because `check` (`lease.ts`) must know it in
 * the tick in which a request is written.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { PostgresLocation } from '../location.js';
import { connect } from './connect.js';
import { literal, quoted, Session } from './session.js';

/** A lease of this process: its row in `leases`, and the shared memory with its last heartbeat. */
export interface KeptLease {
  scope: number;
  kind: string;
  owner: string;
  epoch: number;
  pulse: BigInt64Array;
}

/** What the thread of the heartbeats gets. */
export interface HeartData {
  location: PostgresLocation;
  /** Shared memory: when the main thread was last active, in monotonic milliseconds. */
  life: BigInt64Array;
  /** Monotonic clock of the main thread when it started this thread. */
  now: number;
}

type Heartbeats = Pick<Heart, 'keep' | 'stop'>;

/**
 * Indexes in a pulse: when the last successful heartbeat was sent, by both clocks; and 1 if the lease is
 * lost.
 */
const MONOTONIC = 0;
const WALL = 1;
const LOST = 2;

/**
 * Both clocks, in milliseconds: the monotonic clock cannot be set, and the wall clock continues while the
 * machine sleeps. Of the two elapsed times, the longer one counts.
 */
export type Times = Record<'monotonic' | 'wall', number>;

/** @param offset milliseconds from the monotonic clock of this thread to that of the main thread, or less */
export const timesNow = (offset = 0): Times => ({ monotonic: performance.now() + offset, wall: Date.now() });

/** Sets when the last successful heartbeat was sent. */
export function setPulse(pulse: BigInt64Array, sent: Times): BigInt64Array {
  Atomics.store(pulse, MONOTONIC, BigInt(Math.floor(sent.monotonic)));
  Atomics.store(pulse, WALL, BigInt(Math.floor(sent.wall)));
  return pulse;
}

/** Milliseconds since the last successful heartbeat was sent. */
export const sincePulse = (pulse: BigInt64Array, now: Times): number =>
  Math.max(
    now.monotonic - Number(Atomics.load(pulse, MONOTONIC)),
    now.wall - Number(Atomics.load(pulse, WALL)),
  );

export const isLost = (pulse: BigInt64Array): boolean => Atomics.load(pulse, LOST) === 1n;
export const markLost = (pulse: BigInt64Array): void => void Atomics.store(pulse, LOST, 1n);

/** Time between two heartbeats, and after a failed one. */
const beatMs = (leaseMs: number): number => leaseMs / 6;
const againMs = (leaseMs: number): number => leaseMs / 30;

export class Heart {
  #leases: readonly KeptLease[] = [];
  #session: Session | null = null;
  readonly #stopped = new AbortController();
  readonly #beating: Promise<void>;

  /** @param offset see `timesNow` */
  constructor(
    private readonly of: HeartData,
    private readonly offset = 0,
  ) {
    this.#beating = this.#beat();
  }

  /** Renews these leases from now on, in place of those before. */
  keep(leases: readonly KeptLease[]): void {
    this.#leases = leases;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#session?.close();
    await this.#beating;
  }

  async #beat(): Promise<void> {
    const { leaseMs } = this.of.location;
    const { signal } = this.#stopped;
    for (let pause = beatMs(leaseMs); !signal.aborted; ) {
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) break;
      pause = beatMs(leaseMs);
      if (timesNow(this.offset).monotonic - Number(Atomics.load(this.of.life, 0)) > leaseMs) continue;
      try {
        for (const lease of this.#leases) await this.#renew(lease);
      } catch {
        // Retried until it succeeds. `check` finds out how long ago the last heartbeat was.
        await this.#session?.close();
        this.#session = null;
        pause = againMs(leaseMs);
      }
    }
    await this.#session?.close();
  }

  async #renew(lease: KeptLease): Promise<void> {
    const { leaseMs, schema } = this.of.location;
    this.#session ??= new Session(await connect(this.of.location), beatMs(leaseMs));
    const sent = timesNow(this.offset);
    const [result] = await this.#session.script([
      `UPDATE ${quoted(schema)}.leases
       SET beat_at = clock_timestamp(), expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
       WHERE scope = ${lease.scope} AND kind = ${literal(lease.kind)} AND owner = ${literal(lease.owner)} AND epoch = ${lease.epoch}`,
    ]);
    if (result!.rowCount === 1) setPulse(lease.pulse, sent);
    // No row was updated: the lease is lost, unless it was released in the meantime.
    else if (this.#leases.includes(lease)) markLost(lease.pulse);
  }
}

/**
 * The file of the thread, next to the bundle of this module. It does not exist if the sources are run
 * directly; then the main thread sends the heartbeats.
 */
const WORKER = new URL('./heart-worker.cjs', import.meta.url);

/** Starts the heartbeats, and shows that this thread is active. */
export function startHeart(location: PostgresLocation): Heartbeats {
  const life = new BigInt64Array(new SharedArrayBuffer(8));
  const show = (): void => void Atomics.store(life, 0, BigInt(Math.round(performance.now())));
  show();
  setInterval(show, location.leaseMs / 12).unref();
  const data: HeartData = { location, life, now: performance.now() };
  if (!existsSync(fileURLToPath(WORKER))) return new Heart(data);
  const thread = new Worker(WORKER, { workerData: data });
  thread.unref();
  // Ignored: without heartbeats, the lease expires, and `check` reports it.
  thread.on('error', () => {});
  return {
    keep: (leases) => thread.postMessage(leases),
    stop: async () => void (await thread.terminate()),
  };
}
