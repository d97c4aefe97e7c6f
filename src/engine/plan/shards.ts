/**
 * Divides a plan into parts, one for each shard (contract §10 "Shards"). Requests that share identifiers must
 * be sent in order, so they form a group, and all requests of a group are in one part. Pure.
 */

import { IdTable } from '../id-table.js';
import { type Kind, kindsOf } from '../model.js';
import type { SavedRequest } from './saved-plan.js';

/** Finds the groups of requests while a plan is made (union-find). */
export class RequestGroups {
  /** By kind: the first request with each id, counted from 1. */
  readonly #requests = { companies: new IdTable(), users: new IdTable() };
  /** For each request: an earlier request of the same group, or itself. */
  readonly #before: number[] = [];

  /** Adds the next request. @param shared its ids that appear more than once in the inputs of the kind */
  add(kind: Kind, shared: Iterable<bigint>): void {
    const request = this.#before.push(this.#before.length) - 1;
    for (const id of shared) {
      const other = this.#requests[kind].get(id);
      if (other === 0) this.#requests[kind].set(id, request + 1);
      else this.#join(request, other - 1);
    }
  }

  /** For each request in order: the number of its group, from 1; null if it shares no identifier. */
  numbers(): (number | null)[] {
    const firsts = this.#before.map((_, request) => this.#first(request));
    const sizes = new Map<number, number>();
    for (const first of firsts) sizes.set(first, (sizes.get(first) ?? 0) + 1);
    const numbers = new Map<number, number>();
    return firsts.map((first) => {
      if (sizes.get(first) === 1) return null;
      const number = numbers.get(first) ?? numbers.size + 1;
      numbers.set(first, number);
      return number;
    });
  }

  /** Joins the groups of two requests. The earliest request of both represents the new group. */
  #join(a: number, b: number): void {
    const [first, second] = [this.#first(a), this.#first(b)];
    this.#before[Math.max(first, second)] = Math.min(first, second);
  }

  #first(request: number): number {
    let first = request;
    while (this.#before[first] !== first) first = this.#before[first]!;
    // Path compression for later searches.
    for (let at = request; at !== first; ) {
      const next = this.#before[at]!;
      this.#before[at] = first;
      at = next;
    }
    return first;
  }
}

/**
 * Assigns each request to a part, from 1 to `shards`. Parts have about the same number of rows of each kind,
 * because users wait for all companies. Requests without a group are divided into consecutive ranges, so that
 * a shard reads little more than its own rows.
 * @returns the part of each request, in order
 */
export function partsOf(
  requests: readonly Pick<SavedRequest, 'input' | 'rows' | 'group'>[],
  inputs: readonly { kind: Kind }[],
  shards: number,
): number[] {
  const parts = new Array<number>(requests.length).fill(1);
  for (const kind of kindsOf(inputs)) {
    const own = [...requests.keys()].filter((at) => inputs[requests[at]!.input]!.kind === kind);
    const rows = new Array<number>(shards).fill(0);
    for (const group of groupsIn(own, requests)) {
      const least = rows.indexOf(Math.min(...rows));
      rows[least]! += rowsOf(group, requests);
      for (const at of group) parts[at] = least + 1;
    }
    const single = own.filter((at) => requests[at]!.group === undefined);
    const room = roomIn(rows, rowsOf(single, requests));
    let [part, end, before] = [0, room[0]!, 0];
    for (const at of single) {
      const size = requests[at]!.rows;
      // A request belongs to the part that contains its middle.
      while (part < shards - 1 && before + size / 2 > end) end += room[++part]!;
      before += size;
      parts[at] = part + 1;
    }
  }
  return parts;
}

const rowsOf = (some: readonly number[], requests: readonly { rows: number }[]): number =>
  some.reduce((sum, at) => sum + requests[at]!.rows, 0);

/** The groups of these requests, the largest first; groups of the same size in order. */
function groupsIn(
  own: readonly number[],
  requests: readonly Pick<SavedRequest, 'rows' | 'group'>[],
): number[][] {
  const groups = new Map<number, number[]>();
  for (const at of own) {
    const { group } = requests[at]!;
    if (group !== undefined) groups.set(group, [...(groups.get(group) ?? []), at]);
  }
  return [...groups.values()].sort((a, b) => rowsOf(b, requests) - rowsOf(a, requests));
}

/**
 * How many more rows each part takes, so that all parts have about the same.
 * @param filled rows that each part has
 */
function roomIn(filled: readonly number[], rows: number): number[] {
  const sorted = [...filled].sort((a, b) => a - b);
  let [level, sum] = [0, rows];
  for (const [at, next] of sorted.entries()) {
    if (at > 0 && level <= next) break;
    sum += next;
    level = sum / (at + 1);
  }
  return filled.map((has) => Math.max(0, level - has));
}
