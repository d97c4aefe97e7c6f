/** The result of an import for programs: one JSON document, or a line for each event. */
import type { Facts, Told } from '../facts/index.js';

/** The summary with its next commands. Causes are without their example cells. */
export function documentOf({ summary, next, resume }: Facts): Record<string, unknown> {
  const { resume: _, plan, elapsed_seconds, ...rest } = summary;
  return {
    ...rest,
    causes: rest.causes.map(({ at, example, problem, ...cause }) => cause),
    next: next.map(({ command }) => command),
    resume,
    ...(plan && { plan }),
    elapsed_seconds,
  };
}

/**
 * The line of an event; null for `progress` and `notice`, which are for people. It has `type`, `time` (ISO 8601), and
 * `version: 1`, then the event's own fields. The fields of the summary are at the top level, so paths are the same as in
 * the document of `--json`.
 */
export function eventLine(event: Told, now: number): string | null {
  if (event.type === 'progress' || event.type === 'notice') return null;
  const { type, ...fields } = event.type === 'warning' ? { type: event.type, message: event.message } : event;
  const own = event.type === 'summary' ? documentOf(event.facts) : fields;
  return JSON.stringify({ type, time: new Date(now).toISOString(), version: 1, ...own });
}
