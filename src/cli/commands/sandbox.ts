/** `profiles sandbox`: serves the embedded service, shows its data, or erases it (contract §8). */
import type { Command } from 'commander';
import { UsageError } from '../../engine/errors.js';
import { examples, type Wire } from './command.js';
import { dataFolder } from './sandbox/data-folder.js';
import { list, listOptions } from './sandbox/list.js';
import { reset } from './sandbox/reset.js';
import { serve, serveOptions } from './sandbox/serve.js';
import { show, showOptions } from './sandbox/show.js';

export function define(command: Command, wire: Wire): void {
  command.allowExcessArguments(); // the action reports a mistyped subcommand
  examples(command, [
    'profiles sandbox --port 0 --lookup-port 0 --eu-port 0',
    'profiles sandbox --port 0 --lookup-port 0 --eu-port 0 --fault 503:first=3',
  ]);
  command.action(wire(serveOptions, serve));

  const listed = command
    .command('list')
    .description('list companies or users')
    .argument('<kind>', 'companies or users');
  examples(listed, [
    'profiles sandbox list companies --search berlin --sort -updated --limit 20',
    'profiles sandbox list users --region eu --csv',
  ]);
  listed.action(wire(listOptions, list));

  const shown = command
    .command('show')
    .description('show one company or user')
    .argument('<kind>', 'company or user')
    .argument('<id>', 'its identifier');
  examples(shown, ['profiles sandbox show company acme-001', 'profiles sandbox show user u-1001 --json']);
  shown.action(wire(showOptions, show));

  const erased = command.command('reset').description('erase all profiles and jobs');
  examples(erased, ['profiles sandbox reset', 'profiles sandbox reset --json']);
  erased.action(wire((_, flags, context) => dataFolder(flags, context), reset));

  for (const child of command.commands) child.hook('preAction', () => refuseOptionsOfServer(child));
}

/**
 * Commander accepts the options of the server for its subcommands, too: `sandbox reset --memory` would erase what is
 * on disk.
 */
function refuseOptionsOfServer(command: Command): void {
  const server = command.parent!;
  const own = new Set(command.options.map(({ long }) => long));
  const given = server.options.find(
    (option) => !own.has(option.long) && server.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (!given) return;
  throw new UsageError(`${given.long} is for the server: sandbox ${command.name()} does not take it`, {
    hint: `see profiles sandbox ${command.name()} --help`,
  });
}
