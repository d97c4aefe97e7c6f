/** What takes part in reporting an import. */
import type { ImportEvent } from '../../engine/model.js';
import type { Env, OutputFlags, TextStream } from './terminal.js';

export interface Reporter {
  /** Takes the events in their order. Await it where events are many: it resolves when stdout has taken them. */
  report(event: ImportEvent): void | Promise<void>;
  /** Ends the display, with the cursor shown, also after a failure; resolves when all is written. May be called again. */
  close(): Promise<void>;
}

export interface ReporterOptions {
  mode: 'text' | 'json' | 'ndjson';
  stdout: TextStream;
  stderr: TextStream;
  env: Env;
  /** What paths in the events are relative to. */
  cwd: string;
  flags: OutputFlags;
  clock: { now(): number; monotonic(): number };
}
