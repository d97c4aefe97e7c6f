/** Asks each base URL once and prints the answers as JSON; see `ask-process.ts`. */
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
console.log(JSON.stringify(answers));
