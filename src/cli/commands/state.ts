/**
 * `profiles state`: shows, checks, backs up, moves, and unlocks the state. Each subcommand is implemented in
 * `state/`.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../engine/errors.js';
import { given, STATE_MIGRATE, STATE_UNLOCK } from '../options/index.js';
import { examples, type Flags, requireSubcommand, type Wire } from './command.js';
import { backup } from './state/backup.js';
import { check } from './state/check.js';
import { info } from './state/info.js';
import { migrate } from './state/migrate.js';
import { unlock } from './state/unlock.js';

export function define(command: Command, wire: Wire): void {
  examples(requireSubcommand(command, wire), [
    'profiles state info',
    'profiles state check',
    'profiles state backup state-backup.db',
    'profiles state migrate --to postgres://ci@db.internal/profiles',
  ]);

  examples(
    command
      .command('info')
      .description('show where the state is, its contents and age, and which processes hold locks'),
    ['profiles state info', 'profiles state info --json'],
  ).action(
    wire(
      () => ({}),
      (_, context) => info(context),
    ),
  );

  examples(command.command('check').description('check the database for damage and inconsistent records'), [
    'profiles state check',
    'profiles state check --json',
  ]).action(
    wire(
      () => ({}),
      (_, context) => check(context),
    ),
  );

  examples(
    command
      .command('backup')
      .description('back up the database, even while imports run')
      .argument('<file>', 'new file to write; to restore it, copy it into an empty directory as state.db'),
    ['profiles state backup state-backup.db', 'profiles state backup state-backup.db --json'],
  ).action(wire(([file], _, context) => resolve(context.cwd, file!), backup));

  examples(
    command
      .command('migrate')
      .description('move the state to another place; imports with this one are refused from then on'),
    [
      "profiles state migrate --to 'postgres://ci@db.internal/profiles?schema=p'",
      'profiles state migrate --to sqlite:new-state --json',
    ],
  ).action(wire((_, flags) => targetOf(flags), migrate));

  examples(command.command('unlock').description('release locks of a database whose owners are gone'), [
    'profiles state unlock',
    'profiles state unlock --force',
  ]).action(
    wire((_, flags) => {
      const { force = false } = given(STATE_UNLOCK, flags);
      return { force };
    }, unlock),
  );
}

/** @throws UsageError */
function targetOf(flags: Flags): string {
  const { to } = given(STATE_MIGRATE, flags);
  if (to !== undefined) return to;
  throw new UsageError('--to is missing: it says where to copy the state', {
    hint: 'add --to postgres://user@host/database?schema=profiles, or --to sqlite:<directory>',
  });
}
