/** Sandboxes in processes of their own: what only another process can show, such as being killed. */
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
  /** SIGKILL: no handler of the process runs. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

let bundle: Promise<string> | undefined;

/** Bundles the sandbox from its sources: a test needs no build, and tests what it stands beside. */
function bundled(): Promise<string> {
  // Below node_modules, so that the bundle finds the SQLite binding there.
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

/** Starts one; resolves when it listens. Only options that JSON can hold. */
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
