/**
 * Detects inputs with columns for a user and a company that may be users or companies (contract §3 "Kind and
 * identifier").
 */
import { UsageError } from '../errors.js';
import type { OpenedInput } from '../read/index.js';
import { DuplicateFinder } from './duplicates.js';

/** Keyed hashes of the identifiers in a batch. */
interface Part {
  ids: BigUint64Array;
  companies: BigUint64Array | null;
  companyRepeats: boolean;
}

/**
 * Detects rows that are read as users, but may be companies, each with one of its users: if users repeat and
 * companies do not. In a file of users, a company repeats soon. From then on, nothing is collected.
 */
export class EitherKind {
  readonly #users = new DuplicateFinder();
  readonly #companies = new DuplicateFinder();
  #settled = false;
  #named = false;

  add({ ids, companies, companyRepeats }: Part): void {
    if (this.#settled) return;
    this.#users.add(ids);
    if (companies) this.#companies.add(companies);
    this.#named ||= companies !== null && companies.length > 0;
    this.#settled = companyRepeats;
  }

  /** Whether the rows may be companies. */
  get unclear(): boolean {
    return !this.#settled && this.#named && this.#companies.count === 0 && this.#users.count > 0;
  }

  /** @throws UsageError that asks for the kind */
  check({ path, idColumn, companyIdColumn }: OpenedInput): void {
    if (!this.unclear) return;
    const company = companyIdColumn!;
    throw new UsageError(
      `${path} may contain users or companies: ${idColumn} repeats and ${company} does not`,
      {
        hint: 'say what its rows are',
        problem: { code: 'kind_ambiguous', path, user: idColumn, company },
      },
    );
  }
}
