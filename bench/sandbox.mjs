// The embedded service under one import of all rows: how fast it takes them, starts again and answers.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { interleave, run } from './measure.mjs';
import { comparison, milliseconds, seconds, table } from './report.mjs';
import { importTimed, input, PROFILES, startServer, stateFolder } from './workbench.mjs';

export const title = 'Sandbox';

const PORTS = ['--port', '0', '--lookup-port', '0', '--eu-port', '0'];

export async function measure({ rows, runs }) {
  const file = await input('csv', rows);
  const imports = [];
  const restarts = [];
  const state = await stateFolder();
  try {
    for (let round = 0; round < runs; round++) {
      const data = join(state, `data-${round}`);
      await mkdir(data);
      const service = await serve(data, state);
      imports.push(await importTimed(file, service.url)());
      await service.stop('SIGINT');
      const again = await serve(data, state);
      restarts.push(again.readyAfter);
      await again.stop('SIGINT');
      console.error(
        `  ${round + 1}/${runs}: ${Math.round(imports.at(-1).sending)} ms, again after ${Math.round(restarts.at(-1))} ms`,
      );
    }
    const shown = await interleave(
      {
        'node -e 0': () => run(process.execPath, ['-e', '0']),
        'sandbox show': () => show(join(state, 'data-0'), state, rows),
      },
      Math.max(runs, 15),
    );
    const rate = (times) => times.map((ms) => rows / (ms / 1000));
    const lines = [
      [
        'import, sending phase',
        seconds(imports.map(({ sending }) => sending)),
        thousands(rate(imports.map(({ sending }) => sending))),
      ],
      [
        'import, whole process',
        seconds(imports.map(({ wall }) => wall)),
        thousands(rate(imports.map(({ wall }) => wall))),
      ],
      ['start with the data there', milliseconds(restarts), '–'],
    ];
    return `${table(['', 'time', 'rows a second'], lines)}\n\n${comparison(shown, { time: milliseconds })}`;
  } finally {
    await rm(state, { recursive: true });
  }
}

const thousands = (rates) => {
  const sorted = [...rates].sort((a, b) => a - b);
  return `${Math.round(sorted[sorted.length >> 1]).toLocaleString('en')} (from ${Math.round(sorted[0]).toLocaleString('en')})`;
};

async function serve(data, state) {
  const args = ['sandbox', ...PORTS, '--rows-per-second', '999999999', '--data', data, '--state', state];
  const ready = /PROFILES_BASE_URL=["']?(http:\/\/[^\s"']+)/;
  const server = await startServer(PROFILES, args, { ready, cwd: state, env: { XDG_CONFIG_HOME: state } });
  return { ...server, url: ready.exec(server.text())[1] };
}

async function show(data, state, rows) {
  const id = `c-${String(rows >> 1).padStart(8, '0')}`;
  const sample = await run(
    process.execPath,
    [PROFILES, 'sandbox', 'show', 'company', id, '--data', data, '--state', state],
    { cwd: state, env: { XDG_CONFIG_HOME: state }, stdout: true },
  );
  if (!sample.stdout.includes(id)) throw new Error(`sandbox show does not show ${id}`);
  return { ...sample, stdout: '' };
}
