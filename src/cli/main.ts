/**
 * From argv to exit code: builds the command tree, runs a command, and is the only place where an error
 * becomes text. `main` takes the real process; `runCommand` takes any world, as tests do.
 *
 * Modules are loaded when they are needed, because each one adds to the start-up time.
 */
import type { Command, CommanderError } from 'commander';
import { Exit, type ExitCode, OutputError } from '../engine/errors.js';
import type { Flags, Instead, Spec, Tree, Wire } from './commands/command.js';
import TEXTS from './commands/commands.json' with { type: 'json' };
import type { Context, GlobalFlags, World } from './context.js';
import { writeOut } from './output/terminal.js';
import { worldOf } from './world.js';

declare const PROFILES_VERSION: string | undefined;
/** Set by the build from package.json. */
export const VERSION = typeof PROFILES_VERSION === 'string' ? PROFILES_VERSION : '0.0.0-dev';

/** What loads each command, in the order of help. */
const LOAD: Readonly<Record<string, () => Promise<{ command: Spec }>>> = {
  // What it needs is loaded for an import only, not for help.
  import: async () => ({
    command: { run: async (line, context) => (await import('./commands/import.js')).run(line, context) },
  }),
  inspect: () => import('./commands/inspect.js'),
  sandbox: () => import('./commands/sandbox.js'),
  doctor: () => import('./commands/doctor.js'),
  resume: async () => ({ command: (await import('./commands/resume.js')).resume }),
  apply: async () => ({ command: (await import('./commands/resume.js')).apply }),
  runs: () => import('./commands/runs.js'),
  history: () => import('./commands/history.js'),
  job: async () => ({ command: (await import('./commands/jobs.js')).job }),
  jobs: () => import('./commands/jobs.js'),
  lookups: () => import('./commands/lookups.js'),
  identify: () => import('./commands/identify.js'),
  config: () => import('./commands/config.js'),
  state: () => import('./commands/state.js'),
  completion: () => import('./commands/completion.js'),
  help: () => import('./commands/help.js'),
};

/** All commands. `heading`: where help lists it. */
export const COMMANDS = Object.entries(LOAD).map(([name, load]) => ({
  name,
  load,
  ...TEXTS[name as 'import'],
}));

/** Words that users type to see the version. */
const VERSION_WORDS = new Set(['--version', '-v', '-V', 'version']);
/** The width of help where no terminal has one. */
const HELP_COLUMNS = 80;

/**
 * Runs the command of this process, and returns its exit code. Never calls `process.exit`, because output may
 * be pending.
 */
export const main = (host: NodeJS.Process): Promise<ExitCode> =>
  runCommand(host.argv.slice(2), worldOf(host));

/** The command that commander was parsing when it found an error. */
const parsing = new WeakMap<CommanderError, Command>();

/** Runs one command line in a given world, and prints its error if it fails. */
export async function runCommand(argv: readonly string[], world: World): Promise<ExitCode> {
  let context: Context | undefined;
  let code: ExitCode = Exit.done;
  let instead: Instead | undefined;
  const wire: Wire = (of) => {
    return async (...all: unknown[]) => {
      const { createContext } = await import('./context.js');
      const { checkFlags, pathOf, withSettings } = await import('./options/index.js');
      const command = all.at(-1) as Command;
      const path = pathOf(command);
      const flags = withSettings(path, command.optsWithGlobals<Flags>());
      const opened = createContext(world, flags as GlobalFlags, argv);
      context = opened;
      await checkFlags(path, flags, async () => (await opened.settings()).importDefaults);
      const line = { words: command.args, flags };
      const ended = (await of.run!(line, opened, { command, load: loaderFor(command) })) ?? Exit.done;
      if (typeof ended === 'object' && 'argv' in ended) {
        instead = ended;
        return;
      }
      const { exit, message } = typeof ended === 'object' ? ended : { exit: ended, message: undefined };
      code = exit;
      if (code === Exit.done || !opened.flags.json) return;
      world.stderr.write((await import('./output/summary.js')).endingLine(code, message));
    };
  };
  let failed = false;
  /** Prints an error; its exit code is that of the command. */
  const report = async (thrown: unknown): Promise<void> => {
    const { CommanderError } = await import('commander');
    let error = thrown;
    if (thrown instanceof CommanderError) {
      if (thrown.exitCode === 0) return; // --help, --version
      error = (await import('./commands/help-page.js')).usageError(thrown, parsing.get(thrown)!);
    }
    const { errorLines } = await import('./output/summary.js');
    const { Commands } = await import('./advice/commands.js');
    const early = { json: argv.includes('--json'), debug: argv.includes('--debug') };
    const commands = context?.commands ?? new Commands({ argv, world });
    const { text, exit } = errorLines(error, context?.flags ?? early, commands, world.platform);
    await writeOut(world.stderr, text).catch(() => {}); // stderr is gone: there is nowhere to report it
    code = exit;
    failed = true;
  };
  try {
    if (argv.length === 1 && VERSION_WORDS.has(argv[0]!)) await writeOut(world.stdout, `${VERSION}\n`);
    else await (await commandTree(argv, world, wire)).parseAsync([...argv], { from: 'user' });
  } catch (error) {
    await report(error);
  }
  try {
    await context?.close();
  } catch (error) {
    // The error that ended the command comes first, and was already reported.
    if (code === Exit.done) await report(error);
  }
  await new Promise((resolve) => setImmediate(resolve)); // a stream reports failures in a later turn
  // Output that nobody awaited, such as help and warnings.
  if (!failed && world.stop.reason instanceof OutputError) await report(world.stop.reason);
  return instead && !failed ? runCommand(instead.argv, { ...world, answered: instead.answered }) : code;
}

/** Declares the commands of which a running one knows only the names. */
function loaderFor(running: Command): Tree['load'] {
  return async (command) => {
    const { declare } = await import('./commands/command.js');
    const entry = COMMANDS.find(({ name }) => name === command.name());
    const isDeclared = command === running || command === running.parent;
    if (!entry || isDeclared || command.parent?.parent !== null) return;
    declare((await entry.load()).command, command, () => async () => {});
  };
}

/**
 * The program with the names and summaries of all commands, but the flags of only the command that argv
 * calls.
 */
export async function commandTree(argv: readonly string[], world: World, wire: Wire): Promise<Command> {
  const commander = await import('commander');
  const options = await import('./options/index.js');
  const { addExamples, declare } = await import('./commands/command.js');
  const { firstPage } = await import('./commands/help-page.js');
  const program: Command = new commander.Command('profiles')
    .description(
      'Import company and user profiles in bulk: plan first, resume after a failure, lose nothing.',
    )
    .version(VERSION, '--version', options.BUILT_IN.version)
    .helpOption('-h, --help', options.BUILT_IN.help)
    .helpCommand(false)
    // Because this is an action, an unknown flag is still an error.
    .action(() => program.outputHelp())
    .configureHelp({ formatHelp: (command, { helpWidth }) => firstPage(command, helpWidth ?? HELP_COLUMNS) });
  options.declareOptions(program);
  addExamples(program, [
    'profiles import companies.csv --region sandbox',
    'profiles lookups embeds --json --region sandbox',
    'profiles help exit-codes',
  ]);
  const called = options.typedIn(argv).command;
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.summary).helpGroup(entry.heading);
    if (entry.name === called) declare((await entry.load()).command, command, wire);
  }
  const columns = (world.stdout.isTTY && world.stdout.columns) || HELP_COLUMNS;
  for (const command of [program, ...descendants(program)]) {
    command
      .exitOverride((error) => {
        parsing.set(error, command);
        throw error;
      })
      .configureOutput({
        writeOut: (text) => world.stdout.write(text),
        getOutHelpWidth: () => columns,
        writeErr: () => {}, // `report` prints usage errors
      });
  }
  const names = COMMANDS.map(({ name }) => name);
  // In `--regoin eu import`, the flag is the mistake, and not `eu`: commander reports the flag.
  const before = argv[argv.indexOf(called ?? '') - 1];
  const followsUnknownFlag =
    before?.startsWith('-') && !program.options.some((option) => option.long === before);
  if (called === undefined || names.includes(called) || followsUnknownFlag) return program;
  throw (await import('./commands/help-page.js')).unknownCommand(called, names);
}

const descendants = (command: Command): Command[] =>
  command.commands.flatMap((child) => [child, ...descendants(child)]);
