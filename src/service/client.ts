/** The client of the service: all seven operations of the spec. */
import type { Kind } from '../model.js';
import type { Job, LookupList, LookupRecord } from './contract.js';

/** What came back for one request, before anyone decides what it means. */
export type Answer =
  /** A complete reply was read. */
  | {
      type: 'reply';
      status: number;
      retryAfter: string | null;
      requestId: string | null;
      contentType: string | null;
      body: string;
    }
  /** Nothing can have arrived: no name, refused, connect timeout, TLS not agreed. */
  | { type: 'unsent'; reason: string; tls: boolean }
  /** It was sent, or partly; what became of it is unknown: reset, deadline, a reply cut off. */
  | { type: 'lost'; reason: string };

export interface ServiceClient {
  readonly baseUrl: string;
  readonly lookupBaseUrl: string | null;
  /** Endpoints 1 and 3: one attempt, no retry, no redirect. `body` is UTF-8 JSON, sent as it is. Never throws for network failures; throws the signal's reason when aborted. */
  submit(kind: Kind, body: Uint8Array, signal?: AbortSignal): Promise<Answer>;
  /** Endpoint 2: one attempt. */
  identifyCompany(body: Uint8Array, signal?: AbortSignal): Promise<Answer>;
  /** Endpoint 4: retries passing failures. @throws AuthError ServiceError (status 404 included) NetworkError ContractError */
  job(jobId: string, signal?: AbortSignal): Promise<Job>;
  /** Endpoints 5 to 7: retries passing failures. `text` is the array as it came. */
  lookup(list: LookupList, signal?: AbortSignal): Promise<{ text: string; records: LookupRecord[] }>;
  close(): Promise<void>;
}
