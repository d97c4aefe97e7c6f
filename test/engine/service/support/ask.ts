/** Asks each base URL once and prints the answers, and what still keeps the process from ending, as JSON; see `ask-process.ts`. */
import { createClient } from '../../../../src/engine/service/client.js';
import { BODY, TOKEN } from './wire.js';

const [timeoutMs, ...urls] = process.argv.slice(2);
const answers = await Promise.all(
  urls.map(async (baseUrl) => {
    const client = createClient({
      baseUrl,
      lookupBaseUrl: null,
      token: TOKEN,
      timeoutMs: Number(timeoutMs),
      clock: { now: () => Date.now(), monotonic: () => performance.now(), sleep: async () => {} },
    });
    const answer = await client.submit('companies', BODY);
    await client.close();
    return answer;
  }),
);
// What has been closed takes some turns of the event loop to go.
for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
// All but stdin and its like.
const open = process.getActiveResourcesInfo().filter((kind) => kind !== 'PipeWrap');
console.log(JSON.stringify({ answers, open }));
