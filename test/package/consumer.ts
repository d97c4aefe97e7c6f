/** A program's folder with the package installed as a registry would give it: the packed files and its dependencies. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { scratch } from '../support/cli.js';

export const ROOT = resolve(import.meta.dirname, '../..');

export interface Packed {
  filename: string;
  /** Bytes. */
  size: number;
  unpackedSize: number;
  /** Names of the packages inside. */
  bundled: string[];
  files: { path: string; size: number; mode: number }[];
}

/** Packs what is built already. The packed file lies in the folder. */
export function pack(folder: string): Packed {
  const words = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const options = {
    cwd: ROOT,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    stdio: 'pipe',
  } as const;
  const [packed] = JSON.parse(execFileSync('npm', words, options)) as Packed[];
  return packed!;
}

/** @returns the folder; nothing is in its `node_modules` but the package, what it depends on, and the types of Node */
export function consumer(): string {
  const folder = scratch();
  const { filename } = pack(folder);
  const home = join(folder, 'node_modules/profiles-cli');
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, filename), '--strip-components=1', '-C', home]);
  const { dependencies } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link, 'junction');
  }
  return folder;
}
