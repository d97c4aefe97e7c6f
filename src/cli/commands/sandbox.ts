/** `profiles sandbox`: the embedded service as a server of its own, what it holds, and erasing that (contract §8). */
import type { Command } from 'commander';
import { FAULT_HELP } from '../../sandbox/fault-spec.js';
import { examples, type Wire } from './command.js';
import { dataFolder } from './sandbox/data-folder.js';
import { reset } from './sandbox/reset.js';
import { serve, serveOptions } from './sandbox/serve.js';
import { show, showOptions } from './sandbox/show.js';

export function define(command: Command, wire: Wire): void {
  const repeat = (value: string, before: string[] = []): string[] => [...before, value];
  command
    .allowExcessArguments() // a mistyped subcommand is told apart by its action
    .option('--data <folder>', 'where it keeps its data (default: the state directory)')
    .option('--memory', 'keep nothing on disk')
    .option('--port <n>', 'of the default region; 0 picks a free one (default: 4100)')
    .option('--lookup-port <n>', 'of the lookups (default: 4101)')
    .option('--eu-port <n>', 'of the EU region (default: 4102)')
    .option('--page-port <n>', 'of the page; 0 picks a free one (default: 4103)')
    .option('--no-page', 'leave the page out')
    .option('--control-port <n>', 'serve a control route here (default: none)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--expect-token <token>', 'accept this API key only (default: any)')
    .option('--latency <duration>', 'wait before each answer')
    .option('--rows-per-second <n>', 'speed of jobs (default: 2000)')
    .option('--one-job-at-a-time', 'refuse a second job with 409')
    .option('--max-items <n>', 'refuse larger requests with 413')
    .option('--max-bytes <n>', 'refuse larger bodies with 413')
    .option('--rate-limit <n>', 'requests a second, beyond them 429')
    .option('--fail-jobs <rate>', 'share of jobs that fail, such as 0.1 or 10%')
    .option('--fault <spec>', 'such as 503:first=3 or reset-after:p=0.1 (repeatable)', repeat)
    .option('--seed <n>', 'decides about chance (default: 1)')
    .option('--lookups <file>', 'JSON file with lookup lists of your own');
  examples(command, [
    'profiles sandbox --port 0 --lookup-port 0 --eu-port 0',
    'profiles sandbox --port 0 --lookup-port 0 --eu-port 0 --memory --fault 503:first=3,retry-after=2 --fault reset-after:p=0.1',
  ]);
  command.addHelpText('after', `\n${FAULT_HELP}`);
  command.action(wire(serveOptions, serve));

  const shown = command
    .command('show')
    .description('print what it holds of one company or user')
    .argument('<kind>', 'company or user')
    .argument('<id>', 'its identifier');
  examples(shown, ['profiles sandbox show company acme-001', 'profiles sandbox show user u-1001 --json']);
  shown.action(wire(showOptions, show));

  const erased = command.command('reset').description('erase all profiles and jobs that it holds');
  examples(erased, ['profiles sandbox reset', 'profiles sandbox reset --json']);
  erased.action(wire((_, flags, context) => dataFolder(flags, context), reset));
}
