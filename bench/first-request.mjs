// From the start of the process to the first byte of its first request, for the README's file and for 1,000 rows.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { interleave, run } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { input, profiles, stateFolder, withState } from './workbench.mjs';

export const title = 'First request';

const LEAST_RUNS = 15;

export async function measure({ runs }) {
  const few = fileURLToPath(new URL('../fixtures/companies.csv', import.meta.url));
  const thousand = await input('csv', 1000);
  const kept = await stateFolder();
  const service = await listen();
  const firstRequest = async (file, state) => {
    const started = performance.now();
    const arrival = service.next();
    const sample = await profiles(['import', file, '--no-wait', '--quiet'], { state, url: service.url });
    return { ...sample, wall: (await arrival) - started };
  };
  const cases = {
    'node -e 0': () => run(process.execPath, ['-e', '0']),
    '12 rows': () => firstRequest(few, kept),
    '1,000 rows': () => firstRequest(thousand, kept),
    '1,000 rows, new state folder': () => withState((state) => firstRequest(thousand, state)),
  };
  try {
    await interleave(cases, 1);
    const samples = await interleave(cases, Math.max(runs, LEAST_RUNS));
    const note =
      '12 rows are fixtures/companies.csv. CPU and memory are those of the whole run. A new state folder includes making the database, with its full synchronous commits.';
    return `${comparison(samples, { time: milliseconds })}\n\n${note}`;
  } finally {
    service.close();
  }
}

/** In this process, which has nothing else to do meanwhile. */
async function listen() {
  let arrived = () => {};
  const server = createServer((request, response) => {
    arrived(performance.now());
    request.resume().on('end', () => {
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end('{"job_id":"1","status":"queued"}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    next: () =>
      new Promise((resolve) => {
        arrived = resolve;
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
