/** The table of `invocations.md`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExitCode } from '../../src/engine/errors.js';

export interface Invocation {
  /** The command line, as a person types it, without `profiles`. */
  line: string;
  ends: ExitCode;
  /** `--ndjson` is a form of it too. `--json` is one of all. */
  ndjson?: boolean;
  stdin?: string | undefined;
  /** Whether the service refuses its key. */
  wrongKey?: boolean;
  /** Of the service, while this runs. */
  faults?: string[];
  /** Ctrl-C has been pressed already. */
  stopped?: boolean;
  /** What went wrong is its result, on stdout. */
  failsOnStdout?: boolean;
  /** Its result is text by nature, whatever `--json` says. */
  textOnly?: boolean;
}

/** A key that the service refuses. */
export const WRONG_TOKEN = 'key-of-somebody-else-0000';

// Also from a bundle, which lies as deep as this file.
const [, both = '', others = ''] = readFileSync(
  join(import.meta.dirname, '../../test/cli/invocations.md'),
  'utf8',
).split(/^## .*$/m);

const invocationsOf = (text: string, ndjson: boolean): Invocation[] =>
  [...text.matchAll(/^\$ profiles ?(.*) \[(\d+)\](.*)$/gm)].map(([, line = '', code, how = '']) => {
    const said = how.split('; ');
    const after = (word: string): string[] =>
      said.flatMap((one) => (one.startsWith(word) ? [one.slice(word.length)] : []));
    const [stdin] = after('stdin ');
    return {
      ...{ line, ends: Number(code) as ExitCode, ndjson, stdin: stdin && JSON.parse(stdin) },
      ...{ faults: after('fault '), wrongKey: said.includes('wrong key'), stopped: said.includes('stopped') },
      ...{ failsOnStdout: said.includes('fails on stdout'), textOnly: said.includes('text only') },
    };
  });

export const INVOCATIONS: readonly Invocation[] = [
  ...invocationsOf(both, true),
  ...invocationsOf(others, false),
];
