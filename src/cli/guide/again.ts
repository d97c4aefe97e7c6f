/** What was answered as flags, and the same import as one command. */
import type { ImportOptions } from '../../engine/options.js';
import type { MappingFile } from '../../engine/read/index.js';
import type { Changes } from '../advice/commands.js';
import { OPTIONS } from '../options/index.js';

/** What the mapping holds, so that the command needs no flag for it. */
const MAPPED = [
  ...OPTIONS.flatMap(({ mapping, long }) => (mapping ? [long] : [])),
  ...['--map', '--exclude', '--type', '--mapping', '--guide'],
];

export interface Answered {
  /** Flags that were answered: the mapping file that was used, and a time zone. */
  flags: { mapping?: string | null; zone?: string };
  mapping: MappingFile | null;
  /** Where the mapping was saved; null if it was not. */
  saved: string | null;
  skipsInvalid: boolean;
}

/** What to do where no command says the answers: those for both kinds, or for a key with the sign that is before a value. */
export const ANSWER_AGAIN = {
  do: 'no flags can say these answers; to answer again, and save them',
  again: { plus: ['--guide'] },
};

/** The same import as one command, or with the same questions if no command can say it. */
export function lastFor(answered: Answered, { dryRun }: ImportOptions) {
  const again = againFor(answered);
  return again ? { do: `The same ${dryRun ? 'dry run' : 'import'} without questions`, again } : ANSWER_AGAIN;
}

/** The same import as one command; null if flags cannot say it: they are for all inputs, and not for each kind. */
function againFor({ flags, mapping, saved, skipsInvalid }: Answered): Changes | null {
  const plus = skipsInvalid ? ['--skip-invalid'] : [];
  if (mapping === null) {
    const answered = Object.entries(flags).flatMap(([name, value]) => (value ? [`--${name}`, value] : []));
    return { without: ['--guide'], plus: [...answered, ...plus] };
  }
  if (saved !== null) return { without: MAPPED, plus: [...plus, '--mapping', saved] };
  const { companies, users, ...all } = mapping;
  if (companies && users) return null;
  const kind = companies ? 'companies' : users ? 'users' : all.kind;
  const { map = {}, set = {} } = { ...all, ...companies, ...users };
  if (isSplit([...Object.values(map), ...Object.keys(set)])) return null;
  return { without: MAPPED, plus: [...flagsOf({ ...all, kind, ...companies, ...users }), ...plus] };
}

/** Whether a flag would split one of these keys at its sign of equality. */
export const isSplit = (keys: readonly string[]): boolean => keys.some((key) => key.includes('='));

/** The order in which a command says a mapping: what else it says comes behind the kind. */
const ORDER = 'id company_id map include exclude set keys type empty null trim allow_id'.split(' ');

/** A mapping as flags. */
export function flagsOf({ map = {}, ...section }: MappingFile): string[] {
  const renamed = Object.fromEntries(Object.entries(map).filter(([column, key]) => column !== key));
  const sorted = Object.entries({ kind: undefined, ...section, map: renamed }).sort(
    ([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b),
  );
  return sorted.flatMap(([key, value]) => {
    const flag = `--${key.replaceAll('_', '-')}`;
    if (value === undefined || value === false || (key === 'empty' && value === 'omit')) return [];
    if (value === true) return [flag];
    const values = typeof value !== 'object' || Array.isArray(value) ? [value].flat() : Object.entries(value);
    return values.flatMap((each) => [flag, Array.isArray(each) ? each.join('=') : String(each)]);
  });
}
