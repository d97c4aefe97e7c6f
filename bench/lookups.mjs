// A lookup list of 10,000 records: as JSON and as a table, beside the bare transfer.
import { rm } from 'node:fs/promises';
import { interleave, run } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { listen, profiles, stateFolder } from './workbench.mjs';

const RECORDS = 10_000;
const LEAST_RUNS = 15;
const TRANSFER = "require('http').get(process.argv[1], (reply) => reply.pipe(process.stdout))";

async function measure({ runs }) {
  const state = await stateFolder();
  const service = await serve();
  const { url } = service;
  /** All records must have come through, whatever the form. */
  const checked = async (sample) => {
    const { stdout, ...rest } = await sample;
    if (!stdout.includes(service.last)) throw new Error('the last record is missing from the output');
    return { ...rest, stdout: '' };
  };
  const lookups = (...flags) => {
    const words = ['lookups', 'embeds', '--lookup-base-url', url, ...flags];
    return () => checked(profiles(words, { state, url, stdout: true }));
  };
  try {
    const samples = await interleave(
      {
        'bare transfer': () => checked(run(process.execPath, ['-e', TRANSFER, url], { stdout: true })),
        'lookups --json': lookups('--json'),
        'table, piped': lookups(),
      },
      Math.max(runs, LEAST_RUNS),
    );
    return `${RECORDS} records.\n\n${comparison(samples, { time: milliseconds })}`;
  } finally {
    await rm(state, { recursive: true });
    service.close();
  }
}

/** The body is made once. */
async function serve() {
  const list = Array.from({ length: RECORDS }, (_, index) => ({
    id: index + 1,
    title: `Welcome banner of the spring campaign ${index + 1}.`,
    type: index % 2 ? 'banner' : 'card',
  }));
  const body = Buffer.from(JSON.stringify(list));
  const service = await listen((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
  return { ...service, last: list.at(-1).title };
}

export const sections = { lookups: { title: 'Lookups', measure } };
