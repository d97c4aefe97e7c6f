/**
 * What output says to shells and runners. Commands that it shows are to be pasted. Each stands on a line of its own below its purpose, or on several with
 * backslashes, and a fresh shell understands it.
 */
import type { World } from '../../src/cli/context.js';
import { commandTree } from '../../src/cli/main.js';
import { sh } from './sh.js';

const COMMAND = /^ +(?:PROFILES_\w+=\S+ )*profiles [a-z](?!.*(?:<\w|\[|…))/;
/** A composed command in the middle of a sentence. A name in passing, such as `profiles help types`, has no flag. */
const INSIDE =
  /^(?! *(?:PROFILES_\w+=\S+ )*profiles |\s*[{[]).*\bprofiles [a-z]+ .*--(?:base-url|region|state|config|account)\b/;

/** The commands, as they are printed: with line breaks. */
export function printedCommands(text: string): string[] {
  const found: string[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    if (!COMMAND.test(lines[at]!)) continue;
    const first = at;
    while (lines[at]!.endsWith(' \\')) at++;
    found.push(
      lines
        .slice(first, at + 1)
        .join('\n')
        .trim(),
    );
  }
  return found;
}

/** Commands on several lines as single lines. */
export const onOneLine = (text: string): string => text.replaceAll(/ \\\n +/g, ' ');

/** Without ids, ports and folders, which differ from one test to the next. */
const pasted = new Set<string>();
/** What a shell that is given the command passes to the program. */
const SHELL = `profiles() { for word; do printf '%s\\0' "$word"; done; }\n`;

/** Pastes each command of stderr into a fresh shell, and lets the program read what arrives. @throws if it cannot */
export async function pasteAll(stderr: string, world: World): Promise<void> {
  const inside = stderr.split('\n').find((line) => INSIDE.test(line));
  if (inside !== undefined) throw new Error(`a command in a sentence: ${inside}`);
  for (const command of printedCommands(stderr)) {
    const form = command.replaceAll(world.cwd, '~').replace(/\d[\w-]*/g, '0');
    if (pasted.has(form)) continue;
    pasted.add(form);
    const { stdout, stderr: complaint } = await sh(SHELL + command.replace(/ < \S+$/, ''));
    const words = stdout.toString().split('\0').slice(0, -1);
    const lost = onOneLine(command).split(' ').length > 1 && words.length === 0;
    if (complaint !== '' || lost) throw new Error(`not a command: ${command}\n${complaint}`);
    const program = await commandTree(words, world, () => async () => {});
    await program.parseAsync(words, { from: 'user' });
  }
}

interface RunnerCommand {
  name: string;
  data: string;
}

/** What a comparison by the rules of a language skips. */
const SKIPPED = /[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The commands in a log, whether a runner of GitHub Actions knows their names or not: as it reads them
 * (actions/runner: OutputManager.cs, ActionCommand.cs).
 */
export function commandsIn(log: string): RunnerCommand[] {
  return log.split(/\r\n|\r|\n/).flatMap((line) => {
    const readings = [line, line.trimStart(), line.replace(SKIPPED, ''), line.trim().replace(SKIPPED, '')];
    for (const reading of readings) {
      const named = /^\s*::(.*?)::(.*)/s.exec(reading) ?? /##\[(.*?)\](.*)/s.exec(reading);
      if (named) return [{ name: named[1]!.split(' ')[0]!, data: named[2]! }];
    }
    return [];
  });
}
