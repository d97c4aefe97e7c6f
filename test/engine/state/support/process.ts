/** The state in processes of their own: for what two of them may do to each other, and for what one leaves behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export interface Bundle {
  /** Starts `program.ts`; killed by `remove`, if it has not ended by then. */
  start(...args: string[]): Child;
  remove(): void;
}

/** A process that says something on each line, and ends when its input does. */
export interface Child {
  /** The next line it prints. Rejects when it ends before. */
  says(): Promise<string>;
  /** Resolves when it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Lets it end by itself. @returns its exit code */
  end(): Promise<number | null>;
}

export async function bundle(): Promise<Bundle> {
  const folder = mkdtempSync(join(tmpdir(), 'profiles-child-'));
  const outfile = join(folder, 'program.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('program.ts', import.meta.url))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    plugins: [
      {
        // The binding finds its library beside its own files, and the bundle does not lie beside node_modules.
        name: 'keep the SQLite binding where it is',
        setup({ onResolve }) {
          const path = import.meta.resolve('@photostructure/sqlite');
          onResolve({ filter: /^@photostructure\/sqlite$/ }, () => ({ path, external: true }));
        },
      },
    ],
  });
  const running = new Set<ChildProcess>();
  return {
    start: (...args) => {
      const child = spawn(process.execPath, [outfile, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
      running.add(child);
      child.on('exit', () => running.delete(child));
      return childOf(child);
    },
    remove: () => {
      for (const child of running) child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}

function childOf(child: ChildProcess): Child {
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const gone = new Promise<number | null>((resolve) => child.on('exit', resolve));
  return {
    says: async () => {
      const line = await lines.next();
      if (line.done) throw new Error('the process ended without a word');
      return line.value;
    },
    kill: async (signal) => {
      child.kill(signal);
      await gone;
    },
    end: () => {
      child.stdin!.end();
      return gone;
    },
  };
}
