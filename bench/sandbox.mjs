// The embedded service under one import of all rows: how fast it takes them, and how soon it starts again.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { milliseconds, seconds, table } from './report.mjs';
import { importTimed, input, PROFILES, startServer, stateFolder } from './workbench.mjs';

const PORTS = ['--port', '0', '--lookup-port', '0', '--eu-port', '0'];

async function measure({ rows, runs }) {
  const file = await input('csv', rows);
  const [imports, restarts] = [[], []];
  const state = await stateFolder();
  try {
    for (let round = 0; round < runs; round++) {
      const data = join(state, `data-${round}`);
      await mkdir(data, { mode: 0o700 });
      const service = await serve(data, state);
      imports.push(await importTimed(file, service.url)());
      await service.stop('SIGINT');
      const again = await serve(data, state);
      restarts.push(again.readyAfter);
      await again.stop('SIGINT');
      console.error(`  ${round + 1}/${runs}: ${Math.round(imports.at(-1).sending)} ms`);
    }
    const line = (what, of) => {
      const taken = imports.map((sample) => sample[of]).sort((a, b) => a - b);
      const rate = Math.round(rows / (taken[taken.length >> 1] / 1000));
      return [what, seconds(taken), rate.toLocaleString('en')];
    };
    return table(
      ['', 'time', 'rows a second'],
      [
        line('import, sending phase', 'sending'),
        line('import, whole process', 'wall'),
        ['start with the data there', milliseconds(restarts), '–'],
      ],
    );
  } finally {
    await rm(state, { recursive: true });
  }
}

async function serve(data, state) {
  const args = ['sandbox', ...PORTS, '--rows-per-second', '999999999', '--data', data, '--state', state];
  const ready = /PROFILES_BASE_URL=["']?(http:\/\/[^\s"']+)/;
  const server = await startServer(PROFILES, args, { ready, cwd: state, env: { XDG_CONFIG_HOME: state } });
  return { ...server, url: ready.exec(server.text())[1] };
}

export const sections = { sandbox: { title: 'Sandbox', measure } };
