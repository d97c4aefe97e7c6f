/** Reads a log as a runner of GitHub Actions does (actions/runner: OutputManager.cs, ActionCommand.cs). */

export interface RunnerCommand {
  name: string;
  data: string;
}

/** What a comparison by the rules of a language skips. */
const SKIPPED = /[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/gu;

/** The commands in a log, whether a runner knows their names or not. */
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
