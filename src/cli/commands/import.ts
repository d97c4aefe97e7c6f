/** `profiles import <input...>`: plan, then send (contract §3). What it needs is loaded for an import only, not for help. */
import { spec } from './command.js';

const course = () => import('./import-guided.js');

export const command = spec({
  options: async (...given) => (await course()).options(...given),
  run: async (asked, context) => (await course()).run(asked, context),
});
