/** Flags of `profiles import`. Defaults come from the config file's `import.*`. */
import type { Command } from 'commander';

/** Flags that say how requests are sent and followed. */
export function sendingFlags(command: Command): Command {
  command
    .optionsGroup('Sending:')
    .option('--dry-run', 'plan only: print it, send nothing')
    .option('--check-properties', "compare users' keys with the service's user properties")
    .option('--changed-only', 'skip rows that the service has completed already as they are')
    .option('--refresh-after <duration>', 'with --changed-only: send what was completed longer ago again')
    .option('--full', 'forget what was sent, and send everything')
    .option('--resume', 'continue the unfinished import of the same content, if there is one')
    .option('--chunk-size <items>', 'items of a request (default 5000)')
    .option('--chunk-bytes <bytes>', 'bytes of a request (default 4MiB)')
    .option('--concurrency <n>', 'unfinished jobs at a time (default 1)')
    .optionsGroup('Waiting:')
    .option('--no-wait', 'return once everything is accepted')
    .option('--wait-timeout <duration>', 'stop waiting after this; the jobs go on')
    .option('--interval <duration>', 'fixed time between two polls of a job')
    .optionsGroup('When something is wrong:')
    .option('--retries <n>', 'further attempts of a request (default 5)')
    .option('--retry-delay <duration>', 'first backoff (default 1s)')
    .option('--max-retry-after <duration>', 'longest Retry-After that is waited for (default 5m)')
    .option('--busy-timeout <duration>', 'how long a busy service (409) is waited for (default 30m)')
    .option('--skip-invalid', 'send the valid rows, although others are rejected')
    .option('--max-invalid <n|n%>', 'the same up to a bound')
    .option('--continue-on-error', 'go on after a request that the service refused')
    .option('--rejects <path>', 'where rejected rows are written')
    .optionsGroup('Result:')
    .option('--ndjson', 'print events as they happen, one JSON line each');
  // What the config file switches on, a flag switches off.
  for (const flag of ['skip-invalid', 'continue-on-error', 'changed-only', 'check-properties']) {
    command.addOption(command.createOption(`--no-${flag}`).hideHelp());
  }
  return command;
}
