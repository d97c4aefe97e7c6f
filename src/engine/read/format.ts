/** CSV, TSV, JSON array or JSON Lines: `--format`, else by content, else by extension. */
import { InputError } from '../errors.js';
import type { Format } from '../model.js';
import { BODY } from './json/array-splitter.js';

const EXTENSIONS: Record<string, Format> = {
  csv: 'csv',
  tsv: 'tsv',
  tab: 'tsv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
};

/** The format that a file's name tells, packed or not; undefined where it tells none. */
function formatOfName(path: string): Format | undefined {
  const name = path.toLowerCase().replace(/\.(?:gz|gzip|zst|zstd)$/, '');
  const extension = /\.([a-z]+)$/.exec(name)?.[1];
  return extension === undefined ? undefined : EXTENSIONS[extension];
}

/**
 * @param text beginning of the input, UTF-8
 * @throws InputError for a file that is called JSON and is none
 */
export function formatOf(input: { path: string; format?: Format | undefined }, text: Buffer): Format {
  if (input.format) return input.format;
  const named = formatOfName(input.path);
  const begin = Math.max(
    text.findIndex((byte) => byte > 0x20),
    0,
  );
  const start = text.subarray(begin, begin + 4096).toString();
  // A CSV header may begin with a bracket, but not like this.
  if (/^\[\s*(?:[[{\]"\d-]|$)/.test(start) && named !== 'csv' && named !== 'tsv') return 'json';
  if (/^\[\s*(?:\{\s*"|\])/.test(start)) return 'json';
  if (/^\{\s*(?:"|\}|$)/.test(start)) {
    const bracket = start.indexOf('[');
    return bracket > 0 && BODY.test(start.slice(0, bracket)) ? 'json' : 'ndjson';
  }
  if (named === 'json') {
    throw new InputError('is not JSON: it begins with neither [ nor {', {
      file: input.path,
      hint: 'if it is CSV, say --format csv',
    });
  }
  return named ?? 'csv';
}
