/**
 * The table of all options. Flags, parsing, the config file's schema, help, completion, the man page, and
 * `docs/reference.md` are derived from it. Every command loads it, so it must not import anything large.
 */
import type { Command } from 'commander';
import {
  COLUMNS,
  READING,
  REJECTING,
  REPORTING,
  RETRYING,
  SELECTING,
  SENDING,
  WAITING,
} from './importing.js';
import { describedBy, descriptionOf, type Entry, entriesOf, type Group } from './option.js';
import {
  BUILT_IN,
  FLAGLESS,
  GLOBAL,
  LISTING,
  OTHERS,
  RESULT,
  SANDBOX,
  SANDBOX_REGION,
  UNLOCK,
} from './others.js';

export * from './importing.js';
export * from './option.js';
export * from './others.js';

const LISTS = 'lookups,jobs,runs,history,history company,history user,config list,sandbox list'.split(',');
const READS = ['import', 'inspect'];

/** The groups in the order of help. `*` means every command. */
const GROUPS: readonly Group[] = [
  { heading: null, commands: ['*'], options: { ...GLOBAL, ...FLAGLESS } },
  { heading: 'Reading', commands: READS, options: READING },
  { heading: 'Reading', commands: READS, options: COLUMNS },
  { heading: 'Reading', commands: ['import'], options: SELECTING },
  { heading: 'Sending', commands: ['import'], options: SENDING },
  { heading: 'Sending', commands: ['import'], options: REJECTING },
  { heading: 'Sending', commands: ['import'], options: WAITING },
  { heading: 'Sending', commands: ['import', 'apply', 'resume'], options: RETRYING },
  { heading: 'Results', commands: ['import', 'apply', 'resume'], options: REPORTING },
  { heading: null, commands: [], options: OTHERS },
  { heading: null, commands: [], options: UNLOCK },
  { heading: 'Results', commands: LISTS, options: { ...RESULT, ...LISTING } },
  { heading: null, commands: ['sandbox'], options: SANDBOX },
  { heading: null, commands: ['sandbox list', 'sandbox show'], options: SANDBOX_REGION },
];

export const OPTIONS: readonly Entry[] = GROUPS.flatMap(entriesOf);

/** The option of a flag, such as `--region` or `-k`. */
export const optionOf = (flag: string | undefined): Entry | undefined =>
  OPTIONS.find((option) => option.long === flag || `-${option.short}` === flag);

/** The options built into commander. */
export const builtIn = (name: keyof typeof BUILT_IN): Entry =>
  entriesOf({ heading: null, commands: ['*'], options: BUILT_IN }).find((option) => option.name === name)!;

/** What commands keep that do not read `import.*` of the config file. */
const KEPT: Readonly<Record<string, string>> = { apply: 'as in the plan', resume: 'as in the run' };

/** The options of a command, with the defaults and config keys that apply to it. */
export function optionsOf(path: string): Entry[] {
  const readsConfig = path === 'import' || path === 'inspect';
  return OPTIONS.filter(({ commands }) => commands.includes(path)).map((each) => {
    const option = describedBy(path, each);
    const { config, ...own } = option;
    if (readsConfig || !config?.startsWith('import.') || (option.ofSession && path === 'resume'))
      return option;
    const kept = KEPT[path];
    const isKept = !option.ofSession || (path === 'apply' && option.name === 'wait');
    return kept !== undefined && isKept ? { ...own, otherwise: kept } : own;
  });
}

/** Declares the options of a command and of its subcommands. */
export function declareOptions(command: Command): void {
  for (const option of optionsOf(pathOf(command))) {
    if (option.flag === false) continue;
    const declared = command.createOption(option.flags, descriptionOf(option));
    // Otherwise, commander would store `--input` and `--no-input` under the same name.
    if (option.spelled) declared.attributeName = () => option.name;
    if (option.repeatable) declared.argParser((value: string, before: string[] = []) => [...before, value]);
    if (option.heading) declared.helpGroup(option.heading);
    command.addOption(declared.hideHelp(option.hidden === true));
    // The opposite flag turns off what the config file, the plan, or the run turns on.
    const isSwitch = option.type.kind === 'flag' && (option.config || option.otherwise);
    if (isSwitch || option.off?.includes(pathOf(command))) {
      const off = command.createOption(option.long.replace('--', '--no-')).hideHelp();
      command.addOption(option.heading ? off.helpGroup(option.heading) : off);
    }
  }
  for (const child of command.commands) declareOptions(child);
}

/** The path of a command, such as `config list`; `*` for the root. */
export function pathOf(command: Command): string {
  const names: string[] = [];
  for (let at = command; at.parent; at = at.parent) names.unshift(at.name());
  return names.length === 0 ? '*' : names.join(' ');
}
