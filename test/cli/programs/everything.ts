/** Runs the whole table in this process, on the terminal that it has: one start instead of a hundred. */
import { INVOCATIONS } from '../invocations.js';
import { makePlace, run } from '../place.js';

const { stdout, stderr, env } = process;
const { TERM, PROFILES_PROGRESS } = env;
const place = await makePlace();
for (const invocation of INVOCATIONS) {
  stdout.write(`\n$ profiles ${invocation.line}\n`);
  const terminal = { streams: { stdout, stderr }, env: { TERM, PROFILES_PROGRESS } };
  const { code } = await run(place, invocation, { terminal });
  stdout.write(`[${code}]\n`);
}
await place.stop();
