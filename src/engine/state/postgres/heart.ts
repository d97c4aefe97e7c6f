/**
 * Renews leases with a heartbeat every few seconds. It has its own thread and connection, so that neither a
 * busy main thread nor a busy connection delays it. It sends none while the main thread has not been active
 * for the length of a lease: a process that hangs must lose its lock.
 *
 * The result of heartbeats is in shared memory, not in messages, because `check` (`lease.ts`) must know it in
 * the tick in which a request is written.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSession } from './database-session.js';
import type { PostgresLocation } from './location.js';
import { literal, quoted } from './sql.js';

/** A lease of this process: its row in `leases`, and the shared memory with its last heartbeat. */
export interface KeptLease {
  scope: number;
  kind: string;
  owner: string;
  epoch: number;
  pulse: BigInt64Array;
}

export type LeaseKey = Pick<KeptLease, 'scope' | 'kind'>;

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
export interface Times {
  monotonic: number;
  wall: number;
}
/** @param offset milliseconds from the monotonic clock of this thread to that of the main thread, or less */
export const clockOf =
  (offset: number): (() => Times) =>
  () => ({ monotonic: performance.now() + offset, wall: Date.now() });

export const newPulse = (sent: Times): BigInt64Array => {
  const pulse = new BigInt64Array(new SharedArrayBuffer(3 * 8));
  setPulse(pulse, sent);
  return pulse;
};

function setPulse(pulse: BigInt64Array, sent: Times): void {
  Atomics.store(pulse, MONOTONIC, BigInt(Math.floor(sent.monotonic)));
  Atomics.store(pulse, WALL, BigInt(Math.floor(sent.wall)));
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
  readonly #leases = new Map<string, KeptLease>();
  #session: DatabaseSession | null = null;
  #stopped = new AbortController();
  #beating: Promise<void> | null = null;

  /** @param life shared memory: when the main thread was last active, in monotonic milliseconds */
  constructor(
    private readonly location: PostgresLocation,
    private readonly life: BigInt64Array,
    private readonly now: () => Times,
  ) {}

  keep(lease: KeptLease): void {
    this.#leases.set(keyOf(lease), lease);
    this.#beating ??= this.#beat();
  }

  drop(lease: LeaseKey): void {
    this.#leases.delete(keyOf(lease));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#session?.close();
    await this.#beating;
  }

  async #beat(): Promise<void> {
    const { leaseMs } = this.location;
    const { signal } = this.#stopped;
    for (let pause = beatMs(leaseMs); !signal.aborted; ) {
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) break;
      pause = beatMs(leaseMs);
      if (this.now().monotonic - Number(Atomics.load(this.life, 0)) > leaseMs) continue;
      try {
        for (const lease of this.#leases.values()) await this.#renew(lease);
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
    const { leaseMs, schema } = this.location;
    this.#session ??= await DatabaseSession.open(this.location, beatMs(leaseMs));
    const sent = this.now();
    const [result] = await this.#session.script([
      `UPDATE ${quoted(schema)}.leases
       SET beat_at = clock_timestamp(), expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
       WHERE scope = ${lease.scope} AND kind = ${literal(lease.kind)} AND owner = ${literal(lease.owner)} AND epoch = ${lease.epoch}`,
    ]);
    if (result!.rowCount === 1) setPulse(lease.pulse, sent);
    // No row was updated: the lease is lost, unless it was released in the meantime.
    else if (this.#leases.get(keyOf(lease)) === lease) markLost(lease.pulse);
  }
}

const keyOf = ({ scope, kind }: LeaseKey): string => `${scope} ${kind}`;
