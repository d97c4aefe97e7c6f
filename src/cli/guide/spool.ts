/**
 * Private copies of inputs of `inspect` that are not files, such as stdin and downloads. They are removed at
 * the end.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProfilesError } from '../../engine/errors.js';
import { NUMBERS } from '../../engine/options.js';
import { privateFolder } from '../../engine/private-folder.js';
import { notSpooled } from '../../engine/read/index.js';
import { type AnySource, fetchSource, type Located, type SourceDeps } from '../../engine/run/sources.js';
import type { Context } from '../context.js';

export class Spool {
  #folder: string | undefined;
  #copies = 0;

  constructor(private readonly context: Context) {}

  async fetch(source: AnySource): Promise<Located> {
    const { stateDir, timeoutMs } = await this.context.settings();
    const folder = (): string => {
      this.#folder ??= makeFolder(stateDir, `inspect-${randomUUID()}`, source.path);
      return this.#folder;
    };
    const name = `input-${++this.#copies}`;
    const fetching = fetchSource(source, { folder, name }, sourceDeps(this.context, timeoutMs));
    for (;;) {
      const next = await fetching.next(); // progress is not shown: there is a spinner
      if (next.done) return next.value;
      if (next.value.type === 'warning') this.context.warn(next.value.message);
    }
  }

  async remove(): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }
}

function makeFolder(stateDir: string, name: string, shown: string): string {
  try {
    return privateFolder(stateDir, 'spool', name);
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    throw notSpooled(shown, join(stateDir, 'spool', name), error);
  }
}

export const sourceDeps = (context: Context, timeoutMs: number = NUMBERS.timeoutMs.default): SourceDeps => ({
  ...context,
  random: Math.random,
  download: { timeoutMs, proxy: context.env },
});
