// Measures whole processes from outside, in turns, and sums up what was seen.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const USAGE = fileURLToPath(new URL('usage.cjs', import.meta.url));
const GNU_TIME = '/usr/bin/time';

/**
 * One measured run. `wall` and `cpu` (user and system) are milliseconds, `peak` is the largest resident set in
 * MiB; null where it was not measured.
 * @typedef {{ wall: number, cpu: number | null, peak: number | null, stdout: string, stderr: string }} Sample
 */

/** Node, with an account of CPU and memory at its end. `preload` is a further module to load first. */
export const node = (script, args = [], { preload, ...options } = {}) =>
  run(
    process.execPath,
    [...[USAGE, preload].flatMap((module) => (module ? ['--require', module] : [])), script, ...args],
    { ...options, usage: 'node' },
  );

/** Any command under GNU time where it is installed: CPU of all processes together, peak of the largest one. */
export const command = (name, args, options = {}) =>
  existsSync(GNU_TIME)
    ? run(GNU_TIME, ['-q', '-f', '%U %S %M', '-o', 'USAGE', name, ...args], { ...options, usage: 'time' })
    : run(name, args, options);

/**
 * Runs a command to its end. `stdout: true` keeps what it prints. An exit code that is not in `codes` is an
 * error, so that no figure stands for work that was not done.
 * @returns {Promise<Sample>}
 */
export async function run(name, args, { env = {}, cwd, stdout = false, codes = [0], usage = null } = {}) {
  const folder = usage ? mkdtempSync(join(tmpdir(), 'bench-usage-')) : null;
  const file = folder && join(folder, 'usage');
  const child = spawn(
    name,
    args.map((arg) => (arg === 'USAGE' ? file : arg)),
    {
      cwd,
      env: { ...cleanEnvironment(), ...env, ...(usage === 'node' ? { BENCH_USAGE: file } : {}) },
      stdio: ['ignore', stdout ? 'pipe' : 'ignore', 'pipe'],
    },
  );
  const started = performance.now();
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) {
    child[stream]?.setEncoding('utf8').on('data', (text) => {
      texts[stream] += text;
    });
  }
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      resolve({ code: code ?? signal, wall: performance.now() - started }),
    );
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  try {
    const { code, wall } = await ended;
    await closed;
    if (!codes.includes(code)) {
      throw new Error(
        `${[name, ...args].join(' ')} ended with ${code}\n${texts.stdout}${texts.stderr}`.trim(),
      );
    }
    return { wall, cpu: null, peak: null, ...(usage ? usageIn(file, usage) : {}), ...texts };
  } finally {
    if (folder) rmSync(folder, { recursive: true, force: true });
  }
}

function usageIn(file, kind) {
  const text = readFileSync(file, 'utf8');
  if (kind === 'node') return JSON.parse(text);
  const [user, system, kilobytes] = text.trim().split(' ').map(Number);
  return { cpu: (user + system) * 1000, peak: kilobytes / 1024 };
}

/** Settings of whoever runs the benchmark must not leak into what is measured. */
export function cleanEnvironment() {
  const dropped =
    /^(PROFILES_|NODE_OPTIONS$|NODE_COMPILE_CACHE$|NODE_EXTRA_CA_CERTS$|npm_|(HTTPS?|NO|ALL)_PROXY$|CI$|GITHUB_)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !dropped.test(name)));
}

/**
 * Runs the cases in turns, A B C A B C …, so that a slow minute of the machine falls on all of them. A case
 * prepares what it needs by itself and gives the sample of the process it measured.
 * @param {Record<string, () => Promise<Sample>>} cases
 * @returns {Promise<Record<string, Sample[]>>}
 */
export async function interleave(cases, runs) {
  const samples = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = 0; round < runs; round++) {
    for (const [name, measure] of Object.entries(cases)) {
      const sample = await measure();
      samples[name].push(sample);
      const rest = sample.peak === null ? '' : `, ${Math.round(sample.peak)} MB`;
      console.error(`  ${round + 1}/${runs} ${name}: ${Math.round(sample.wall)} ms${rest}`);
    }
  }
  return samples;
}

/** @param {number[]} values at least one */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** A figure of one case over that of another, round by round. */
export const ratios = (samples, base, of = 'wall') =>
  samples.map((sample, round) => sample[of] / base[round][of]);

/** Bytes of all files below a folder. */
export async function bytesIn(folder) {
  let total = 0;
  for (const name of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, name));
    if (found.isFile()) total += found.size;
  }
  return total;
}
