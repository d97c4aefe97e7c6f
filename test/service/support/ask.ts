/** Asks each base URL of argv once and prints the answers as JSON. Run as a process of its own: Node reads NODE_EXTRA_CA_CERTS at its start only. */
import { createClient } from '../../../src/service/client.js';

const answers = await Promise.all(
  process.argv.slice(2).map(async (baseUrl) => {
    const client = createClient({
      baseUrl,
      lookupBaseUrl: null,
      token: 'tok_4f9d2c81aa',
      timeoutMs: 10_000,
      clock: { now: () => Date.now(), monotonic: () => performance.now(), sleep: async () => {} },
    });
    const answer = await client.submit('companies', Buffer.from('{"companies":[]}'));
    await client.close();
    return answer;
  }),
);
console.log(JSON.stringify(answers));
