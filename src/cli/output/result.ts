/** The result of an import on stdout, for programs. */
import type { ImportEvent } from '../../engine/model.js';
import type { Reporter } from './reporter-types.js';
import type { TextStream } from './terminal.js';
import { writeJson } from './write.js';

/** `--json`: the summary as one document, indented by two spaces whether or not anyone looks: it is short, and logs are read. */
export function documentResult(stdout: TextStream): Reporter {
  return {
    report: (event) =>
      event.type === 'summary' ? writeJson(stdout, JSON.stringify(event.summary, null, 2)) : undefined,
    close: async () => {},
  };
}

/**
 * `--ndjson`: each event but `progress` and `notice` as a line. Every line has `type`, `time` (ISO 8601) and `version: 1`; then come
 * the event's own fields. The summary's fields stand beside them, so a reader takes the same paths as in
 * the document of `--json`.
 */
export function eventResult(stdout: TextStream, clock: { now(): number }): Reporter {
  return {
    report: (event) =>
      event.type === 'progress' || event.type === 'notice'
        ? undefined
        : writeJson(stdout, JSON.stringify(eventLine(event, clock.now()))),
    close: async () => {},
  };
}

function eventLine(event: ImportEvent, now: number): Record<string, unknown> {
  const { type, ...fields } = event;
  const own = event.type === 'summary' ? event.summary : fields;
  return { type, time: new Date(now).toISOString(), version: 1, ...own };
}
