/** Commands that read one of several files by itself. */

import type { Changes, Commands } from './commands.js';
import type { Line } from './hint.js';
import { shellWord } from './shell.js';

/** Flags that are for all files together: for one of them, they may fail, or say something else. */
const TOGETHER = '--map --include --exclude --type --where --mapping --limit --sheet --json-path'.split(' ');
/** What each command would write, and the next one replace. */
const WRITTEN = ['--outcomes', '--report', '--save-plan', '--write-mapping', '--force'];

/** Whether no command for some of the files can be composed from the one for all. */
export const isTogether = ({ wasTyped }: Commands): boolean => TOGETHER.some((flag) => wasTyped(flag));

/** Changes for some of the files. */
export function apart({ plus = [], without = [], ...changes }: Changes, { wasTyped }: Commands): Changes {
  // Without its plan, the command would send.
  const dry = wasTyped('--save-plan') ? ['--dry-run'] : [];
  return { ...changes, without: [...WRITTEN, ...without], plus: [...dry, ...plus] };
}

/** What helps with one file: with several, it is read by itself, because the others may not be read like this. */
export function forOne(
  path: string,
  lines: readonly { do: string; again: Changes }[],
  commands: Commands,
): Line[] {
  // An archive with one file may be named without it, and an address is shown without its query.
  const isOwn = (typed: string): boolean =>
    typed === path || typed === `${path}?…` || path.startsWith(`${typed}:`);
  const own = commands.paths.find(isOwn) ?? path;
  const others = commands.paths.filter((typed) => typed !== own);
  const only = (changes: Changes): Changes => ({ ...changes, paths: [own] });
  if (others.length === 0) return lines.map(({ do: what, again }) => ({ do: what, again: only(again) }));
  if (isTogether(commands))
    return [
      ...lines.map(({ do: what, again }) => `${what}: ${(again.plus ?? []).map(shellWord).join(' ')}`),
      `read ${shellWord(own)} by itself with that and the rules for its columns, then the other files without it`,
    ];
  const isNamed = commands.paths.includes(own);
  return [
    ...lines.map(({ do: what, again }) => ({ do: what, again: apart(only(again), commands) })),
    isNamed
      ? { do: 'then read the other files without that', again: apart({ paths: others }, commands) }
      : `this reads only ${shellWord(own)}: other files need a command of their own`,
  ];
}
