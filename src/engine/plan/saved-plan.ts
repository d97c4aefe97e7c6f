/**
 * Reads and writes saved plans, which can be reviewed and then applied (contract §3 "Review before sending").
 * A plan has no token, and no cell values except those in rules. Everything except its run and time depends
 * only on the inputs, the options, and the state, so the same plan made again has the same digest.
 */
import { createHash } from 'node:crypto';
import { UsageError } from '../errors.js';
import type { ImportOptions } from '../options.js';
import type { SavedPlan } from './plan-schema.js';

export type { SavedPlan, SavedRequest } from './plan-schema.js';

/** The version of the format. Plans with a newer one cannot be read. */
export const PLAN_VERSION = 1;

/**
 * The digest of a plan (SHA-256, hexadecimal). It does not depend on the order of members or on white space.
 */
function digestOf(plan: Record<string, unknown>): string {
  const { digest: _d, run: _r, created_at: _c, made_after: _m, $schema: _s, ...content } = plan;
  return createHash('sha256')
    .update(JSON.stringify(sorted(content)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, sorted(member)]);
}

/** Adds the digest to a plan. */
export const sealed = (plan: Omit<SavedPlan, 'digest'>): SavedPlan => {
  const written = JSON.parse(JSON.stringify(plan)) as Omit<SavedPlan, 'digest'>;
  return { ...written, digest: digestOf(written) };
};

/** The text of a plan file. What a reviewer reads comes first, and each request is one line. */
export function planFile({ requests, ...plan }: SavedPlan): string {
  const marker = '@requests@';
  const { run, created_at, made_after, digest, ...first } = plan;
  const last = { run, created_at, made_after, digest };
  const whole = JSON.stringify({ ...first, requests: marker, ...last }, null, 2);
  const lines = requests.map((request) => `    ${JSON.stringify(request)}`).join(',\n');
  return `${whole.replace(`"requests": "${marker}"`, () => `"requests": [${lines && `\n${lines}\n  `}]`)}\n`;
}

/** The SHA-256 of the bytes of a plan file, as `sha256sum` prints it. */
export const fileDigest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * Reads a plan file.
 * @param path for messages
 * @throws UsageError if it is not a plan, was written by a newer version, or was edited
 */
export async function readPlan(bytes: Uint8Array, path: string): Promise<SavedPlan> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes)); // leaves out a byte order mark
  } catch (error) {
    throw new UsageError(`${path}: is not a plan: it is not JSON`, {
      problem: { code: 'not_a_plan' },
      cause: error,
    });
  }
  const fields = (value ?? {}) as Record<string, unknown>;
  const { version } = fields;
  if (typeof version === 'number' && version > PLAN_VERSION) {
    throw new UsageError(
      `${path}: was saved by a newer version of profiles (format ${version}; this version reads ${PLAN_VERSION})`,
      { problem: { code: 'plan_newer' } },
    );
  }
  const { planSchema } = await import('./plan-schema.js');
  const result = planSchema.safeParse(value);
  if (!result.success) {
    const [issue] = result.error.issues;
    const where = issue?.path.join('.');
    throw new UsageError(`${path}: is not a plan: ${where ? `${where}: ` : ''}${issue?.message}`, {
      hint: 'a plan is saved by a dry run',
      problem: { code: 'not_a_plan' },
    });
  }
  if (digestOf(fields) !== fields.digest) {
    throw new UsageError(`${path}: was edited after it was saved: its digest does not match`, {
      problem: { code: 'plan_edited' },
    });
  }
  return value as SavedPlan;
}

/** The options to save in a plan: without those that are chosen when it is applied. */
export function optionsToSave(options: ImportOptions): SavedPlan['options'] {
  const { paths, dryRun, resume, failed, rejects, outcomes, checkProperties, plan, waitForLockMs, ...kept } =
    options;
  return JSON.parse(JSON.stringify(kept)) as SavedPlan['options'];
}
