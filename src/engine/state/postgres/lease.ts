/**
 * Locks on imports of an account and kind, for several machines (contract §10 "Lock"). A lock is a lease: a
 * row with an owner, an epoch, and a time of expiry by the clock of the database. It does not depend on a
 * connection, and expires by itself when its owner dies.
 *
 * With the default length of 60 s: its owner renews it every 10 s, and sends nothing with less than 20 s
 * left; a successor waits for 30 s after it has expired. These margins keep two processes from sending at the
 * same time, even if their clocks differ in speed.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { LockLostError } from '../../errors.js';
import type { Kind } from '../../model.js';
import { addScope, idOf, type Scope, sameScope } from '../access.js';
import type { HeldLease, HeldLock, Locks } from '../backend.js';
import { raw, type Sql, sql } from '../database.js';
import type { Fence, PostgresDatabase } from './database.js';
import {
  isLost,
  type KeptLease,
  markLost,
  setPulse,
  sincePulse,
  startHeart,
  type Times,
  timesNow,
} from './heart.js';
import { literal } from './session.js';

export class Leases implements Fence, Locks {
  readonly #owner = randomUUID();
  readonly #held = new Set<KeptLease>();
  #heart: ReturnType<typeof startHeart> | null = null;

  /** @param now returns both clocks; tests replace it */
  constructor(
    private readonly db: PostgresDatabase,
    private readonly now: () => Times = timesNow,
  ) {
    db.fence = this;
  }

  /** Takes a lease. Null if another process has it. */
  async take(scope: Scope, kind: Kind, holder = ''): Promise<HeldLease | null> {
    const { leaseMs } = this.db.location;
    let sent = this.now();
    const taken = await this.db.write(async (tx) => {
      await addScope(tx, scope);
      sent = this.now();
      return tx.get<{ scope: number; epoch: number }>(
        sql`INSERT INTO leases AS held (scope, kind, owner, epoch, holder, machine, lease_ms, beat_at, expires_at)
          VALUES (${idOf(scope)}, ${kind}, ${this.#owner}, 1, ${holder}, ${hostname()}, ${leaseMs}, clock_timestamp(),
            clock_timestamp() + ${raw(String(leaseMs))} * interval '1 millisecond')
          ON CONFLICT (scope, kind) DO UPDATE SET owner = excluded.owner, epoch = held.epoch + 1,
            holder = excluded.holder, machine = excluded.machine, lease_ms = excluded.lease_ms,
            beat_at = excluded.beat_at, expires_at = excluded.expires_at
          WHERE held.owner IS NULL
            OR held.expires_at + held.lease_ms / 2 * interval '1 millisecond' <= clock_timestamp()
          RETURNING scope, epoch`,
      );
    });
    if (!taken) return null;
    const lease = {
      ...taken,
      kind,
      owner: this.#owner,
      pulse: setPulse(new BigInt64Array(new SharedArrayBuffer(24)), sent),
    };
    this.#held.add(lease);
    this.#heart ??= startHeart(this.db.location);
    this.#heart.keep([...this.#held]);
    const own = sql`scope = ${lease.scope} AND kind = ${kind} AND owner = ${lease.owner} AND epoch = ${lease.epoch}`;
    const set = async (change: Sql): Promise<void> => {
      await this.db.write((tx) => tx.run(sql`UPDATE leases SET ${change} WHERE ${own}`));
    };
    return {
      rename: (words) => set(sql`holder = ${words}`),
      release: async () => {
        this.#held.delete(lease);
        this.#heart?.keep([...this.#held]);
        // A lease that cannot be released expires by itself.
        await set(sql`owner = NULL, expires_at = clock_timestamp()`).catch(() => {});
      },
    };
  }

  /** @throws LockLostError if a lease of this process may be lost */
  readonly check = (): void => {
    const { leaseMs } = this.db.location;
    for (const { kind, pulse } of this.#held) {
      if (isLost(pulse)) throw lost(notHeld(kind));
      const since = sincePulse(pulse, this.now());
      if (leaseMs - since >= leaseMs / 3) continue;
      const seconds = Math.round(since / 1_000);
      const what = `the lock on imports of ${kind} was not renewed for ${seconds} s`;
      throw lost(`${what}, so another import may take over`);
    }
  };

  /**
   * The query that checks the leases of this process in each of its writes. It takes no row locks, so
   * heartbeats are not delayed. Nothing can take over a lease before the write commits, because that needs
   * the turn to write, too.
   */
  sql(): string | null {
    if (this.#held.size === 0) return null;
    const rows = [...this.#held].map(({ scope, kind }) => `(${scope}, ${literal(kind)})`);
    return `SELECT scope, kind, owner, epoch, holder, machine FROM leases
      WHERE (scope, kind) IN (${rows.join(', ')})`;
  }

  verify(rows: readonly Record<string, unknown>[]): void {
    for (const lease of this.#held) {
      const row = rows.find(({ scope, kind }) => scope === lease.scope && kind === lease.kind);
      if (row?.owner === lease.owner && row.epoch === lease.epoch) continue;
      markLost(lease.pulse);
      // The new owner may have released it already, but its description stays. `unlock` leaves none.
      if (!row?.holder) throw lost(notHeld(lease.kind));
      const by = `${row.holder} on ${row.machine}`;
      throw lost(`${by} took over the lock on imports of ${lease.kind}`, by);
    }
  }

  /** Leases with an owner, including expired ones. */
  async held(scope?: Scope): Promise<HeldLock[]> {
    const rows = await this.db.read((on) =>
      on.all<Row>(`${KNOWN} WHERE owner IS NOT NULL ORDER BY account, region, base_url, kind`),
    );
    return rows.map(lockOf).filter((lock) => scope === undefined || sameScope(lock, scope));
  }

  /** Releases leases that have expired, or with `force` all. @returns the released leases */
  unlock(force: boolean): Promise<HeldLock[]> {
    const those = `owner IS NOT NULL ${force ? '' : 'AND expires_at <= clock_timestamp()'}`;
    return this.db.write(async (tx) => {
      const rows = await tx.all<Row>(`${KNOWN} WHERE ${those}`);
      await tx.run(`UPDATE leases SET owner = NULL, epoch = epoch + 1, holder = '' WHERE ${those}`);
      return rows.map(lockOf);
    });
  }

  async close(): Promise<void> {
    await this.#heart?.stop();
  }
}

type Row = Omit<HeldLock, 'fresh' | 'holder'> & { holder: string; machine: string; fresh: number };

const KNOWN = `SELECT account, region, base_url, kind, holder, machine,
    floor(extract(epoch FROM clock_timestamp() - beat_at)) AS heartbeat_age, expires_at > clock_timestamp() AS fresh
  FROM leases JOIN scopes USING (scope)`;

const lockOf = ({ holder, machine, fresh, ...row }: Row): HeldLock => ({
  ...row,
  holder: `${holder} on ${machine}`,
  fresh: fresh === 1,
});

const lost = (what: string, by: string | null = null): LockLostError =>
  new LockLostError(`${what}; nothing more is sent`, by);

const notHeld = (kind: string): string => `this import no longer holds the lock on imports of ${kind}`;
