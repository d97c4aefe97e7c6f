/** What a service was given, kept by the test itself: whatever the program says is held against this. */
import { createHash } from 'node:crypto';
import { ID_FIELD, type Kind } from '../../src/engine/model.js';

/** A bulk request whose body was read to its end. */
export interface Arrival {
  /** In order of arrival, from 1. */
  n: number;
  kind: Kind;
  ids: string[];
  /** Of the body, hexadecimal. */
  sha256: string;
  /** The service carried it out, whatever the client was told. */
  accepted: boolean;
  /** A complete 2xx reply was sent: from here on the client has no reason to send it again. */
  acknowledged: boolean;
}

interface Item {
  company_id?: string;
  user_id?: string;
  metadata?: Record<string, unknown>;
}

export class Ledger {
  readonly arrivals: Arrival[] = [];
  /** Profiles as the upserts left them, by kind and id. */
  readonly profiles = { companies: new Map<string, object>(), users: new Map<string, object>() };
  readonly #bodies = new Map<Arrival, Item[]>();

  enter(kind: Kind, body: Buffer): Arrival {
    const items = (JSON.parse(body.toString('utf8')) as Record<Kind, Item[]>)[kind];
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

  /** The upserts of a request, done. */
  accept(arrival: Arrival): void {
    arrival.accepted = true;
    const profiles = this.profiles[arrival.kind];
    for (const [index, item] of this.#bodies.get(arrival)!.entries()) {
      const id = arrival.ids[index]!;
      profiles.set(id, { ...profiles.get(id), ...item.metadata });
    }
  }

  /** How often each id was carried out. */
  get timesAccepted(): Map<string, number> {
    const times = new Map<string, number>();
    for (const { ids } of this.arrivals.filter(({ accepted }) => accepted)) {
      for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1);
    }
    return times;
  }

  /** Ids that arrived again after a request that held them was acknowledged. For inputs in which an id stands once. */
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
