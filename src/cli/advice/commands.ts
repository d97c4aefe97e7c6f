/**
 * The only place where commands to paste are composed: hints, summaries, and lists use it. Such a command needs
 * nothing of this command's environment except its secrets: it carries the flags that chose config, account, region,
 * hosts, and state, even if the environment chose them.
 */

import { existsSync } from 'node:fs';
import { isLoopback, isWebAddress } from '../../engine/service/address.js';
import { hasPassword } from '../../engine/state/location.js';
import { GLOBAL, optionTyped, pairEnd, spelled, type Typed, typedIn } from '../options/index.js';
import type { Settings, SettingsFlags, SettingsWorld } from '../settings/sources.js';
import { configLocation, stateLocation, stateName } from '../settings/sources.js';
import { shellOf } from './shell.js';

export interface Changes {
  /** Default: the command that was typed. */
  command?: string;
  /** Default: the files that were typed. */
  paths?: readonly string[];
  /** Flags to remove, with their values, also where the environment gave these. */
  without?: readonly string[];
  /** The only flags to keep, besides those that choose the service. Default: all that the command takes. */
  only?: readonly string[];
  /** Columns and keys that become identifiers: rules for them, which these cannot have, are removed. */
  identifiers?: readonly string[];
  /** Flags and values to add. One that is not repeatable, or is for the same column, replaces what was typed. */
  plus?: readonly string[];
}

/** What the running command knows about itself. */
export interface Running {
  argv: readonly string[];
  world: SettingsWorld;
  /** Settings that replace what was typed, such as the region that a run was sent to. */
  chosen?: SettingsFlags;
  /** Its settings; null if they are not resolved yet, or are wrong. */
  settings?: () => Settings | null;
}

/** What chooses the service and the state. */
const CHOOSING = ['config', 'account', 'region', 'baseUrl', 'lookupBaseUrl', 'state'] as const;
type Choosing = (typeof CHOOSING)[number];
/** Their names among the origins of settings. */
const ORIGIN: Partial<Record<Choosing, string>> = { baseUrl: 'base_url', lookupBaseUrl: 'lookup_base_url' };

/** Commands that use neither the service nor the state. */
const PLACELESS = /^(?:help|completion) /;
/** Commands that edit the config file: `--account` would change which key they edit. */
const EDITING = /^config (?:init|get|set|unset|path)$/;

/** Flags that say something about a column or a key. */
const RULES = ['--map', '--exclude', '--type', '--set'];

/** Both sides of a pair such as `--map name=title`, from the words of a flag. */
function partsOf(long: string, [first, second]: readonly string[]): [left: string, right: string] {
  const pair = second ?? first!.slice(long.length + 1);
  const { placeholder = '' } = optionTyped(long)?.type ?? {};
  const at = placeholder.includes('=') ? pairEnd(placeholder, pair) : -1;
  return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
}

/** Whether a flag is a rule that none of these identifiers can have. */
function isRuleFor(identifiers: readonly string[], [long, words]: Typed['flags'][number]): boolean {
  const [left, right] = partsOf(long, words);
  return RULES.includes(long) && identifiers.includes(left) && right !== 'lower';
}

/** Composes commands, for what a command line and its settings say. Its members may be taken apart. */
export class Commands {
  readonly #running: Running;
  readonly #isShared: boolean;
  readonly #typed: Typed;
  /** The inputs that were typed. */
  readonly paths: readonly string[];

  constructor(running: Running, isShared = false) {
    this.#running = running;
    this.#isShared = isShared;
    this.#typed = typedIn(running.argv);
    this.paths = this.#typed.paths.map(withoutSecret);
  }

  /** A command of this program: `profiles resume run-1 --region eu`. */
  readonly command = (...words: readonly string[]): string => this.#compose(words);

  /** The command line that was typed, with other flags. Flags that another command does not take are left out. */
  readonly again = (changes: Changes): string => {
    const { command, flags, paths, isRemoved } = this.#wordsOf(changes);
    return this.#compose([command], flags, paths, isRemoved);
  };

  /** The same as words, to be run in place of what was typed. */
  readonly argv = (changes: Changes): string[] => {
    const { command, flags, paths } = this.#wordsOf(changes);
    const typed = this.#typed;
    const chosen = typed.flags.filter(([long]) => CHOOSING.some((name) => spelled(name) === long));
    const whole = paths.map((path) => typed.paths[this.paths.indexOf(path)] ?? path);
    return [command, ...flags, ...chosen.flatMap(([, words]) => words), '--', ...whole];
  };

  /** Whether a flag was typed. */
  readonly wasTyped = (long: string, part = ''): boolean =>
    this.#typed.flags.some(([name, words]) => name === long && words.join(' ').includes(part));

  /** Whether a flag was typed that an identifier with one of these names cannot have. */
  readonly ruled = (identifiers: readonly string[]): boolean =>
    this.#typed.flags.some((flag) => isRuleFor(identifiers, flag));

  /** Whether this command was typed. */
  readonly isOf = (command: string): boolean => this.#typed.command === command;

  /** What says a rule: its flag, if it was typed with this, or else the mapping files, if there are any. */
  readonly saying = (long: string, part: string): string => {
    const files = this.#typed.flags.flatMap(([name, words]) => {
      return name === '--mapping' ? [words[1] ?? words[0]!.replace(/^(?:--mapping=|-m)/, '')] : [];
    });
    return this.wasTyped(long, part) || files.length === 0 ? long : files.join(' or ');
  };

  /** The account in use; null without a name, or if that is not known. */
  get account(): string | null {
    const { settings, chosen } = this.#running;
    return settings?.()?.account ?? chosen?.account ?? null;
  }

  /** The state in use; null if that is not known. */
  get state(): string | null {
    const settings = this.#running.settings?.();
    return settings ? stateName(settings) : null;
  }

  /** The variable that the token is from; null if it is from a file. */
  get tokenVariable(): string | null {
    const origin = this.#running.settings?.()?.origins.token;
    return /^environment (.+)/.exec(origin ?? '')?.[1] ?? null;
  }

  /** The same where this command was typed with changes. */
  readonly changed = (changes: Changes): Commands =>
    new Commands({ ...this.#running, argv: this.argv(changes) }, this.#isShared);

  /** The same with other settings. */
  readonly at = (chosen: SettingsFlags, settings: Settings | null): Commands => {
    const running = this.#running;
    const there = { ...running, chosen: { ...running.chosen, ...chosen }, settings: () => settings };
    return new Commands(there, this.#isShared);
  };

  /** The same for files that others may read: values of `--set` are left out. */
  get shared(): Commands {
    return new Commands(this.#running, true);
  }

  #compose(
    words: readonly string[],
    flags: readonly string[] = [],
    files: readonly string[] = [],
    isRemoved: (long: string) => boolean = () => false,
  ): string {
    const names = namesFor(`${words[0]} ${words[1] ?? ''}`, this.#typed);
    const carried = carriedBy(this.#running, this.#typed, names, isRemoved);
    const behind = files.some((file) => file.startsWith('-') && file !== '-') ? ['--', ...files] : null;
    const all = [...words, ...(behind ? [] : files), ...flags, ...carried.flags, ...(behind ?? [])];
    const { word } = shellOf(this.#running.world.platform);
    return [...carried.variables, 'profiles', ...all.map(word)].join(' ');
  }

  #wordsOf({ command = this.#typed.command ?? 'import', paths = this.paths, ...of }: Changes) {
    const { without = [], only, identifiers = [], plus = [] } = of;
    const added = typedIn(plus).flags;
    const isRemoved = (long: string): boolean =>
      without.includes(long) || (added.some(([name]) => name === long) && !optionTyped(long)?.repeatable);
    const kept = this.#typed.flags.flatMap(([long, words]) => {
      const option = optionTyped(long);
      const isTaken =
        command === this.#typed.command || option?.commands.some((name) => [command, '*'].includes(name));
      const isCarried = CHOOSING.some((name) => spelled(name) === long);
      if (!isTaken || isCarried || isRemoved(long) || only?.includes(long) === false) return [];
      if (isRuleFor(identifiers, [long, words])) return [];
      // A pair that is added replaces one with the same left side.
      const isPair = option?.distinct || long === '--option';
      const [left] = partsOf(long, words);
      if (isPair && added.some(([name, own]) => name === long && partsOf(name, own)[0] === left)) return [];
      return this.#isShared && long === '--set' ? words.map(withoutValue) : words;
    });
    // What somebody typed for an earlier run is for this machine alone.
    const isOwn = (word = ''): boolean => word === '--set' || word === '--where';
    const more = plus.map((word, at) => (this.#isShared && isOwn(plus[at - 1]) ? withoutValue(word) : word));
    return { command, flags: [...kept, ...more], paths, isRemoved };
  }
}

/** Removes the query of an address, which may be a signature: the reader fills it in. */
const withoutSecret = (path: string): string => (isWebAddress(path) ? path.replace(/\?[^#]*/, '?…') : path);
const withoutValue = (word: string): string => word.replace(/^((?:--set=)?[^=]*=).*$/s, '$1…');

/** What is carried to a command. */
function namesFor(path: string, typed: Typed): readonly Choosing[] {
  if (PLACELESS.test(path)) return [];
  if (EDITING.test(path)) return ['config'];
  // The values that it was given are in the file now.
  const hasWritten = typed.command === 'config' && typed.paths[0] === 'init';
  return hasWritten ? ['config', 'account', 'state'] : CHOOSING;
}

/** The flags that are carried, and the variables before the command, for settings without a flag. */
function carriedBy(
  { world, chosen = {}, settings }: Running,
  typed: Typed,
  names: readonly Choosing[],
  isRemoved: (long: string) => boolean,
): { variables: string[]; flags: string[] } {
  const { env } = world;
  const found = settings?.() ?? null;
  const wordsOf = (long: string) => typed.flags.findLast(([flag]) => flag === long)?.[1];
  /** A location that `XDG_CONFIG_HOME` or `XDG_STATE_HOME` has changed. */
  const moved = (locate: typeof configLocation): string | undefined => {
    const plain = { ...env, XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined };
    try {
      const { value } = locate(world, chosen);
      const isMoved = value !== locate({ ...world, env: plain }, chosen).value;
      // A config file that is named must be there.
      return isMoved && (locate === stateLocation || existsSync(value)) ? value : undefined;
    } catch {
      return undefined;
    }
  };
  /** This machine's own folder, if a variable has chosen it. */
  const folder = env[GLOBAL.stateDir.env] || moved(stateLocation);
  /** A value that was set without a flag, and that another shell would not have. */
  const elsewhere = (name: Choosing): string | undefined => {
    const value = env[GLOBAL[name].env] || undefined;
    if (name === 'config') return value ?? moved(configLocation);
    // A password is not printed: the reader's environment has it, too.
    if (name === 'state' && value !== undefined) return hasPassword(value) ? undefined : value;
    if (name === 'state') return found?.origins.state?.startsWith(found.configPath) ? undefined : folder;
    // Another setting may make a variable ignored, but would not a flag.
    if (found) return found.origins[ORIGIN[name] ?? name]?.startsWith('environment') ? value : undefined;
    const chooses = wordsOf('--region') ?? wordsOf('--account') ?? chosen.region;
    const isHost = name === 'baseUrl' || name === 'lookupBaseUrl';
    return isHost && (chooses || env.PROFILES_REGION === 'sandbox') ? undefined : value;
  };

  const variables: string[] = [];
  const flags: string[] = [];
  const assign = (name: string, value: string): unknown =>
    variables.push(shellOf(world.platform).assign(name, value));
  const hasToken = found ? found.origins.token === 'environment PROFILES_TOKEN' : Boolean(env.PROFILES_TOKEN);
  for (const name of names) {
    const long = spelled(name);
    if (isRemoved(long)) continue;
    const own = chosen[name];
    const words = own === undefined ? wordsOf(long) : undefined;
    const value = own ?? elsewhere(name);
    if (words) flags.push(...words);
    // With the flag, the account's own token would be used, and PROFILES_TOKEN ignored.
    else if (value !== undefined && own === undefined && name === 'account' && hasToken)
      assign(GLOBAL.account.env, value);
    else if (value !== undefined) flags.push(long, value);
  }
  if (names !== CHOOSING) return { variables, flags };
  // Beside a database, this machine has a folder of its own.
  const isDatabase = [env[GLOBAL.state.env] ?? '', ...flags].some((text) => /^postgres(ql)?:/i.test(text));
  if (folder !== undefined && (isDatabase || found?.state.kind === 'postgres'))
    assign(GLOBAL.stateDir.env, folder);
  const hosts = found ? [found.baseUrl, found.lookupBaseUrl] : flags;
  const isPlain = hosts.some((host) => host?.startsWith('http://') && !isLoopback(new URL(host).hostname));
  if (env.PROFILES_ALLOW_HTTP && isPlain) assign('PROFILES_ALLOW_HTTP', env.PROFILES_ALLOW_HTTP);
  return { variables, flags };
}
