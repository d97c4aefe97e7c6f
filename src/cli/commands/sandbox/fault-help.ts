/** The help text about faults. */
import { FAULTS, OPTIONS, WHEN_HELP } from '../../../sandbox/fault-spec.js';
import { twoColumns } from '../../output/two-columns.js';

const what = Object.entries(FAULTS).map(([name, { help }]) => [name === 'status' ? '<status>' : name, help]);
const options = Object.entries(OPTIONS).map(([name, [, help]]) => [name, help]);

/** The text of `profiles help faults`. */
export const FAULT_HELP = `A fault is <what>:<when>[,<option>…], such as 503:first=3,retry-after=2.

What:
${twoColumns(what as [string, string][])}

When (requests of that kind are counted; for faults of jobs, accepted jobs):
${twoColumns(WHEN_HELP)}

Options:
${twoColumns(options as [string, string][])}`;
