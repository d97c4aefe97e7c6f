// Runs all tests on several versions of Node: node scripts/nodes.mjs [version…]
import { chosenNodes, nodeOf, show } from './node-versions.mjs';

// Builds first, as `npm test` does: a build during the tests would remove files that running commands use.
if ((await show('node', ['build.mjs'])) !== 0) process.exit(1);
const results = [];
for (const wanted of chosenNodes()) {
  const { version, env } = await nodeOf(wanted);
  const started = performance.now();
  const code = await show('node', ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit'], { env });
  const seconds = Math.round((performance.now() - started) / 1000);
  results.push({ node: version, tests: code === 0 ? 'pass' : 'FAIL', seconds });
}
console.table(results);
if (results.some(({ tests }) => tests !== 'pass')) process.exitCode = 1;
