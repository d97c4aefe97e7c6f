/** What a service received, recorded by the test itself: the claims of the program are compared with it. */
import { createHash } from 'node:crypto';
import { ID_FIELD, type Kind } from '../../src/engine/model.js';

/** A request with items that was read completely. */
export interface Arrival {
  /** Number in order of arrival, from 1. */
  n: number;
  kind: Kind;
  ids: string[];
  /** SHA-256 of the body, hexadecimal. */
  sha256: string;
  /** Whether the service carried it out, whatever it answered. */
  accepted: boolean;
  /** Whether a complete 2xx reply was sent: from then on, the client has no reason to send it again. */
  acknowledged: boolean;
}

interface Item {
  company_id?: string;
  user_id?: string;
  metadata?: Record<string, unknown>;
}

export class Ledger {
  readonly arrivals: Arrival[] = [];
  /** The profiles that result from the upserts, by kind and id. */
  readonly profiles = { companies: new Map<string, object>(), users: new Map<string, object>() };
  readonly #bodies = new Map<Arrival, Item[]>();

  enter(kind: Kind, body: Buffer): Arrival {
    const content = JSON.parse(body.toString('utf8')) as Record<Kind, Item[] | undefined> & Item;
    const items = content[kind] ?? [content];
    const arrival: Arrival = {
      n: this.arrivals.length + 1,
      kind,
      ids: items.map((item) => item[ID_FIELD[kind]]!),
      sha256: createHash('sha256').update(body).digest('hex'),
      accepted: false,
      acknowledged: false,
    };
    this.arrivals.push(arrival);
    this.#bodies.set(arrival, items);
    return arrival;
  }

  /** Applies the upserts of a request. */
  apply(arrival: Arrival): void {
    const profiles = this.profiles[arrival.kind];
    for (const [index, item] of this.#bodies.get(arrival)!.entries()) {
      const id = arrival.ids[index]!;
      profiles.set(id, { ...profiles.get(id), ...item.metadata });
    }
  }

  /** The ids of each request, in order of arrival. */
  get sent(): string[] {
    return this.arrivals.map(({ ids }) => ids.join(' '));
  }

  /** How often each id was upserted. */
  get timesAccepted(): Map<string, number> {
    const times = new Map<string, number>();
    for (const { ids } of this.arrivals.filter(({ accepted }) => accepted)) {
      for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1);
    }
    return times;
  }

  /**
   * Ids that arrived again after a request with them was acknowledged. For inputs in which each id occurs
   * once.
   */
  get resentAfterAcknowledgement(): string[] {
    const acknowledged = new Set<string>();
    const resent = new Set<string>();
    for (const { ids, acknowledged: done } of this.arrivals) {
      for (const id of ids) if (acknowledged.has(id)) resent.add(id);
      if (done) for (const id of ids) acknowledged.add(id);
    }
    return [...resent];
  }
}
