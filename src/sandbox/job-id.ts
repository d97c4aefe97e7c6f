/** Job ids look like `urn:profiles:job:eu/5f3c0a91-17`: a URI (spec: Job), with `:` and `/` that a client must encode. */
import type { Region } from './types.js';

export function formatJobId(region: Region, instance: string, n: number): string {
  return `urn:profiles:job:${region}/${instance}-${n}`;
}

/** The number of the job, or undefined when the id is not one of this instance and region. */
export function parseJobId(id: string, region: Region, instance: string): number | undefined {
  const n = Number(id.slice(id.lastIndexOf('-') + 1));
  return Number.isSafeInteger(n) && formatJobId(region, instance, n) === id ? n : undefined;
}
