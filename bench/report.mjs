// Figures as Markdown, and the machine they were taken on.
import { spawnSync } from 'node:child_process';
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

/** All cases of one interleaved run, each beside the one that `against` names, or the first. */
export function comparison(samples, { against = {}, time = seconds } = {}) {
  const [first] = Object.keys(samples);
  const lines = Object.entries(samples).map(([name, taken]) => {
    const other = against[name] ?? first;
    const values = (of, shown) => (taken[0][of] === null ? '–' : shown(taken.map((sample) => sample[of])));
    const share = (of) =>
      name === other || samples[other][0][of] === null
        ? '–'
        : values(of, () => times(ratios(taken, samples[other], of)));
    const own = [values('wall', time), values('cpu', time), values('peak', megabytes)];
    return [name, ...own, name === other ? '–' : other, share('wall'), share('cpu')];
  });
  return table(['', 'wall', 'CPU', 'peak memory', 'compared with', 'wall to that', 'CPU to that'], lines);
}

/** One line: what the figures were taken on. `folder` is where state is kept. */
export function machine(folder) {
  const model = cpus()[0]?.model ?? 'unknown processor';
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  return `${date} UTC · ${model.trim()}, ${availableParallelism()} cores, ${memory} · ${process.platform} · Node ${process.versions.node} · state on ${filesystem(folder)}`;
}

const filesystem = (folder) =>
  spawnSync('df', ['--output=fstype', folder], { encoding: 'utf8' }).stdout?.trim().split('\n').at(-1) ??
  'an unknown file system';
