/** What a saved plan or an earlier session of a run has decided, in one form: the inputs, and how their rows become items. */
import { basename, resolve } from 'node:path';
import { type ErrorDetails, InputError } from '../errors.js';
import type { CellType, Format, Kind } from '../model.js';
import type { ImportOptions } from '../options.js';
import type { PlannedInput } from '../plan/plan.js';
import type { StoredRun } from '../state/runs.js';
import type { Start } from './start.js';

interface RecordedInput {
  path: string;
  /** Where a run has read it; a plan may be carried out on another machine. */
  location?: string;
  kind: Kind;
  format?: Format;
  digest: string;
  types: CellType[];
}

export interface Recorded {
  run: string;
  item_format: number;
  inputs: readonly RecordedInput[];
  /** For messages: `run 20261120-101500-x7k2`, or `the plan`. */
  name: string;
  /** What to do about a file that is not one of the inputs. */
  otherwise: string;
  /** Of the error for an input that is not found. */
  missing(path: string): ErrorDetails;
  /** The error for an input with another content. @param what what is not possible then */
  changed(index: number, now: PlannedInput, cwd: string, what: string): InputError;
}

/** Null if nothing was decided before. */
export function recordedIn(start: Start): Recorded | null {
  switch (start.from) {
    case 'inputs':
      return null;
    case 'run':
      return ofRun(start.run);
    case 'plan': {
      const { run, item_format, inputs } = start.plan;
      const missing = (path: string) => ({ problem: { code: 'plan_input', path } }) as const;
      return {
        ...{ run, item_format, name: 'the plan', missing },
        inputs: inputs.map(({ path, kind, format, sha256, types }) => ({
          ...{ path, kind, format, digest: sha256, types: types as CellType[] },
        })),
        otherwise: 'name the file that the plan was made of, or make a new plan',
        changed: (index, { scan }) => {
          const { path, bytes } = inputs[index]!;
          const sizes = scan.size === bytes ? '' : ` (${scan.size} bytes, not ${bytes})`;
          const message = `has changed since the plan was made${sizes}`;
          return new InputError(message, { file: path, ...missing(path) });
        },
      };
    }
  }
}

export const ofRun = ({ run, item_format, inputs, options }: StoredRun): Recorded => ({
  ...{ run, item_format, inputs, name: `run ${run}` },
  otherwise: 'name the file that the run read, or import this one',
  missing: (path) => ({
    hint: 'name a file with the same content',
    problem: { code: 'run_input', run, path },
  }),
  changed: (index, { opened: { location } }, cwd, what) => {
    const { path } = inputs[index]!;
    // The run may have begun in another folder. Copies of downloads and archive members have other names.
    const isElsewhere = basename(location) === basename(path) && location !== resolve(cwd, path);
    const { kind, id } = options as Pick<ImportOptions, 'kind' | 'id'>;
    return new InputError(`has changed since run ${run} began, so ${what}`, {
      file: path,
      hint: 'restore the old content, or start a new import of the file',
      problem: { code: 'input_changed', paths: [isElsewhere ? location : path], kind, id },
    });
  },
});
