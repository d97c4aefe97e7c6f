/** The result of an import as outputs of a GitHub step, for `$GITHUB_OUTPUT`. */
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { PrintedSummary } from './result.js';

/**
 * The lines for GitHub. Values may have several lines, so each one ends at a random delimiter.
 * @param cwd base of relative paths in the summary
 */
export function stepOutputs(summary: PrintedSummary, cwd: string): string {
  const { rows, files } = summary;
  const values = {
    run: summary.run ?? '',
    'rows-submitted': rows.submitted,
    'rows-unchanged': rows.unchanged,
    'rows-rejected': rows.rejected,
    'rejects-path': files
      .flatMap(({ rejects_file }) => (rejects_file === null ? [] : [resolve(cwd, rejects_file)]))
      // A path with a line break would read as several.
      .filter((path) => !/[\r\n]/.test(path))
      .join('\n'),
    resumable: summary.resume !== null,
    // Files in CI never contain values of --set.
    next: summary.next.map(({ shared }) => shared).join('\n'),
  };
  const end = `end-${randomUUID()}`;
  return Object.entries(values)
    .map(([name, value]) => `${name}<<${end}\n${value}\n${end}\n`)
    .join('');
}
