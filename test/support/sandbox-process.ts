/** Runs sandboxes in processes of their own, for what cannot be tested in one process, such as kills. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { SandboxOptions } from '../../src/sandbox/index.js';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export interface SandboxProcess {
  url: string;
  lookupUrl: string;
  token: string;
  /** Sends SIGKILL: no handler of the process runs. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

let bundle: Promise<string> | undefined;

/** Bundles the sandbox from its sources, so that a test needs no build and tests the current code. */
function bundled(): Promise<string> {
  // Below node_modules, where the bundle finds the SQLite binding.
  const outfile = at(`../../node_modules/.cache/profiles-test/sandbox-${process.pid}.mjs`);
  bundle ??= build({
    entryPoints: [at('../../src/sandbox/index.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.20',
    external: ['@photostructure/sqlite'],
    logLevel: 'warning',
  }).then(() => pathToFileURL(outfile).href);
  return bundle;
}

/** Starts a sandbox, and resolves when it listens. The options must be JSON. */
export async function startSandboxProcess(options: Omit<SandboxOptions, 'clock'>): Promise<SandboxProcess> {
  const child = spawn(process.execPath, [at('sandbox-child.mjs'), await bundled(), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the sandbox exited with ${code}`))),
  ])) as [string];
  return {
    ...(JSON.parse(line) as { url: string; lookupUrl: string; token: string }),
    kill: () => ended(child, () => child.kill('SIGKILL')),
    stop: () => ended(child, () => child.stdin.end()),
  };
}

async function ended(child: ChildProcess, end: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  end();
  await exit;
}
