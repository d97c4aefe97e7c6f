// Measures whole processes from outside, in turns, and sums up what was seen.
import { spawn } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * One measured run. `wall` and `cpu` (user and system, all threads and children) are milliseconds, `started` since 1970, `peak` is the largest
 * resident set in MiB, of the largest process; null where nothing was measured.
 * @typedef {{ started: number, wall: number, cpu: number | null, peak: number | null, stdout: string }} Sample
 */

/** Node, with `preload` as a module to load first. */
export const node = (script, args = [], { preload, ...options } = {}) =>
  run(process.execPath, [...(preload ? ['--require', preload] : []), script, ...args], options);

/** Runs a command, and adds what it took to stderr: Node itself is not told the usage of its children. */
const USAGE = `import json, os, sys, time
started = time.time()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
wall = time.time() - started
sample = {'started': started * 1e3, 'wall': wall * 1e3, 'cpu': (used.ru_utime + used.ru_stime) * 1e3, 'peak': used.ru_maxrss / 1024}
sys.stderr.write('\\n' + json.dumps(sample))
sys.exit(min(abs(os.waitstatus_to_exitcode(status)), 255))`;

/**
 * Runs a command to its end. `stdout: true` keeps what it prints. Another exit code than 0 is an error, so that no figure
 * stands for work that was not done.
 * @returns {Promise<Sample>}
 */
export async function run(name, args, { env = {}, cwd, stdout = false } = {}) {
  const child = spawn('python3', ['-c', USAGE, name, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', stdout ? 'pipe' : 'ignore', 'pipe'],
  });
  const [, printed, errors] = child.stdio.map((stream) => {
    const texts = [];
    stream?.setEncoding('utf8').on('data', (text) => texts.push(text));
    return texts;
  });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0)
    throw new Error([[name, ...args].join(' '), `ended with ${code}`, ...printed, ...errors].join('\n'));
  return { ...JSON.parse(errors.join('').split('\n').at(-1)), stdout: printed.join('') };
}

/** Settings of whoever runs the benchmark must not leak into what is measured. */
function cleanEnvironment() {
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
      console.error(`  ${round + 1}/${runs} ${name}: ${Math.round(sample.wall)} ms`);
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
