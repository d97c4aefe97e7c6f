// Figures as Markdown, and the machine they were taken on.
import { readFileSync, statSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { ratios, spread } from './measure.mjs';

const figure = (values, digits, unit) => {
  const { median, min, max } = spread(values);
  const [m, low, high] = [median, min, max].map((value) => value.toFixed(digits));
  return low === high ? `${m}${unit}` : `${m}${unit} (${low}–${high})`;
};

export const milliseconds = (values) => figure(values, 0, ' ms');
export const seconds = (values) =>
  figure(
    values.map((ms) => ms / 1000),
    2,
    ' s',
  );
export const times = (values) => figure(values, 2, 'x');
export const megabytes = (values) => figure(values, 0, ' MB');

export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}

/** All cases of one interleaved run beside the first one, or beside `base`. */
export function comparison(samples, { base = Object.keys(samples)[0], time = seconds } = {}) {
  const rows = Object.entries(samples).map(([name, taken]) => [
    name,
    time(taken.map(({ wall }) => wall)),
    name === base ? '1.00x' : times(ratios(taken, samples[base])),
    taken[0].cpu === null ? '–' : time(taken.map(({ cpu }) => cpu)),
    taken[0].peak === null ? '–' : megabytes(taken.map(({ peak }) => peak)),
  ]);
  return table(['', 'wall', `of ${base}`, 'CPU', 'peak memory'], rows);
}

/** One line: what the figures were taken on. `folder` is where state is kept. */
export function machine(folder) {
  const model = cpus()[0]?.model ?? 'unknown processor';
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  return `${date} UTC · ${model.trim()}, ${availableParallelism()} cores, ${memory} · ${process.platform} · Node ${process.versions.node} · state on ${filesystem(folder)}`;
}

function filesystem(folder) {
  try {
    const device = statSync(folder).dev;
    const mounts = readFileSync('/proc/self/mounts', 'utf8').trim().split('\n');
    // The last mount wins where one hides another.
    const at = mounts.map((mount) => mount.split(' ')).findLast(([, point]) => deviceOf(point) === device);
    return at ? at[2] : 'an unknown file system';
  } catch {
    return 'an unknown file system';
  }
}

function deviceOf(point) {
  try {
    return statSync(point).dev;
  } catch {
    return null;
  }
}
