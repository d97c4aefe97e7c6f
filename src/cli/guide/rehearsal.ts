/** What a plan without a lock found, and how it is shown before anything is sent. */
import type { Plan, Summary } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';
import type { SavedPlan } from '../../engine/plan/saved-plan.js';
import { causeText } from '../facts/index.js';
import { planLine } from '../facts/rows.js';

export interface Rehearsal {
  /** What will be sent. */
  saved: SavedPlan;
  plan: Plan;
  summary: Summary;
}

/** The first item of each input as it will be sent, what else was found, and what is to be sent in all. */
export function planLines({ plan, saved, summary }: Rehearsal): string[] {
  const items = plan.files.flatMap(({ path, sample }) =>
    sample === null ? [] : [`First item of ${path}:`, ...JSON.stringify(sample, null, 2).split('\n')],
  );
  const warnings = summary.warnings.map((warning) => `warning: ${warning}`);
  return [...items, ...warnings, planLine({ ...saved.totals, stopped_by: null })];
}

const MOST_CAUSES = 8;

/** The invalid rows by cause. */
export function invalidLines({ summary, plan }: Rehearsal): string[] {
  const { causes } = summary;
  const shown = causes.slice(0, MOST_CAUSES).map((cause) => {
    return `${plan.files.length > 1 ? `${cause.file}: ` : ''}${causeText(cause)}`;
  });
  const more = causes.length - shown.length;
  return more > 0 ? [...shown, `and ${count(more, 'more cause')}`] : shown;
}
