// Lookup lists of 10,000 records: as JSON beside the bare transfer, and as a table.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { command, interleave, node, spread } from './measure.mjs';
import { comparison, milliseconds } from './report.mjs';
import { PROFILES, profiles, stateFolder } from './workbench.mjs';

export const title = 'Lookups';

const RECORDS = 10_000;
const LEAST_RUNS = 15;
const TRANSFER = fileURLToPath(new URL('transfer.mjs', import.meta.url));
const PATH = '/api/v1/analytics/exports/lookups/embeds';

export async function measure({ runs }) {
  const state = await stateFolder();
  const large = await serve(RECORDS);
  const small = await serve(1);
  const lookups = (service, flags) => async () =>
    checked(
      await profiles(['lookups', 'embeds', '--lookup-base-url', service.url, ...flags], {
        state,
        url: service.url,
        stdout: true,
      }),
      service,
    );
  const transfer = (service) => async () =>
    checked(await node(TRANSFER, [service.url + PATH], { stdout: true }), service);
  const cases = {
    'bare transfer of 1': transfer(small),
    [`bare transfer of ${RECORDS}`]: transfer(large),
    'lookups --json of 1': lookups(small, ['--json']),
    [`lookups --json of ${RECORDS}`]: lookups(large, ['--json']),
    [`table of ${RECORDS}, piped`]: lookups(large, []),
    ...(existsSync('/usr/bin/script') ? { [`table of ${RECORDS}, terminal`]: terminal(large, state) } : {}),
  };
  try {
    const samples = await interleave(cases, Math.max(runs, LEAST_RUNS));
    const [bareSmall, bare, jsonSmall, json] = Object.values(samples).map(
      (taken) => spread(taken.map(({ wall }) => wall)).median,
    );
    const note = `To the transfer of ${RECORDS} records \`--json\` adds ${(json - bare).toFixed(0)} ms, of which ${(jsonSmall - bareSmall).toFixed(0)} ms are the command's start.`;
    return `${comparison(samples, { base: `bare transfer of ${RECORDS}`, time: milliseconds })}\n\n${note}`;
  } finally {
    await rm(state, { recursive: true });
    large.close();
    small.close();
  }
}

/** All records must have come through, whatever the form. */
function checked(sample, { last }) {
  if (!sample.stdout.includes(last)) throw new Error('the last record is missing from the output');
  return { ...sample, stdout: '' };
}

/** At a pseudo-terminal, which `script` makes. */
const terminal = (service, state) => async () => {
  const line = `'${process.execPath}' '${PROFILES}' lookups embeds --lookup-base-url ${service.url} --base-url ${service.url} --state '${state}'`;
  const env = { PROFILES_TOKEN: 'benchmark-token', XDG_CONFIG_HOME: state, TERM: 'xterm' };
  const sample = await command('script', ['-qec', line, '/dev/null'], { env, stdout: true });
  return checked(sample, service);
};

/** In this process, which has nothing else to do meanwhile; the body is made once. */
async function serve(records) {
  const list = Array.from({ length: records }, (_, index) => ({
    id: index + 1,
    title: `Welcome banner of the spring campaign ${index + 1}.`,
    type: index % 2 ? 'banner' : 'card',
  }));
  const body = Buffer.from(JSON.stringify(list));
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    last: list.at(-1).title,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
