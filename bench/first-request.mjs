// From the start of the process to the first byte of its first request, for a file of 1,000 rows.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { interleave, run } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { input, profiles, stateFolder, withState } from './workbench.mjs';

export const title = 'First request';

const LEAST_RUNS = 15;

export async function measure({ runs }) {
  const file = await input('csv', 1000);
  const kept = await stateFolder();
  const service = await listen();
  const firstRequest = async (state) => {
    const started = performance.now();
    const arrival = service.next();
    const sample = await profiles(['import', file, '--no-wait', '--quiet'], { state, url: service.url });
    return { ...sample, wall: (await arrival) - started };
  };
  const cases = {
    'node -e 0': () => run(process.execPath, ['-e', '0']),
    'new state folder': () => withState(firstRequest),
    'state folder in use': () => firstRequest(kept),
  };
  try {
    await interleave(cases, 1);
    const samples = await interleave(cases, Math.max(runs, LEAST_RUNS));
    const note =
      'CPU and memory are those of the whole run. A new state folder includes making the database, with its full synchronous commits.';
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
