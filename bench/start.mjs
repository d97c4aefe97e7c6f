// How long a command takes that does nothing but start, and how soon an import sends its first byte.
import { fileURLToPath } from 'node:url';
import { interleave, run } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { input, listen, PROFILES, profiles, stateFolder, withState } from './workbench.mjs';

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
  const service = await listening();
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

/** A service that says when the first bytes of a request arrive. */
async function listening() {
  let arrived = () => {};
  const service = await listen((request, response) => {
    arrived(performance.now());
    request.resume().on('end', () => {
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end('{"job_id":"1","status":"queued"}');
    });
  });
  return { ...service, next: () => new Promise((resolve) => (arrived = resolve)) };
}

export const sections = {
  startup: { title: 'Start-up', measure: startup },
  'first-request': { title: 'First request', measure: firstRequest },
};
