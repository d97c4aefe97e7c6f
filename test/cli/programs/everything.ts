/**
 * Runs the whole table in this process, on the terminal that it has: one start instead of a hundred. Its argument is a
 * list of environments, in each of which all is run once more.
 */
import { INVOCATIONS } from '../invocations.js';
import { makePlace, run } from '../place.js';

const { stdout, stderr } = process;
const place = await makePlace();
for (const env of JSON.parse(process.argv[2]!) as Record<string, string>[]) {
  stdout.write(`\n=== ${JSON.stringify(env)}\n`);
  for (const invocation of INVOCATIONS) {
    stdout.write(`\n$ profiles ${invocation.line}\n`);
    const { code } = await run(place, invocation, { terminal: { streams: { stdout, stderr }, env } });
    stdout.write(`[${code}]\n`);
  }
}
await place.stop();
