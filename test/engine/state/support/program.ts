// One process of a test. `open <folder>`: opens the state and prints its secret. `lock <folder>`: takes the
// lock on imports of companies and prints `taken` or `refused`. Both stay until their input ends.
import { openState } from '../../../../src/engine/state/state.js';

const [, , what, folder] = process.argv;
const state = await openState(folder!, Date.now);
if (what === 'open') console.log(state.secret.toString('hex'));
if (what === 'lock') {
  const scope = { account: 'production', region: 'eu', base_url: 'https://api.test' };
  console.log((await state.locks.take(scope, 'companies')) ? 'taken' : 'refused');
}
for await (const _ of process.stdin);
await state.close();
