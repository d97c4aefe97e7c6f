// How long a command takes that does nothing but start, and how soon an import sends its first byte.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { interleave, run } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { input, PROFILES, profiles, stateFolder, withState } from './workbench.mjs';

/** Short runs vary most, so there are many. */
const LEAST_RUNS = 15;
const node = (...args) => run(process.execPath, args);

/** The first round fills the cache of files. */
async function compared(cases, runs) {
  const all = { 'node -e 0': () => node('-e', '0'), ...cases };
  await interleave(all, 1);
  return comparison(await interleave(all, Math.max(runs, LEAST_RUNS)), { time: milliseconds });
}

const COMMANDS = [['--version'], ['--help'], ['lookups', '--help']];

const startup = ({ runs }) =>
  compared(
    Object.fromEntries(
      COMMANDS.map((words) => [`profiles ${words.join(' ')}`, () => node(PROFILES, ...words)]),
    ),
    runs,
  );

/** For the README's file and for 1,000 rows. */
async function firstRequest({ runs }) {
  const few = fileURLToPath(new URL('../fixtures/companies.csv', import.meta.url));
  const thousand = await input('csv', 1000);
  const kept = await stateFolder();
  const service = await listen();
  const sent = async (file, state) => {
    const started = performance.now();
    const arrival = service.next();
    const sample = await profiles(['import', file, '--no-wait', '--quiet'], { state, url: service.url });
    return { ...sample, wall: (await arrival) - started };
  };
  try {
    const table = await compared(
      {
        '12 rows': () => sent(few, kept),
        '1,000 rows': () => sent(thousand, kept),
        '1,000 rows, new state folder': () => withState((state) => sent(thousand, state)),
      },
      runs,
    );
    return `${table}\n\n12 rows are fixtures/companies.csv. CPU and memory are those of the whole run. A new state folder includes making the database, with its full synchronous commits.`;
  } finally {
    service.close();
  }
}

/** In this process, which has nothing else to do in the meantime. */
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
    next: () => new Promise((resolve) => (arrived = resolve)),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export const sections = {
  startup: { title: 'Start-up', measure: startup },
  'first-request': { title: 'First request', measure: firstRequest },
};
