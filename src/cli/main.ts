/**
 * From argv to exit code: builds the command tree, runs a command, and is the only place where an error
 * becomes text. `main` takes the real process; `runCommand` takes any world, as tests do.
 *
 * Modules are loaded when they are needed, because each one adds to the start-up time.
 */
import type { Command } from 'commander';
import { Exit, type ExitCode, OutputError } from '../engine/errors.js';
import type { Commands } from './advice/commands.js';
import type { Flags, Tree, Wire } from './commands/command.js';
import { COMMANDS } from './commands/index.js';
import type { Context, GlobalFlags, World } from './context.js';
import { writeOut } from './output/write.js';
import { worldOf } from './world.js';

declare const PROFILES_VERSION: string | undefined;
/** Set by the build from package.json. */
export const VERSION = typeof PROFILES_VERSION === 'string' ? PROFILES_VERSION : '0.0.0-dev';

/** Words that users type to see the version. */
const VERSION_WORDS = new Set(['--version', '-v', '-V', 'version']);
/** The help of the program itself is never wider. */
const HELP_COLUMNS = 80;

/**
 * Runs the command of this process, and returns its exit code. Never calls `process.exit`, because output may
 * be pending.
 */
export async function main(host: NodeJS.Process): Promise<ExitCode> {
  const world = worldOf(host);
  return runCommand(host.argv.slice(2), world);
}

/** Runs one command line in a given world, and prints its error if it fails. */
export async function runCommand(argv: readonly string[], world: World): Promise<ExitCode> {
  const early: GlobalFlags = {
    json: argv.includes('--json'),
    debug: argv.includes('--debug'),
    color: !argv.includes('--no-color'),
  };
  let context: Context | undefined;
  let code: ExitCode = Exit.done;
  const wire: Wire = (of) => {
    return async (...all: unknown[]) => {
      const { createContext } = await import('./create-context.js');
      const command = all.at(-1) as Command;
      const { checkFlags, withSettings } = await import('./options/flags.js');
      const { pathOf } = await import('./options/index.js');
      const path = pathOf(command);
      const flags = withSettings(path, command.optsWithGlobals<Flags>());
      const opened = createContext(world, flags as GlobalFlags, argv);
      context = opened;
      await checkFlags(path, flags, async () => (await opened.settings()).importDefaults);
      const options = of.options ? await of.options(command.args, flags, opened) : command.args;
      const ended = (await of.run!(options, opened, { command, load: loaderFor(command) })) ?? Exit.done;
      const { exit, message } = typeof ended === 'object' ? ended : { exit: ended, message: undefined };
      code = exit;
      if (code === Exit.done || !opened.flags.json) return;
      world.stderr.write((await import('./output/error.js')).endingLine(code, message));
    };
  };
  let failed = false;
  try {
    if (argv.length === 1 && VERSION_WORDS.has(argv[0]!)) await writeOut(world.stdout, `${VERSION}\n`);
    else {
      const program = await commandTree(argv, world, wire);
      await program.parseAsync([...argv], { from: 'user' });
    }
  } catch (error) {
    code = await report(error, world, context?.flags ?? early, context?.commands ?? argv);
    failed = code !== Exit.done;
  }
  try {
    await context?.close();
  } catch (error) {
    // The error that ended the command comes first, and was already reported.
    if (code === Exit.done) {
      code = await report(error, world, context!.flags, context!.commands);
      failed = true;
    }
  }
  const lost = failed ? null : await outputLost(world);
  return lost ? report(lost, world, context?.flags ?? early, context?.commands ?? argv) : code;
}

/** Declares the commands of which a running one knows only the names. */
function loaderFor(running: Command): Tree['load'] {
  return async (command) => {
    const entry = COMMANDS.find(({ name }) => name === command.name());
    const isDeclared = command === running || command === running.parent;
    if (!entry || isDeclared || command.parent?.parent !== null) return;
    const { declare } = await import('./commands/command.js');
    await declare(entry, command, unwired);
  };
}

const unwired: Wire = () => async () => {};

/** The error of output that nobody awaited, such as help and warnings; otherwise null. */
async function outputLost({ stop }: World): Promise<OutputError | null> {
  await new Promise((resolve) => setImmediate(resolve)); // a stream reports failures in a later turn
  return stop.reason instanceof OutputError ? stop.reason : null;
}

const columnsOf = ({ isTTY, columns }: World['stdout']): number => (isTTY && columns) || HELP_COLUMNS;

/**
 * The program with the names and summaries of all commands, but the flags of only the command that argv
 * calls.
 */
export async function commandTree(argv: readonly string[], world: World, wire: Wire): Promise<Command> {
  const [
    { Command },
    { builtIn, declareOptions },
    { addExamples, declare },
    { firstPage },
    { firstSteps, unknownCommand, usageError },
    { typedIn },
  ] = await Promise.all([
    import('commander'),
    import('./options/index.js'),
    import('./commands/command.js'),
    import('./commands/help-page.js'),
    import('./commands/usage.js'),
    import('./advice/typed.js'),
  ]);
  const [version, help] = [builtIn('version'), builtIn('help')];
  const program: Command = new Command('profiles')
    .description(
      'Import company and user profiles in bulk: plan first, resume after a failure, lose nothing.',
    )
    .version(VERSION, version.flags, version.summary)
    .helpOption(help.flags, help.summary)
    .helpCommand(false)
    // Without a command, the program prints first steps or help. Because this is an action, an unknown flag
    // is still an error.
    .action(async () => {
      const steps = argv.length === 0 ? await firstSteps(world) : null;
      if (steps === null) program.outputHelp();
      else await writeOut(world.stdout, steps);
    })
    .configureHelp({ formatHelp: (command, { helpWidth }) => firstPage(command, helpWidth ?? HELP_COLUMNS) });
  declareOptions(program);
  addExamples(program, [
    'profiles import companies.csv --region sandbox',
    'profiles lookups embeds --json --region sandbox',
    'profiles help exit-codes',
  ]);
  const called = typedIn(argv).command;
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.summary).helpGroup(entry.heading);
    if (entry.name === called) await declare(entry, command, wire);
  }
  for (const command of [program, ...descendants(program)]) {
    command
      .exitOverride((error) => {
        throw error.exitCode === 0 ? error : usageError(error, command);
      })
      .configureOutput({
        writeOut: (text) => world.stdout.write(text),
        getOutHelpWidth: () =>
          command === program ? Math.min(columnsOf(world.stdout), HELP_COLUMNS) : columnsOf(world.stdout),
        writeErr: () => {}, // `report` prints usage errors
      });
  }
  const names = COMMANDS.map(({ name }) => name);
  if (called === undefined || names.includes(called) || followsUnknownFlag(argv, called, program))
    return program;
  throw unknownCommand(called, names);
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}

/** In `--regoin eu import`, the flag is the mistake, and not `eu`: commander reports the flag. */
function followsUnknownFlag(argv: readonly string[], word: string, { options }: Command): boolean {
  const before = argv[argv.indexOf(word) - 1];
  return before?.startsWith('-') === true && !options.some((option) => option.long === before);
}

/** Prints an error and returns its exit code. */
async function report(
  error: unknown,
  world: World,
  flags: GlobalFlags,
  from: Commands | readonly string[],
): Promise<ExitCode> {
  const { CommanderError } = await import('commander');
  if (error instanceof CommanderError && error.exitCode === 0) return Exit.done; // --help, --version
  const { errorLines } = await import('./output/error.js');
  const { commandsOf } = await import('./advice/commands.js');
  const commands = 'command' in from ? from : commandsOf({ argv: from, world });
  const { text, exit } = errorLines(error, flags, commands, world.platform);
  await writeOut(world.stderr, text).catch(() => {}); // stderr is gone: there is nowhere to report it
  return exit;
}
