/** The limits in the form that the control API and the page use. */
import * as z from 'zod';
import { FAIL_ROWS_WITH, type Limits } from './limits.js';

export const settingsSchema = z
  .strictObject({
    latency_ms: z.number().min(0).max(86_400_000),
    rows_per_second: z.number().positive(),
    one_job_at_a_time: z.boolean(),
    max_items: z.int().positive().nullable(),
    max_bytes: z.int().positive(),
    rate_limit: z.number().positive().nullable(),
    fail_jobs: z.number().min(0).max(1),
    fail_rows: z.array(z.string().regex(/^[^=]+=/, 'must be key=value')),
    fail_rows_with: z.enum(FAIL_ROWS_WITH),
  })
  .partial();

export type Settings = Required<z.infer<typeof settingsSchema>>;

/** The same names in the form of the API: `max_items` for `maxItems`. */
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string): string => name.replace(/_[a-z]/g, (pair) => pair.charAt(1).toUpperCase());

export function settingsOf({ failRows, ...limits }: Readonly<Limits>): Settings {
  const renamed = Object.entries(limits).map(([name, value]) => [snake(name), value]);
  return { ...Object.fromEntries(renamed), fail_rows: failRows.map((rule) => rule.join('=')) } as Settings;
}

export function limitsOf({ fail_rows, ...settings }: z.infer<typeof settingsSchema>): Partial<Limits> {
  const limits: Partial<Limits> = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [camel(name), value]),
  );
  const failRows = fail_rows?.map((rule) => {
    const at = rule.indexOf('=');
    return [rule.slice(0, at), rule.slice(at + 1)] as const;
  });
  return failRows === undefined ? limits : { ...limits, failRows };
}
