/** The client in a process of its own: for what Node reads at its start, and for how a process ends. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import type { Answer } from '../../../../src/engine/service/client.js';

export interface Asking {
  /** Deadline of each request. */
  timeoutMs?: number;
  env?: Record<string, string>;
}

/** One submission to each base URL. Resolves when the process has ended by itself, with what was `open` right before: timers, sockets. */
export async function askInProcess(
  urls: string[],
  { timeoutMs = 10_000, env = {} }: Asking = {},
): Promise<{ answers: Answer[]; open: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'profiles-ask-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const outfile = join(folder, 'ask.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('ask.ts', import.meta.url))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  const { stdout } = await promisify(execFile)(process.execPath, [outfile, String(timeoutMs), ...urls], {
    env: { ...process.env, ...env },
  });
  return JSON.parse(stdout);
}
