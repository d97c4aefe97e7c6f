/** What stderr says of how a command ended. */
import { expect } from 'vitest';
import { Exit } from '../../src/engine/errors.js';
import type { Invocation } from './invocations.js';

/** An error, or a summary that is not good. */
const FAILED = /^(?:profiles: |[✗!] )\S/m;

/** What to expect on stderr: of a failure a line that says so, and where all went well none. */
export const saidOf = ({ ends, failsOnStdout }: Pick<Invocation, 'ends' | 'failsOnStdout'>): unknown =>
  ends === Exit.done || failsOnStdout ? expect.not.stringMatching(FAILED) : expect.stringMatching(FAILED);
